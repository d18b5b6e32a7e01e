"""Lab 0: its exercises."""
