"""Lab 8: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="08_failover",
    title="Failover and hanging transactions",
    know="what a new coordinator finishes, and what it cannot",
    settles=(6, 38),
)
