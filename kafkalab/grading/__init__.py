"""Exercises: their checks and hints, and the builder of the learners' notebooks."""
