"""Lab 10: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="10_consume_transform_produce",
    title="Consume, transform, produce",
    know="how input positions commit with output",
    settles=(27, 28, 29, 30, 39, 41, 45, 49),
)
