"""Each lab as a new learner works it: run from the top, answered wrongly first, helped on, then answered rightly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from kafkalab.course.labs import COURSE
from kafkalab.grading.exercise import EXERCISES
from tests.browser.conftest import Jupyter
from tests.browser.worked import CELL_MS, Desk, choose_theme

pytestmark = pytest.mark.browser


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """A plausible answer that is wrong, what the check says of it, and whether it brings a run to open, or a table."""

    answer: str
    says: str
    opens: bool = True
    table: bool = False


def rows(name: str, last: int, word: str) -> str:
    return f'{name} = dict.fromkeys(range(1, {last + 1}), "{word}")'


WRONG = {
    "L0.E1": Wrong(answer='e1 = [Drop("Produce#1")]', says="This run shows no"),
    "L0.E2": Wrong(
        answer='def first_of(frame, earlier):\n    return frame["id"]',
        says="That is as if",
        opens=False,
    ),
    "L0.E3": Wrong(answer='e3 = list(question("L0.E3"))', says="of 8 are in their places"),
    "L1.E1": Wrong(answer=rows("e1", 9, "appended"), says="No single belief explains the others"),
    "L1.E2": Wrong(
        answer='def accept(state, batch):\n    return batch["count"], "NONE"',
        says="cases are right. One that is not",
        opens=False,
    ),
    "L1.E3": Wrong(
        answer="async def stubborn(app, orders):\n    producer = app.producer()\n    for order in orders:\n"
        '        await (await producer.send("orders", order, partition=0))\n    return 0',
        says="L1.E3: ",
    ),
    "L2.E1": Wrong(answer='e1 = {"acks": "constructor"}', says="of 11 lines are judged right"),
    "L2.E2": Wrong(answer='e2 = list(question("L2.E2"))', says="of 9 are in their places"),
    "L2.E3": Wrong(
        answer="async def book(app, transfers):\n"
        '    producer = app.producer(transactional_id="bank-0")\n    await producer.init_transactions()\n'
        "    producer.begin_transaction()\n    for amount in transfers:\n"
        '        await producer.send("accounts", f"-{amount}", partition=0)\n    await producer.commit_transaction()',
        says="schedules end well",
    ),
    "L3.E1": Wrong(answer=rows("e1", 10, "committed"), says="Two of your rows fit one belief"),
    "L3.E2": Wrong(answer='e2 = list(question("L3.E2"))', says="of 8 are in their places"),
    "L3.E3": Wrong(
        answer='def fate(moment):\n    return "committed" if moment["arrived"] else "aborted"',
        says="Your function says",
    ),
    "L4.E1": Wrong(
        answer='def five_numbers(seen):\n    end = seen["high_watermark"]\n    lag = end - seen["committed"]\n'
        '    return {"records": lag, "position": end, "records-lag": lag, "LAG": lag, "LAG later": 0}',
        says="That is as if",
        opens=False,
    ),
    "L4.E2": Wrong(
        answer='async def drained(app, partition):\n    consumer = app.consumer(isolation_level="read_committed",'
        ' auto_offset_reset="earliest")\n    consumer.assign([partition])\n'
        "    end, values = await consumer.end_offset(partition), []\n    while len(values) < end:\n"
        "        values += [record.value for record in await consumer.poll()]\n    return values",
        says="Your function has not ended after 20 seconds",
    ),
    "L4.E3": Wrong(
        answer='def count(dump):\n    records = sum(batch["lastOffset"] - batch["baseOffset"] + 1 for batch in dump)\n'
        '    return {"committed": records, "aborted": 0, "open": 0}',
        says="That is as if",
        opens=False,
    ),
    "L5.E1": Wrong(
        answer="def last_stable_offset(log, high_watermark):\n    return high_watermark",
        says="That is as if",
        opens=False,
    ),
    "L5.E2": Wrong(
        answer='def visible(rows, aborted):\n    return [row["value"] for row in rows if row["kind"] == "record"]',
        says="That is as if",
        opens=False,
    ),
    "L5.E3": Wrong(answer='e3 = [Drop("EndTxn#1")]', says="This run shows no"),
    "L5.E4": Wrong(
        answer='e4 |= dict(zip(range(1, 7), "baaabc"))',
        says="5 of 6 questions are right. Question 1: you say",
    ),
    "L6.E1": Wrong(
        answer="def transactional_id(facts):\n    return f\"{facts['app']}-{facts['host']}\"",
        says="end well. The shortest that does not",
    ),
    "L6.E2": Wrong(
        answer='e2 = [Pause("till-1", at_ms=3_000), Resume("till-1", at_ms=9_000)]', says="This run shows no"
    ),
    "L6.E3": Wrong(
        answer="async def billing(app, name, start_ms, stop_ms):\n"
        "    consumer, producer = await started(app, name, start_ms)\n"
        "    while app.now < stop_ms:\n"
        "        for order in await consumer.poll():\n"
        "            await charge(app, producer, consumer, order)\n"
        "            await producer.commit_transaction()",
        says="end well. The shortest that does not",
    ),
    "L7.E1": Wrong(
        answer='def violated(settings):\n    late = settings["work_ms"] > settings["delivery_timeout_ms"]\n'
        '    return ["D"] if late else []',
        says="cases are right. One that is not",
    ),
    "L7.E2": Wrong(answer=rows("e2", 12, "recreate"), says="after an error you always need a new producer"),
    "L7.E3": Wrong(
        answer='e3 |= {"service": 9, "max.poll.interval.ms": ("it leaves its group", 300_000)}',
        says="it still breaks. The run below shows one way",
    ),
    "L8.E1": Wrong(answer='e1 = question("L8.E1")', says="One pair that is not"),
    "L8.E2": Wrong(
        answer="def to_send(entries):\n"
        '    decided = [e for e in entries if e["state"] == "PrepareCommit"]\n'
        '    return sorted((e["producer_id"], p, "COMMIT") for e in decided for p in e["partitions"])',
        says="cases are right. One that is not",
    ),
    "L9.E1": Wrong(answer='e1["G1a"] = [Delay("EndTxn#1", 10_000)]', says="No EndTxn was sent a second time"),
    "L9.E2": Wrong(
        answer='async def careful(app, orders):\n    producer = app.producer(transactional_id="shop-0")\n'
        "    await producer.init_transactions()\n    for order, cancelled in orders:\n"
        "        await one_order(app, producer, order, cancelled)",
        says="end well. The shortest that does not",
    ),
    "L9.E3": Wrong(answer=rows("e3", 10, "shown"), says="also proves what it did not try", opens=False),
    "L9.E4": Wrong(answer='e4 = {"frame": "EndTxn#3", "program": bill}', says="EndTxn#3 is not the one"),
    "L9.E5": Wrong(
        answer='def plan(services):\n    return {service["name"]: "nothing" for service in services}',
        says="That is as if",
    ),
    "L10.E1": Wrong(
        answer="async def packer(app, name, start_ms, stop_ms):\n"
        "    consumer, producer = await started(app, name, start_ms, READS)\n"
        "    while app.now < stop_ms:\n"
        "        if orders := await consumer.poll():\n"
        "            await pack(app, producer, orders)\n"
        "            await consumer.commit_sync()\n"
        "            await producer.commit_transaction()\n"
        "    await consumer.close()",
        says="end well. The shortest that does not",
    ),
    "L10.E2": Wrong(answer=rows("e2", 10, "rewind"), says="fit one belief: an abort moves the consumer"),
    "L10.E3": Wrong(answer='e3 = [Pause("anna", at_ms=4_000), Resume("anna", at_ms=30_000)]', says="This run shows no"),
    "L10.E4": Wrong(
        answer='e4 = {"frame": "TxnOffsetCommit#2", "program": pack_some}', says="TxnOffsetCommit#2 is not the one"
    ),
    "L11.E1": Wrong(
        answer='e1 = {pattern: ["ok"] * 6 for pattern in e1}', says="18 of 24 cells are right. Three of your cells fit"
    ),
    "L11.E2": Wrong(
        answer="async def relay(app, start_ms, stop_ms):\n"
        "    await app.sleep(start_ms)\n"
        "    db, producer = database(app), app.producer(linger_ms=0)\n"
        "    while app.now < stop_ms:\n"
        "        found = await db.execute('SELECT id, receipt FROM outbox ORDER BY id')\n"
        "        for number, receipt in found:\n"
        "            await producer.send('receipts', receipt, key=str(number), partition=0)\n"
        "        await producer.flush()\n"
        "        for number, _ in found:\n"
        "            await db.execute('DELETE FROM outbox WHERE id = ?', [number])\n"
        "        await app.sleep(200)",
        says="end well. The shortest that does not",
    ),
    "L11.E3": Wrong(
        answer='def review(config):\n    return ["lost"]',
        says="configurations are judged right. One that is not",
    ),
    "L12.E0": Wrong(
        answer="def fates(inputs, reads, positions):\n"
        '    run = ["configuration", "isolation_level", "run"]\n'
        '    each = inputs.join(reads, ["configuration", "run", "value"]).groupBy(*run, "value").count()\n'
        '    once, more = F.expr("count_if(count = 1) AS once"), F.expr("count_if(count > 1) AS more")\n'
        '    return each.groupBy(run).agg(once, more).withColumns({"lost": F.lit(0), "unfinished": F.lit(0)})',
        says="runs of each configuration, made anew",
        opens=False, table=True,
    ),
    "L12.E1": Wrong(
        answer='e1 = dict.fromkeys(e1, "SELECT key, offset FROM records")',
        says="L12.E1: ",
        opens=False,
    ),
    "L12.E2": Wrong(
        answer='def torn(log):\n    return log.where("control = \'ABORT\'").select("producer_id", "producer_epoch")',
        says="L12.E2: ",
        opens=False, table=True,
    ),
    "L12.E3": Wrong(
        answer="def sent(rows, fails):\n    return sum(rows)\n\ndef once(topic):\n    return topic.distinct()\n\n"
        'e3 = {"sent": sent, "once": once}',
        says="L12.E3: ",
        opens=False, table=True,
    ),
    "L12.E4": Wrong(
        answer=rows("e4", 10, "forbidden"), says="Seven of your rows fit one belief", opens=False, table=True
    ),
    "L13.E1": Wrong(
        answer="def size_for(measured, least_per_second, longest_ms):\n    return 60",
        says="It was run:",
    ),
    "L13.E2": Wrong(
        answer="def waits(interval_ms, every_ms, commit_ms):\n    return interval_ms, interval_ms, interval_ms",
        says="every record waited a whole interval",
    ),
    "L13.E3": Wrong(
        answer='row = {"frame": "Produce#1", "state": "in the log", "rule": "a", "effect": "G1a out-0@0"}\n'
        'e3 = {"case": 1, "chains": [row, row, row]}',
        says="Incident 1: ",
        opens=False,
    ),
    "L13.E4": Wrong(
        answer='def plan(fleet):\n    return [("brokers", [service["name"] for service in fleet])]',
        says="protected after 'brokers'",
    ),
    "L14.E1": Wrong(
        answer='row = dict(zip(e1["Kafka"], ("one log after votes", "the parts", "no", "old values")))\n'
        "e1 = {model: row for model in e1}",
        says="No single belief explains the others",
        opens=False, table=True,
    ),
    "L14.E2": Wrong(
        answer='e2 |= dict.fromkeys(range(1, 9), "b")', says="questions are right. Question 1: you say"
    ),
    "L14.E3": Wrong(
        answer='def visible(version, snapshot, status):\n    return status.get(version["xmin"]) == "committed"',
        says="cases are right. One that is not",
        opens=False, table=True,
    ),
    "L15.E1": Wrong(
        answer='e1 = {"presses": [Drop("Produce#2")], "producer_id": 2000, "producer_epoch": 0, "start_offset": 2}',
        says="This run shows no transaction that hangs",
    ),
    "L15.E2": Wrong(answer='def advice(job):\n    return "wait", "lost"', says="cases are right. One that is not"),
    "L15.E3": Wrong(
        answer="def hanging(now_ms, producers, names, descriptions):\n"
        '    old = [row for row in producers if row["last_timestamp_ms"] < now_ms - 900_000]\n'
        '    return [(row["partition"], row["start_offset"]) for row in old if row["start_offset"] is not None]',
        says="That is as if",
    ),
    "L16.E1": Wrong(
        answer="def gaps(log, sends):\n"
        '    order = Window.partitionBy("key", "producer_id").orderBy("offset")\n'
        '    steps = log.where("control = \'\'").withColumn("before", F.lag("sequence").over(order))\n'
        '    steps = steps.withColumn("missing", F.expr("sequence - before - 1"))\n'
        '    return steps.where("missing > 0").withColumn("acknowledged", F.lit(0))',
        says="That is as if every number that is too large",
        opens=False, table=True,
    ),
    "L16.E2": Wrong(
        answer="def newest(updates, owners):\n"
        '    largest = F.max("offset").over(Window.partitionBy("account"))\n'
        '    found = updates.withColumn("largest", largest).where("offset = largest AND value IS NOT NULL")\n'
        '    return found.join(owners, "account", "left")',
        says="All rows are right. But one task has read",
        opens=False, table=True,
    ),
    "L16.E3": Wrong(
        answer='def write_batch(frame, batch_id, folder):\n    frame.write.mode("append").parquet(folder)',
        says="That is as if a repeated batch were a new one",
        opens=False, table=True,
    ),
    "L16.E4": Wrong(
        answer="e4 = half",
        says="That is as if producer id and epoch named one transaction",
        opens=False, table=True,
    ),
    "L17.E1": Wrong(
        answer='def fate_of(offset, position, outputs):\n    return "lost"',
        says="cases are right. One that is not",
        opens=False,
    ),
    "L17.E2": Wrong(
        answer='def decide(job):\n    return "commit"',
        says="as if to commit what a stopped job left open were always right",
    ),
    "L17.E3": Wrong(
        answer='def name_of(connector, task, attempt):\n    return f"{connector}-{task}-{attempt}"',
        says="That is as if a new start needed a new name",
    ),
}
LABS = {f"L{x.number}": x.name for x in COURSE if any(e.startswith(f"L{x.number}.") for e in EXERCISES)}


@pytest.fixture
def desk(
    open_lab: Callable[[str], Page], jupyter: Jupyter, page: Page, request: pytest.FixtureRequest
) -> Iterator[Desk]:
    """The lab, opened and not yet run; every second one in the dark theme."""
    name = LABS[request.param]
    theme = os.environ.get("KAFKALAB_THEME", ("Light", "Dark")[list(LABS).index(request.param) % 2])
    there = jupyter.folder / "labs" / f"{name}.ipynb"
    before = there.read_bytes()
    choose_theme(jupyter, page, theme)
    yield Desk(open_lab(name), name, theme)
    choose_theme(jupyter, page, "Light")
    there.write_bytes(before)


def test_every_exercise_has_a_wrong_answer_to_begin_with() -> None:
    assert list(WRONG) == list(EXERCISES)


@pytest.mark.parametrize(
    ("lab", "desk"),
    [pytest.param(x, x, marks=[pytest.mark.spark] if x in ("L12", "L16") else []) for x in LABS],
    indirect=["desk"],
)
def test_a_lab_is_worked_through_with_wrong_answers_first(lab: str, desk: Desk, console_errors: list[str]) -> None:
    page = desk.page
    heading = desk.at(0).get_by_role("heading", level=1)
    expect(heading).to_be_in_viewport()
    desk.shot("first")
    desk.run_all()
    asked = [e for e in EXERCISES if e.startswith(f"{lab}.")]
    for exercise, (answer, check) in zip(asked, desk.exercises(), strict=True):
        wrong = WRONG[exercise]
        assert "still blank" in desk.at(desk.place(check)).inner_text(), exercise
        assert desk.write(answer, wrong.answer) == ""
        said = desk.run_check(check)
        assert said.startswith(f"{exercise}: "), said
        assert wrong.says in said
        assert wrong.opens or "Sequence(counterexample())" not in said
        if wrong.table:
            assert "The table below shows it" in said
            expect(desk.at(desk.place(check)).locator(".jp-RenderedHTML table")).to_be_visible(timeout=CELL_MS)
        desk.shot(f"{exercise}_wrong", desk.at(desk.place(check)))
        hinted = desk.cell_below(check, f'hint("{exercise}")')
        expect(hinted.locator(".jp-OutputArea-output")).to_contain_text("Hint")
        if wrong.opens:
            below = desk.at(desk.place(check)).locator("[data-step]").first
            expect(below).to_be_visible(timeout=CELL_MS)
            opened = desk.cell_below(check, "Sequence(counterexample())")
            expect(opened.locator("[data-step]").first).to_be_visible(timeout=CELL_MS)
            desk.shot(f"{exercise}_opened", opened)
        assert desk.write(answer, desk.source(answer)) == ""
        assert f"{exercise} ✓" in desk.run_check(check)
    assert page.locator(".jp-Notebook").get_by_text("Traceback (most recent call last)").count() == 0
    assert page.locator(".jp-OutputArea-output", has_text="still blank").count() == 0
    desk.shot("last", desk.at(desk.place(desk.exercises()[-1][1])))
    assert console_errors == []
