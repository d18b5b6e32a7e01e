"""Lab 4: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="04_markers_and_lag",
    title="Markers, offsets and lag",
    know="why the offsets have gaps, and which lag to believe",
    settles=(1, 2, 3, 4, 5, 42),
)
