"""Lab 14: Kafka's commit beside two-phase commit, an MVCC table and an atomic broadcast; its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="14_other_ways",
    title="Other ways to be atomic",
    know="two-phase commit, MVCC and atomic broadcast beside Kafka",
    settles=(33,),
)
