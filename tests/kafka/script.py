"""Scripts of raw requests as data, and the one form into which both sides put their answers.

A script is {"name": "FAMILY.DECISION", "topics": {"t": 2}, "steps": [...]}, and may have "levels": [1, 2] (levels of
transaction.version; all three if it is left out), "producer_epochs": {"x": 32766}, "nodes": 3,
"acls": [["WRITE", "Topic:t"]] (what its client is forbidden), and "kafka": ["1.0"] for the versions that are asked, if
it is not every 4. A step is one of

* {"ask": API, "to": NODE, "version": 5, "with": {fields}, "as": name, "until": "NONE", "wait": false}; the API's fields
  are those of kafkalab/protocol/messages, and NODE is as in kafkalab/programs/raw_requests.py;
* {"await": name} for an answer that was not waited for, {"sleep": milliseconds};
* {"settle": true}: wait until no transaction of the script is prepared, so that an answer does not depend on speed;
* {"min_isr": {"t": 2}}: the topic, which has a second replica that is down, gets this min.insync.replicas;
* {"stop": "clean" or "kill"}: the only broker ends, and starts again;
* {"kill": NODE, "as": name} and {"start": name}: with three nodes one ends, and starts again.

With three nodes NODE may be "follower of t-0", "second follower of t-0" and "other than coordinator of x" too. Topics
named in "one_replica" have only the first of three. "rules_off" names rules of kafkalab that Kafka lacks by a bug.

A field "$name.producer_epoch+1" takes a number from an earlier answer. A batch of Produce has "values" and fields of
`Batch`; what makes its bytes odd is described in `batches.batch_of`, and kafkalab reads it as its server does.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from zlib import crc32

HERE = Path(__file__).parent
RECORDED = HERE.parent.parent / "data" / "recorded"
LIKE = {"4.4.0": "4.3.1"}
"""By newer Kafka, the older one from which its recordings store only what differs."""
REFERENCE = re.compile(r"\$(\w+)\.(\w+)([+-]\d+)?")
OWN_LEVELS = (0, 1, 2)
OTHER = "other than "
"""With a node's description behind it: the first node that is another one."""
FOREIGN = range(700_000_000, 800_000_000)
"""Producer ids made up by a script: they are compared as they are, all others by order of appearance."""

Script = dict[str, Any]
Answer = dict[str, Any]


def scripts_of(*families: str) -> list[Script]:
    """Return the scripts of some families, or of all, in the order of their files."""
    files = [f for f in sorted((HERE / "scripts").glob("*.json")) if not families or f.stem in families]
    return [s for f in files for s in json.loads(f.read_text())]


def families() -> list[str]:
    """Return the names of all families."""
    return sorted(f.stem for f in (HERE / "scripts").glob("*.json"))


def belongs(script: Script, recording: str) -> bool:
    """Return whether a recording ("4.3.1-tv2", "4.3.1-three-nodes", "1.0.0") has the script."""
    kafka, _, kind = recording.partition("-")
    if not kafka.startswith(tuple(script.get("kafka", ("4",)))):
        return False
    wanted = "three-nodes" if script.get("nodes", 1) == 3 else "acl" if "acls" in script else ""
    if wanted or kind in ("three-nodes", "acl"):
        return kind == wanted
    return not kind or int(kind[-1]) in script.get("levels", OWN_LEVELS)


def resolve(value: Any, named: dict[str, Answer]) -> Any:
    """Return the value with every reference replaced by what it stands for."""
    if isinstance(value, dict):
        return {k: resolve(v, named) for k, v in value.items()}
    if isinstance(value, list):
        return [resolve(v, named) for v in value]
    found = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    name, attribute, offset = found.groups()
    got = named[name][attribute]
    return got if offset is None else int(got) + int(offset)


def ids_of(script: Script) -> list[str]:
    """Return the transactional ids that the script initialises."""
    asked = (s["with"].get("transactional_id") for s in script["steps"] if s.get("ask") == "InitProducerId")
    return sorted({tid for tid in asked if tid})


def is_settled(described: Answer) -> bool:
    """Return whether none of the transactions in an answer of DescribeTransactions is prepared."""
    return not any(row.get("state", "").startswith("Prepare") for row in described.get("parts", ()))


def error_of(answer: Answer) -> str:
    """Return the first error of an answer that is not NONE."""
    rows = [answer, *answer.get("parts", ())]
    return next((row["error"] for row in rows if row.get("error", "NONE") != "NONE"), "NONE")


class Normaliser:
    """Producer ids and member ids by order of appearance, times as data time or "now"."""

    def __init__(self, base_ms: int) -> None:
        self.base_ms = base_ms
        self.producers: dict[int, str] = {}
        self.members: dict[str, str] = {}

    def __call__(self, value: Any, key: str = "") -> Any:
        """Return the value without what differs from run to run."""
        if isinstance(value, dict):
            if "state" in value and value.get("error", "NONE") != "NONE":
                return value  # DescribeTransactions: ids of such a row are nobody's
            return {k: self(v, k) for k, v in value.items()}
        if isinstance(value, list):
            found = [self(v, key) for v in value]
            return sorted(found, key=lambda m: str(m["member_id"])) if key == "members" else found
        if key == "producer_id" and isinstance(value, int) and value >= 0 and value not in FOREIGN:
            return self.producers.setdefault(value, f"P{len(self.producers) + 1}")
        if key in ("member_id", "leader") and isinstance(value, str) and value:
            return self.members.setdefault(value, f"M{len(self.members) + 1}")
        if key.endswith("_ms") and isinstance(value, int) and value >= 0 and key != "timeout_ms":
            return f"T+{value - self.base_ms}" if 0 <= value - self.base_ms < 100_000 else "now"
        return value


def text_of(recording: str, features: dict[str, int], answers: dict[str, list[Answer]]) -> str:
    """Return a recording as text: one answer a line, or a checksum for the answers that its `LIKE` has too."""
    version, _, kind = recording.partition("-")
    like = f"{LIKE[version]}-{kind}" if version in LIKE else ""
    head = json.dumps({"kafka": version, "features": features, **({"like": like} if like else {})})[:-1]
    others = read_recorded(like)["answers"] if like else {}
    rows = [
        f'  {json.dumps(name)}: "{_checksum(found)}"'
        if others.get(name) == found
        else f"  {json.dumps(name)}: [\n   " + ",\n   ".join(json.dumps(a) for a in found) + "\n  ]"
        for name, found in answers.items()
    ]
    return head + ', "answers": {\n' + ",\n".join(rows) + "\n}}\n"


def read_recorded(recording: str) -> dict[str, Any]:
    """Return a recording: "kafka", "features", and "answers" by the script's name."""
    return read_recording(RECORDED / f"{recording}.json")


def read_recording(path: Path) -> dict[str, Any]:
    """Read a recording's file. ValueError if the recording that it is like has other answers now."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    others = read_recorded(found["like"])["answers"] if "like" in found else {}
    for name, answers in found["answers"].items():
        if isinstance(answers, str):
            if answers != _checksum(others.get(name, [])):
                raise ValueError(f"{found['like']} has other answers to {name} now: record {path.stem} again, too")
            found["answers"][name] = others[name]
    return found


def _checksum(answers: list[Answer]) -> str:
    return f"{crc32(json.dumps(answers).encode()):08x}"
