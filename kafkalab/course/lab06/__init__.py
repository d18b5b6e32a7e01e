"""Lab 6: its exercises."""
