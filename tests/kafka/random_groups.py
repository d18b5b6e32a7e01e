"""Steps of random scripts about the groups: none has a member that waits for another longer than the steps say."""

from __future__ import annotations

from typing import Any

from tests.kafka.random_steps import GROUPS, MEMBER, SETTLE_MS, Steps

INSTANCE = {"group_instance_id": "i"}
STATIC = {"member_id": "$s.member_id", "generation_id": "$s.generation_id"}
"""The static member of group h, by its newest JoinGroup."""


class GroupSteps(Steps):
    """Requests of members, and of those who administer groups."""

    def _describe_member(self, group: str = GROUPS[0]) -> dict[str, Any]:
        """Return what a member says of itself: mostly the truth."""
        static = group == GROUPS[1]
        if not (self.static if static else self.member):
            return {"member_id": "nobody", "generation_id": 3}
        wrong = {"older": "-1", "newer": "+1"}.get(self.random.choice(("", "", "", "older", "newer")), "")
        known = STATIC if static else MEMBER
        member = "nobody" if self._chance(0.1) else known["member_id"]
        instance = INSTANCE if static and self._chance(0.8) else {}
        return {"member_id": member, "generation_id": known["generation_id"] + wrong, **instance}

    def _join_first(self) -> None:
        given = {"protocols": {"range": ["t"]}}
        version = self._version("JoinGroup", 9, 4)
        self._ask_group("JoinGroup", "g", version, {**given, "member_id": ""}, **{"as": "j"})
        self._ask_group("JoinGroup", "g", version, {**given, "member_id": "$j.member_id"}, **{"as": "m"})
        if self._chance(0.8):
            self._sync()

    def _join_static(self, member_id: str = "") -> None:
        given = {"member_id": member_id, "protocols": {"range": ["t"]}, **INSTANCE}
        self._ask_group("JoinGroup", "h", self._version("JoinGroup", 9, 5), given, **{"as": "s"})

    def _join(self) -> None:
        if self.static and self._chance(0.5):
            self._join_static("$s.member_id" if self._chance(0.6) else "")
        elif self.member:
            given = {"member_id": "$m.member_id", "protocols": {"range": ["t"]}}
            self._ask_group("JoinGroup", "g", self._version("JoinGroup", 9), given, **{"as": "m"})

    def _join_of_two(self) -> None:
        """A second member joins group g, both commit, and it leaves; the first member joins once more."""
        if not self.member:
            return
        given, version = {"protocols": {"range": ["t"]}}, self._version("JoinGroup", 9, 4)
        number = len(self.steps)
        self._ask_group("JoinGroup", "g", version, {**given, "member_id": ""}, **{"as": f"j{number}"})
        second = {"member_id": f"$j{number}.member_id"}
        self._ask_group("JoinGroup", "g", version, {**given, **second}, **{"as": f"n{number}", "wait": False})
        self.steps.append({"sleep": SETTLE_MS})
        self._heartbeat()
        self._ask_group("JoinGroup", "g", version, {**given, "member_id": "$m.member_id"}, **{"as": "m"})
        self.steps.append({"await": f"n{number}"})
        self._ask_group("Heartbeat", "g", 4, {**second, "generation_id": f"$n{number}.generation_id"})
        self._ask_group("LeaveGroup", "g", self._version("LeaveGroup", 5, 3), {"members": [second]})
        self._heartbeat()
        self._ask_group("JoinGroup", "g", version, {**given, "member_id": "$m.member_id"}, **{"as": "m"})

    def _sync(self) -> None:
        if self.member:
            given = {**self._describe_member(), "assignments": {"$m.member_id": ["t-0", "t-1"]}}
            self._ask_group("SyncGroup", "g", self.random.choice((1, 3)), given)

    def _heartbeat(self) -> None:
        group = self._group()
        self._ask_group("Heartbeat", group, self._version("Heartbeat", 4), self._describe_member(group))

    def _leave(self) -> None:
        group = self._group()
        said = self._describe_member(group)
        del said["generation_id"]
        self._ask_group("LeaveGroup", group, self._version("LeaveGroup", 5), {"members": [said]})

    def _describe_groups(self) -> None:
        group = self._group()
        version = self._version("DescribeGroups", 5)
        self._ask("DescribeGroups", f"group coordinator of {group}", version, {"groups": [group]})

    def _delete_offsets(self) -> None:
        partition = self.random.choice(("t-0", "u-0", "nope-0"))
        self._ask_group("OffsetDelete", self._group(), 0, {"partitions": [partition]})

    def _delete_group(self) -> None:
        group, version = self._group(), self._version("DeleteGroups", 2)
        self._ask("DeleteGroups", f"group coordinator of {group}", version, {"groups": [group]})

    def _find(self) -> None:
        given = {"key": self.random.choice(("x", "g", "")), "key_type": self.random.choice((0, 1, 2))}
        self._ask("FindCoordinator", "b1", self._version("FindCoordinator", 4, 1), given)
