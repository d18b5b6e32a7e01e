"""Lab 17: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="17_positions_outside_kafka",
    title="Positions outside Kafka",
    know="what a checkpoint proves",
    after=11,
)
