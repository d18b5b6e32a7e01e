"""Lab 8: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="08_failover",
    title="Failover",
    know="what a new coordinator finishes, and what it cannot",
)
