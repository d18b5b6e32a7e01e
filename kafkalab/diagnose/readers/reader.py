"""Share between readers the place in a file, and what the lines before it said."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import QUOTE, AbortCommand, Source

DIGITS = 19
"""A longer number is none of Kafka's."""
OPTION = re.compile(r"--([\w-]+)[ =]([^\s'\"]+)")


@dataclass(slots=True)
class Place:
    """A line of a file while it is read, and what the command before it named."""

    file: str
    line: int = 0
    text: str = ""
    process: str = ""
    """The container whose line it is, if the lines of several were put together."""
    options: dict[str, str] = field(default_factory=dict)
    """The options of the last command line that was pasted: they name what its output does not."""

    def source(self) -> Source:
        """Return the line as a source."""
        return Source(self.file, self.line, self.text[:QUOTE])

    @property
    def partition(self) -> str:
        """The partition that the last command named, or nothing."""
        topic, number = self.options.get("topic", ""), self.options.get("partition", "")
        return f"{topic}-{number}" if topic and number.isdecimal() else ""


def number(text: str) -> int:
    """Return the whole number that the text is; -1 for any other text."""
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= DIGITS else -1


def read_command(line: str, place: Place, evidence: Evidence) -> bool:
    """Note the options of a pasted command line, and an `abort`. Return False if it is none."""
    if not line.startswith(("$ ", "# ", "> ", "% ")) and ".sh " not in line[:80]:
        return False
    if "kafka-" not in line and "kafka." not in line:
        return line.startswith("$ ")
    place.options = dict(OPTION.findall(line[:4_000]))
    start = number(place.options.get("start-offset", ""))
    if "kafka-transactions.sh " in line and " abort " in line and place.partition and start >= 0:
        evidence.aborts.add(AbortCommand(place.partition, start, place.source()))
    return True
