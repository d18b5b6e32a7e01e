"""Steps of random scripts about the group, which has one member at most, so that nobody waits for another."""

from __future__ import annotations

from typing import Any

from tests.kafka.random_steps import GROUP, MEMBER, Steps


class GroupSteps(Steps):
    """Requests of a member, and of those who administer groups."""

    def _said(self) -> dict[str, Any]:
        """Return what a member says of itself: mostly the truth."""
        if not self.member:
            return {"member_id": "nobody", "generation_id": 3}
        wrong = {"older": "-1", "newer": "+1"}.get(self.random.choice(("", "", "", "older", "newer")), "")
        member = "nobody" if self._chance(0.1) else MEMBER["member_id"]
        return {"member_id": member, "generation_id": MEMBER["generation_id"] + wrong}

    def _join_first(self) -> None:
        given = {"group_id": "g", "protocols": {"range": ["t"]}}
        version = self._version("JoinGroup", 9, 4)
        self._ask("JoinGroup", GROUP, version, {**given, "member_id": ""}, **{"as": "j"})
        self._ask("JoinGroup", GROUP, version, {**given, "member_id": "$j.member_id"}, **{"as": "m"})
        if self._chance(0.8):
            self._sync()

    def _join(self) -> None:
        if self.member:
            given = {"group_id": "g", "member_id": "$m.member_id", "protocols": {"range": ["t"]}}
            self._ask("JoinGroup", GROUP, self._version("JoinGroup", 9), given, **{"as": "m"})

    def _sync(self) -> None:
        if self.member:
            given = {"group_id": "g", **self._said(), "assignments": {"$m.member_id": ["t-0", "t-1"]}}
            self._ask("SyncGroup", GROUP, self.random.choice((1, 3)), given)

    def _heartbeat(self) -> None:
        self._ask("Heartbeat", GROUP, self._version("Heartbeat", 4), {"group_id": "g", **self._said()})

    def _leave(self) -> None:
        given = {"group_id": "g", "members": [{"member_id": self._said()["member_id"]}]}
        self._ask("LeaveGroup", GROUP, self._version("LeaveGroup", 5), given)

    def _describe_groups(self) -> None:
        self._ask("DescribeGroups", GROUP, self._version("DescribeGroups", 5), {"groups": ["g"]})

    def _delete_offsets(self) -> None:
        partition = self.random.choice(("t-0", "u-0", "nope-0"))
        self._ask("OffsetDelete", GROUP, 0, {"group_id": "g", "partitions": [partition]})

    def _delete_group(self) -> None:
        self._ask("DeleteGroups", GROUP, self._version("DeleteGroups", 2), {"groups": ["g"]})

    def _find(self) -> None:
        given = {"key": self.random.choice(("x", "g", "")), "key_type": self.random.choice((0, 1, 2))}
        self._ask("FindCoordinator", "b1", self._version("FindCoordinator", 4, 1), given)
