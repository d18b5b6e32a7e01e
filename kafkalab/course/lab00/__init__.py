"""Lab 0: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="00_meet_the_machine",
    title="Meet the machine",
    know="nodes, frames, logs and a clock that only moves when you do",
)
