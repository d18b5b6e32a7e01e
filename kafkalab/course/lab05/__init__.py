"""Lab 5: its exercises."""
