"""Family consumer_groups: random scripts of groups of the consumer protocol (KIP-848), drawn from seeds.

Kafka's uniform assignor takes topics in the order of their random ids, so scripts with two topics use the other one.
"""

from __future__ import annotations

from random import Random

from tests.kafka.making.steps import Script, Step, ask, init, me, script

SCRIPTS, STEPS = 160, 14
COORDINATOR = "group coordinator of g"
MEMBERS = ("m1", "m2", "m3")


class _Drawing:
    """One script as it is drawn: `joined` are the members that have an answer to refer to, `static` those by a name."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.two_topics = seed % 2 == 1
        self.static = {m for m in MEMBERS if self.random.random() < 0.25}
        self.joined: list[str] = []
        self.steps: list[Step] = [init("x", version=5)]

    def draw(self) -> list[Step]:
        """Return the steps; the group is described after every other one."""
        self._join(MEMBERS[0])
        acts = [self._join_any, self._beat, self._beat, self._confirm]
        acts += [self._leave, self._commit, self._fetch, self._tool]
        for number in range(STEPS):
            self.random.choice(acts)()
            if number % 2:
                self._ask("ConsumerGroupDescribe", 1, {"group_ids": ["g"]})
        return self.steps

    def _ask(self, api: str, version: int, given: Step, name: str = "") -> None:
        self.steps.append(ask(api, COORDINATOR, version, given, **({"as": name} if name else {})))

    def _heartbeat(self, member: str, epoch: object, **fields: object) -> None:
        instance = {"instance_id": f"i{member[1]}"} if member in self.static else {}
        given = {"group_id": "g", "member_id": member, "member_epoch": epoch, **instance, **fields}
        self._ask("ConsumerGroupHeartbeat", self.random.randint(0, 1), given, member)

    def _join(self, member: str) -> None:
        wanted = self.random.choice((["t"], ["t", "u"], ["u"], ["t", "none"])) if self.two_topics else ["t"]
        assignor = "range" if self.two_topics else self.random.choice((None, None, "uniform", "range", "sticky"))
        fields: Step = {"rebalance_timeout_ms": 60_000, "topic_partitions": [], "subscribed_topic_names": wanted}
        self._heartbeat(member, 0, **fields, **({"server_assignor": assignor} if assignor else {}))
        self.joined += [] if member in self.joined else [member]

    def _join_any(self) -> None:
        self._join(self.random.choice(MEMBERS))

    def _beat(self) -> None:
        """A heartbeat in the member's epoch, or in another one; it says what it has, nothing, or too much."""
        member = self.random.choice(self.joined)
        shift = self.random.choice(("", "", "", "", "-1", "+1"))
        owned = self.random.choice((None, None, [], ["t-0"], ["t-0", "t-1", "t-2", "t-3"]))
        said: Step = {} if owned is None else {"topic_partitions": owned}
        self._heartbeat(member, f"${member}.member_epoch{shift}", **said)

    def _confirm(self) -> None:
        """Say that the member has what its newest answer gave it."""
        member = self.random.choice(self.joined)
        self._heartbeat(member, f"${member}.member_epoch", topic_partitions=f"${member}.assignment")

    def _leave(self) -> None:
        member = self.random.choice(self.joined)
        self._heartbeat(member, self.random.choice((-1, -2) if member in self.static else (-1,)))

    def _commit(self) -> None:
        member, shift = self.random.choice(self.joined), self.random.choice(("", "", "-1", "+1"))
        offsets = {f"t-{self.random.randrange(4)}": self.random.randrange(9)}
        said = {"group_id": "g", "member_id": member, "generation_id": f"${member}.member_epoch{shift}"}
        if self.random.random() < 0.6:
            self._ask("OffsetCommit", self.random.choice((8, 9, 10)), {**said, "offsets": offsets})
        else:
            version = self.random.choice((5, 6))
            self._ask("TxnOffsetCommit", version, {"transactional_id": "x", **me("x"), **said, "offsets": offsets})

    def _fetch(self) -> None:
        member = self.random.choice(self.joined)
        shift = self.random.choice(("", "", "+1"))
        named = {"member_id": member, "member_epoch": f"${member}.member_epoch{shift}"}
        said = self.random.choice(({}, named, named))
        self._ask("OffsetFetch", 9, {"group_id": "g", "partitions": ["t-0", "t-1"], **said})

    def _tool(self) -> None:
        api, version, given = self.random.choice((
            ("DescribeGroups", 6, {"groups": ["g"]}),
            ("OffsetDelete", 0, {"group_id": "g", "partitions": ["t-0"]}),
            ("DeleteGroups", 2, {"groups": ["g"]}),
            ("Heartbeat", 4, {"group_id": "g", "member_id": "m1", "generation_id": 2}),
            ("JoinGroup", 9, {"group_id": "g", "member_id": "", "protocols": {"range": ["t"]}}),
        ))  # fmt: skip
        self._ask(api, version, given)


def family() -> list[Script]:
    """Return the scripts, by their seeds."""
    topics = {"topics": {"t": 4, "u": 2}, "kafka": ["4.4"], "levels": [2]}
    return [script(f"consumer_groups.{seed}", _Drawing(seed).draw(), **topics) for seed in range(SCRIPTS)]


FAMILIES = {"consumer_groups": family()}
