"""A run as tables of what clients did, what logs hold and what was read."""
