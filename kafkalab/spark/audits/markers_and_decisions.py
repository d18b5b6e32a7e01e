"""marker without decision, decision without marker: markers and the transaction log say the same, both ways."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.markers_and_decisions import GRACE_MS, decision_without_marker, marker_without_decision
from kafkalab.checks.view import PREPARED
from kafkalab.history.operations import SERVER
from kafkalab.history.schema import TOO_FEW_IN_SYNC
from kafkalab.spark.audits.check import Audit, counted, findings_of, sentence
from kafkalab.spark.audits.derived_tables import DerivedTables


def _markers(derived: DerivedTables) -> DataFrame:
    """The markers of runs that have a transaction log."""
    return derived.decided.join(F.broadcast(derived.entries.select("run").distinct()), "run", "left_semi")


def _contradicted(derived: DerivedTables, markers: DataFrame) -> DataFrame:
    """Return the ABORT markers of records that were to be committed: run, key, offset, commit (its step).

    As `kafkalab.checks.view.View.contradicted`.
    """
    aborts = markers.where(F.col("control") == "ABORT").select("run", "key", "offset", "producer_id", "step")
    place = ("run", "key", "offset")
    ended = derived.records.where(F.col("marker").isNotNull())
    ended = ended.select("run", "key", F.col("marker.offset").alias("offset"), F.col("offset").alias("at"), "step")
    began = ended.join(aborts.select(*place), [*place]).groupBy(*place).agg(F.min_by("step", "at").alias("began"))
    commits = derived.entries.where(F.col("state") == "PrepareCommit").select(
        "run", "producer_id", "n", F.col("step").alias("commit"), F.explode(F.array_distinct("partitions")).alias("key")
    )
    found = aborts.join(began, [*place]).join(commits, ["run", "key", "producer_id"])
    found = found.where((F.col("began") < F.col("commit")) & (F.col("commit") < F.col("step")))
    return found.groupBy(*place).agg(F.max_by("commit", "n").alias("commit"))


def find_markers(derived: DerivedTables) -> DataFrame:
    """Allowed: an ABORT that an administrator asked for (its frame came from a client) to end what hangs.

    Not allowed even then: an ABORT of records that the coordinator has decided to commit.
    """
    alone = derived.once("undecided markers", lambda: _markers(derived).where(F.col("decision").isNull()))
    frames = derived.histories.frames.select("run", F.col("id").alias("frame"), "sender")
    frames = frames.join(alone.select("run", "frame").distinct(), ["run", "frame"], "left_semi")
    alone = alone.join(frames, ["run", "frame"], "left")
    alone = alone.join(_contradicted(derived, alone), ["run", "key", "offset"], "left")
    by_server = F.coalesce("sender", F.lit("b0")).rlike(f"^({SERVER.pattern})$")
    alone = alone.where(by_server | (F.col("control") != "ABORT") | F.col("commit").isNotNull())
    text = sentence(
        "{key} has {control} of producer {producer_id}, epoch {producer_epoch}, at offset {offset}, "
        "which no PREPARE decided{more}",
        more=F.coalesce(sentence(": the coordinator had decided COMMIT at step {commit}"), F.lit("")),
    )
    steps = [F.col("step"), F.coalesce("commit", F.lit(-1))]
    return findings_of(marker_without_decision, alone, text, steps, ["key"], ["offset"])


def find_decisions(derived: DerivedTables) -> DataFrame:
    """The last entry of an id is a PREPARE although all its partitions have leaders that take it, and it is not new."""
    one = F.struct("n", "key", "offset", "state", "partitions", "step", "at_ms")
    newest = derived.entries.groupBy("run", "transactional_id").agg(F.max(one).alias("entry"))
    newest = newest.where(F.col("entry.state").isin(*PREPARED))
    leaders = derived.histories.leaders.groupBy("run", "key").agg(F.max_by("leader", "step").alias("leader"))
    refusing = derived.histories.labels.where(F.col("name") == TOO_FEW_IN_SYNC)
    refusing = refusing.select("run", F.col("value").alias("key"))
    down = leaders.where(F.col("leader") == "").select("run", "key").unionByName(refusing)
    down = down.groupBy("run").agg(F.collect_set("key").alias("down"))
    newest = newest.join(F.broadcast(derived.end_ms), "run").join(F.broadcast(down), "run", "left")
    needed = F.concat(F.array("entry.key"), "entry.partitions")
    up = ~F.arrays_overlap(needed, F.coalesce("down", F.array().cast("array<string>")))
    age = F.col("end_ms") - F.col("entry.at_ms")
    stuck = newest.where(up & (age > GRACE_MS))
    text = sentence("{transactional_id} has been in {entry.state} for {age} ms; all its partitions are up", age=age)
    return findings_of(
        decision_without_marker, stuck, text, ["entry.step"], F.col("entry.partitions"), ["entry.offset"]
    )


def count_decisions(derived: DerivedTables) -> DataFrame:
    """The decisions in the transaction log."""
    return counted(derived.entries.where(F.col("state").isin(*PREPARED)))


MARKERS = Audit(marker_without_decision, find_markers, lambda derived: counted(_markers(derived)))
DECISIONS = Audit(decision_without_marker, find_decisions, count_decisions)
