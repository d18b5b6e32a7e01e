"""Lab 11: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="11_edge_of_the_guarantee",
    title="Where the guarantee ends",
    know="databases, outboxes and sinks outside Kafka",
    settles=(31, 32, 33, 47),
)
