"""Lab 2: its exercises."""
