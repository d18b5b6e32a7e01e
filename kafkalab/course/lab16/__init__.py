"""Lab 16: PySpark at work on the logs of producers, and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="16_spark_at_work",
    title="Spark at work",
    know="how to write Spark that survives skew and a killed JVM",
    after=12,
)
