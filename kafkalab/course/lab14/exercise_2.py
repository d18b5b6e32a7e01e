"""L14.E2: eight questions over the whole course, drawn by the number of a set; each has a run behind it."""

from __future__ import annotations

from kafkalab.course.lab14.pool import list_beliefs, pool
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mixed import Mixed

MIXED = Mixed(exercise="L14.E2", count=8, pool=pool, beliefs=list_beliefs())
open_set = MIXED.open_set


EXERCISE = Exercise(
    "L14.E2",
    MIXED.form,
    (
        "Each question is about one moment. Who knows what at that moment, and what is in a log by then?",
        "A wrong answer opens the run of its question. Step to the end and look at the logs before you choose again.",
        "Each question comes from a lab; its recap, at the end, has the belief and what you have seen.",
    ),
    points=8,
    misses=MIXED.beliefs,
    question=MIXED.ask,
    afterwards=(
        "Why: each answer is what the run of its question does. Another number gives other questions; come back to it "
        "in a week. Next: exercise 3 looks into PostgreSQL."
    ),
)
