"""The model behind the views: a tree of runs, a cursor, and what can be pressed."""
