"""Lab 1: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="01_idempotent_producer",
    title="The idempotent producer",
    know="how a partition tells a retry from a new record",
    settles=(19, 20, 21, 22),
)
