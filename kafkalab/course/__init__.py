"""The course: each lab's scenario and exercises together, the start page, the map and the questions."""
