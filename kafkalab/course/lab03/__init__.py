"""Lab 3: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="03_a_full_commit",
    title="A full commit, one frame at a time",
    know="at which frame a transaction is decided",
    settles=(24, 37),
)
