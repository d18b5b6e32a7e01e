"""Lab 13: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="13_cost_and_latency",
    title="Cost and latency",
    know="what a commit costs, and an incident to solve",
    settles=(35, 36),
)
