"""Lab 7: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="07_timeouts",
    title="Timeouts and expiry",
    know="who gives up first, and what is then forgotten",
    settles=(14, 15, 16, 22, 23),
)
