"""Client programs that a scenario can name, raw requests, and random scenarios."""
