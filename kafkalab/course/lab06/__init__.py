"""Lab 6: its scenarios and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="06_fencing_and_zombies",
    title="Fencing and zombies",
    know="how a producer's name outlives its process",
    settles=(12, 13, 14, 15, 17, 44),
)
