"""Lab 5: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="05_read_committed",
    title="Reading committed data",
    know="what a reader waits for, and what it skips",
    settles=(6, 7, 8, 9, 10, 11),
)
