"""Lab 15: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="15_hanging_transactions",
    title="Hanging transactions",
    know="how to find a transaction that hangs, and end it",
    settles=(6, 38, 46, 51, 52),
    after=8,
)
