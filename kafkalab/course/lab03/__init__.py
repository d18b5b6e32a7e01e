"""Lab 3: its exercises."""
