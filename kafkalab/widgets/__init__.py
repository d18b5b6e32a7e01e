"""The pictures: each a Python half, an ES module and a style sheet; and the story that they tell of a run."""
