"""`kafkalab run` and `kafkalab transactions`, as they are typed: what is printed, and one line for every mistake."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.cli.main import main
from kafkalab.cli.transactions import transactions_of
from kafkalab.faults.frame import Drop
from kafkalab.protocol.acls import Deny
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

DATA = Path(__file__).parents[2] / "data"
HANGING = {"4.x/TV1": str(DATA / "hanging_transaction.klab"), "4.x/TV2": str(DATA / "hanging_transaction_tv2.klab")}
ONE, LAB = HANGING["4.x/TV1"], str(DATA / "lab03_old_protocol.klab")
LATER = ("--after-ms", "960000")
END = ("forceTerminateTransaction",)
OUT_0 = ("--topic", "out", "--partition", "0")


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Any:
    """A command line; its exit status, what it printed, and what it complained of."""

    def type_in(*words: str) -> tuple[int, str, str]:
        status = main(list(words))
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return type_in


@pytest.fixture
def table(typed: Any) -> Any:
    """The rows of the answer, as JSON objects."""

    def ask(*words: str) -> list[dict[str, Any]]:
        status, out, err = typed("transactions", *words, "--json")
        assert (status, err) == (0, "")
        rows: list[dict[str, Any]] = json.loads(out)
        return rows

    return ask


def test_run_says_what_became_of_a_scenario(typed: Any) -> None:
    status, out, err = typed("run", str(DATA / "lab03_answer_lost.klab"))
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["verdict", "ok"], ["checks", "Exactly-once"], ["findings", "none"], ["outcome", "committed"]
    ]  # fmt: skip
    assert lines[-1].split() == ["unused_faults", "none"]
    found = json.loads(typed("run", str(DATA / "lab03_answer_lost.klab"), "--json")[1])
    assert found["committed"]["accounts-1"] == ["+10", "+25"]
    assert found["programs"] == {"app": "committed"}
    digest = (DATA / "README.md").read_text().split("lab03_answer_lost.klab")[1].split("`")[3]
    assert found["digest"] == digest


def test_run_prints_the_checks_verdict_and_each_finding(typed: Any) -> None:
    torn = str(DATA / "kafka_17754.klab")
    found = json.loads(typed("run", torn, "--json")[1])
    assert (found["verdict"], len(found["findings"])) == ("violated", 2)
    assert found["checks"].startswith("A promise is broken: G1a, torn transaction.")
    assert re.match(r"forbidden torn transaction, step \d+: app/", found["findings"][1])
    before = json.loads(typed("run", torn, "--json", "--at-ms", "1")[1])
    assert before["findings"] == []
    assert found["findings"][1] in typed("run", torn)[1]


def test_run_names_the_faults_that_changed_nothing(typed: Any, tmp_path: Path) -> None:
    path = tmp_path / "unused.klab"
    Scenario.load(LAB).with_faults(Drop("EndTxn#9")).save(path)
    assert typed("run", str(path))[1].splitlines()[-1].split(maxsplit=1) == ["unused_faults", "Drop(frame='EndTxn#9')"]


def test_run_can_stop_in_the_middle(typed: Any) -> None:
    found = json.loads(typed("run", LAB, "--json", "--at-ms", "100")[1])
    assert (found["outcome"], found["time_ms"], found["programs"]) == ("open", 100, {})


@pytest.mark.parametrize("profile", HANGING)
def test_the_story_of_a_hanging_transaction(profile: str, table: Any, typed: Any, tmp_path: Path) -> None:
    file, saved = HANGING[profile], str(tmp_path / "aborted.klab")
    (listed,) = table("list", file)
    assert listed["TransactionalId"] == "payments-0"
    assert table("find-hanging", file, "--topic", "out") == []  # not older than any transaction may be
    (found,) = table("find-hanging", file, "--topic", "out", *LATER)
    assert (found["Topic"], found["Partition"], found["ProducerId"]) == ("out", 0, listed["ProducerId"])
    assert found["Duration(min)"] == 16
    start = ("--start-offset", str(found["StartOffset"]))
    status, out, err = typed("transactions", "abort", file, *OUT_0, *start, *LATER, "--save", saved)
    assert (status, err) == (0, "")
    offset = found["StartOffset"]
    assert f"before  last stable offset {offset}, high watermark {offset + 1}\n" in out
    assert out.endswith(f"after   last stable offset {offset + 2}, high watermark {offset + 2}\n")
    assert table("find-hanging", saved, "--topic", "out", *LATER) == []
    assert json.loads(typed("run", saved, "--json")[1])["outcome"] == "aborted"


def test_an_abort_can_name_the_producer(typed: Any) -> None:
    who = ("--producer-id", "2000", "--producer-epoch", "0", "--coordinator-epoch", "-1")
    status, out, _ = typed("transactions", "abort", ONE, *OUT_0, *who, "--json")
    found = json.loads(out)
    assert (status, found["coordinator_epoch"], found["partition"]) == (0, 0, "out-0")
    assert found["before"] == {"last_stable_offset": 2, "high_watermark": 3}
    assert found["after"] == {"last_stable_offset": 4, "high_watermark": 4}


def test_an_open_transaction_is_terminated_through_its_coordinator(typed: Any, table: Any, tmp_path: Path) -> None:
    at, who, saved = ("--at-ms", "100"), ("--transactionalId", "payments-0"), str(tmp_path / "ended.klab")
    status, out, err = typed("transactions", *END, LAB, *who, *at, "--save", saved)
    assert (status, err) == (0, "")
    first, before, after = out.splitlines()
    assert first == "payments-0 at 100 ms: terminated, and its producer is fenced"
    assert before.startswith("before  Ongoing in accounts-0")
    assert after == "after   Empty, producer 2000 epoch 2"
    run = json.loads(typed("run", saved, "--json")[1])
    assert run["outcome"] == "aborted"
    assert "ProducerFencedError" in run["programs"]["app"]
    found = json.loads(typed("transactions", *END, LAB, *who, *at, "--json")[1])
    assert (found["at_ms"], found["before"]["state"], found["after"]["state"]) == (100, "Ongoing", "Empty")


def test_what_hangs_is_not_ended_through_the_coordinator() -> None:
    cluster = Cluster(Scenario.load(ONE))
    cluster.run()
    before = json.loads(transactions_of(cluster, "describe --transactional-id payments-0 --json"))[0]["ProducerEpoch"]
    transactions_of(cluster, "forceTerminateTransaction --transactionalId payments-0")
    (after,) = json.loads(transactions_of(cluster, "describe --transactional-id payments-0 --json"))
    assert after["ProducerEpoch"] == before + 1
    log = cluster.log_of("out-0")
    assert (log.last_stable_offset, log.high_watermark) == (2, 3)


def test_tables_have_the_columns_of_kafkas_tool(typed: Any) -> None:
    out = typed("transactions", "list", ONE)[1].splitlines()
    columns = [cell.strip() for cell in out[0].split("\t")]
    assert columns == ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"]
    assert [cell.strip() for cell in out[1].split("\t")] == ["payments-0", "b3", "2000", "Empty"]


def test_a_notebook_shows_a_table_on_its_side_with_a_line_for_each_column() -> None:
    cluster = Cluster(Scenario.load(ONE))
    cluster.run()
    html = transactions_of(cluster, "describe --transactional-id payments-0")._repr_html_()  # type: ignore[attr-defined]
    rows = re.findall("<tr><th[^>]*>(.*?)</th><td[^>]*>(.*?)</td></tr>", html)
    assert rows[0] == ("CoordinatorId", "<code>b3</code>")
    assert rows[-1] == ("TopicPartitions", "–")
    nothing = transactions_of(cluster, "list --state Ongoing")
    assert nothing._repr_html_().count("<td>–</td>") == 4  # type: ignore[attr-defined]


def test_list_takes_filters(table: Any) -> None:
    at = ("--at-ms", "100")
    assert [r["TransactionState"] for r in table("list", LAB, *at)] == ["Ongoing"]
    assert len(table("list", LAB, *at, "--state", "Ongoing", "--state", "Empty")) == 1
    assert table("list", LAB, *at, "--state", "Empty") == []
    assert table("list", LAB, *at, "--producer-id", "1") == []
    assert len(table("list", LAB, *at, "--transactional-id-pattern", "pay.*")) == 1
    assert table("list", LAB, *at, "--duration-filter", "500") == []


def test_describe_shows_an_open_transaction(table: Any) -> None:
    (found,) = table("describe", LAB, "--at-ms", "100", "--transactional-id", "payments-0")
    assert (found["TransactionState"], found["TransactionTimeoutMs"]) == ("Ongoing", 60_000)
    assert found["TransactionDurationMs"] > 0
    assert "accounts-0" in found["TopicPartitions"]
    (idle,) = table("describe", ONE, "--transactional-id", "payments-0")
    assert (idle["CurrentTransactionStartTimeMs"], idle["TopicPartitions"]) == ("None", [])


def test_describe_producers_of_the_leader_or_of_a_replica(table: Any) -> None:
    (found,) = table("describe-producers", ONE, *OUT_0)
    assert (found["CurrentTransactionStartOffset"], found["LatestCoordinatorEpoch"]) == (2, 0)
    assert table("describe-producers", ONE, *OUT_0, "--broker-id", "2") == [found]
    (ended,) = table("describe-producers", LAB, "--topic", "accounts", "--partition", "0")
    assert ended["CurrentTransactionStartOffset"] == "None"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run"], "the following arguments are required: file"),
        (["run", "nowhere.klab"], "cannot read nowhere.klab: no such file or directory"),
        (["run", str(DATA)], "is a folder; a regular file is needed"),
        (["run", str(DATA / "README.md")], "is not a scenario that kafkalab saved"),
        (["run", ONE, "--at-ms", "soon"], "a number of milliseconds from 0 on, not 'soon'"),
        (["run", ONE, "--at-ms", "1", "--after-ms", "1"], "not allowed with argument"),
        (["run", ONE, "--at-ms", "1000000000000"], "more than 20000 steps in 1000000000000 ms"),
        (["run", ONE, "--after-ms", "1000000000000"], "more than 20000 steps in 1000000000000 ms"),
        (["transactions"], "the following arguments are required: COMMAND"),
        (["transactions", "forget", ONE], "invalid choice: 'forget'"),
        (["transactions", "list"], "the following arguments are required: file"),
        (["transactions", "list", ONE, "--state", "Asleep"], "no transaction state 'Asleep'; there are Empty, Ongoing"),
        (["transactions", "list", ONE, "--transactional-id-pattern", "["], "INVALID_REGULAR_EXPRESSION"),
        (["transactions", "describe", ONE], "the following arguments are required: --transactional-id"),
        (["transactions", "describe", ONE, "--transactional-id", "x"], "TRANSACTIONAL_ID_NOT_FOUND"),
        (["transactions", "describe-producers", ONE, "--topic", "x", "--partition", "0"], "no partition 'x-0'"),
        (["transactions", "describe-producers", ONE, *OUT_0, "--broker-id", "7"], "no broker '7'; there are b1, b2"),
        (["transactions", "find-hanging", ONE], "find-hanging needs either --topic or --broker-id"),
        (["transactions", "find-hanging", ONE, "--topic", "x"], "there is no x"),
        (["transactions", "find-hanging", ONE, "--broker-id", "1", "--partition", "0"], "--partition needs --topic"),
        (["transactions", *END, ONE], "arguments are required: --transactionalId"),
        (["transactions", *END, ONE, "--transactionalId", "x"], "TRANSACTIONAL_ID_NOT_FOUND"),
        (
            ["transactions", *END, LAB, "--transactionalId", "payments-0", "--save", "no/where/x"],
            "cannot write no/where/x",
        ),
        (["transactions", "abort", ONE, "--topic", "out"], "the following arguments are required: --partition"),
        (["transactions", "abort", ONE, *OUT_0], "must be identified either with --start-offset"),
        (["transactions", "abort", ONE, *OUT_0, "--producer-id", "1"], "missing --producer-epoch"),
        (
            ["transactions", "abort", ONE, *OUT_0, "--producer-id", "1", "--producer-epoch", "0"],
            "missing --coordinator-epoch",
        ),
        (["transactions", "abort", ONE, *OUT_0, "--start-offset", "1"], "could not find any open transaction"),
        (["transactions", "abort", ONE, *OUT_0, "--start-offset", "-1"], "could not find any open transaction"),
        (
            "transactions abort FILE --topic x --partition 0 --start-offset 1".replace("FILE", ONE).split(),
            "no partition 'x-0'",
        ),
        (
            ["transactions", "abort", ONE, *OUT_0, "--start-offset", "2", "--save", "no/where/x.klab"],
            "cannot write no/where/x.klab",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line(words: list[str], complaint: str, typed: Any) -> None:
    status, _, err = typed(*words)
    assert status == 2
    assert err.startswith(f"kafkalab {words[0]}: ")
    assert complaint in err
    assert err.count("\n") == 1


def test_a_marker_that_the_leader_refuses_is_an_error(typed: Any, tmp_path: Path) -> None:
    old = ("--producer-id", "2000", "--producer-epoch", "-5", "--coordinator-epoch", "0")
    status, _, err = typed("transactions", "abort", ONE, *OUT_0, *old)
    assert status == 2
    assert "out-0 knows no producer 2000 with epoch -5; it knows 2000 with epoch 0" in err
    forbidden = replace(Scenario.load(ONE), acls=(Deny("admin", "ALL", "Cluster"),))
    forbidden.save(tmp_path / "forbidden.klab")
    status, _, err = typed("transactions", "abort", str(tmp_path / "forbidden.klab"), *OUT_0, "--start-offset", "2")
    assert "failed to abort: ClusterAuthorizationError" in err
    replace(forbidden, acls=(Deny("admin", "WRITE", "TransactionalId:payments-0"),)).save(tmp_path / "forbidden.klab")
    ending = (*END, str(tmp_path / "forbidden.klab"), "--transactionalId", "payments-0")
    assert "failed to force terminate payments-0: " in typed("transactions", *ending)[2]


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["transactions", "abort", "--help"]])
def test_help_is_no_mistake(words: list[str], typed: Any) -> None:
    status, out, err = typed(*words)
    assert (status, err) == (0, "")
    assert "usage: kafkalab" in out


def test_a_running_cluster_is_asked_as_it_stands(typed: Any) -> None:
    cluster = Cluster(Scenario.load(ONE))
    cluster.run()
    assert transactions_of(cluster, "list") + "\n" == typed("transactions", "list", ONE)[1]
    cluster.run_for(960_000)
    found = json.loads(transactions_of(cluster, "find-hanging --topic out --json"))
    assert [row["StartOffset"] for row in found] == [2]
    told = transactions_of(cluster, "abort --topic out --partition 0 --start-offset 2")
    assert repr(told) == str(told)
    assert told.splitlines()[-1] == "after   last stable offset 4, high watermark 4"
    assert json.loads(transactions_of(cluster, "find-hanging --topic out --json")) == []


def test_a_cluster_in_the_middle_of_a_transaction_says_ongoing() -> None:
    cluster = Cluster(lab03())
    while not any(e.name == "transaction" and e.data["state"] == "Ongoing" for e in cluster.trace.events):
        cluster.run_for(1)
    rows = json.loads(transactions_of(cluster, "list --json"))
    assert rows[0]["TransactionState"] == "Ongoing"
    cluster.run()
    assert cluster.outcome().verdict == "committed"


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("", "the following arguments are required: COMMAND"),
        ("find-hanging", "find-hanging needs either --topic or --broker-id, to limit the search"),
        ("abort --topic out --partition 0 --start-offset 1", "could not find any open transaction"),
        ("abort --topic out --partition 0 --start-offset 1 --save x", "unrecognized arguments: --save x"),
        ("describe --transactional-id nobody", "TransactionalIdNotFoundError"),
    ],
)
def test_a_mistake_about_a_running_cluster_is_a_value_error(command: str, complaint: str) -> None:
    cluster = Cluster(Scenario.load(ONE))
    cluster.run()
    with pytest.raises(ValueError, match=re.escape(complaint)):
        transactions_of(cluster, command)


def test_only_a_cluster_can_be_asked() -> None:
    with pytest.raises(TypeError, match="a Cluster, not str"):
        transactions_of(ONE, "list")  # type: ignore[arg-type]
