"""Lab 12: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="12_auditing_with_spark",
    title="Auditing millions of records",
    know="how often each configuration breaks",
    settles=(34,),
)
