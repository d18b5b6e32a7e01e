"""The views: for each a Python file, an ES module and a style sheet."""
