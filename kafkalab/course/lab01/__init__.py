"""Lab 1: its exercises."""
