"""Lab 11: its scenario and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="11_edge_of_the_guarantee",
    title="Where the guarantee ends",
    know="databases, outboxes and sinks outside Kafka",
    settles=(),  # the learners' questions that it must answer, by number: kafkalab/course/questions.py
)
