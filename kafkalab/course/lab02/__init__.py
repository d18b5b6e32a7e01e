"""Lab 2: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="02_coordinator",
    title="The coordinator and its log",
    know="who remembers a transaction, and where",
    settles=(18,),
)
