"""Lab 9: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="09_torn_transaction",
    title="The torn transaction",
    know="why transactions needed a second protocol",
    settles=(24, 25, 26, 43),
)
