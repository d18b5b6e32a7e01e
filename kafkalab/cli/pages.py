"""The commands that write the pages of docs/: from stored scenarios `rules`, `bugs`, `atlas`; from code `protocol`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def rules(extra: Sequence[str], root: Path) -> int:
    """docs/rules.md under `root` says what goes wrong without each rule, as its scenario in data/rules/ has shown."""
    from kafkalab.reference.rule_matrix import PAGE, matrix, page

    return _make("rules", extra, root, PAGE, lambda: page(matrix(root)))


def bugs(extra: Sequence[str], root: Path) -> int:
    """docs/bugs.md under `root` says what each bug of data/bugs/ has shown now, with its cure and without."""
    from kafkalab.reference.bug_page import PAGE, page

    return _make("bugs", extra, root, PAGE, lambda: page(root))


def atlas(extra: Sequence[str], root: Path) -> int:
    """docs/errors.md under `root` shows each error as its scenario in data/errors/ has met it now."""
    from kafkalab.reference.error_atlas import PAGE, entries, page

    return _make("atlas", extra, root, PAGE, lambda: page(entries(root)))


def profiles(extra: Sequence[str], root: Path) -> int:
    """docs/profiles.md under `root` says what every profile answers to the same questions."""
    from kafkalab.reference.profile_table import PAGE, as_markdown, profile_table

    return _make("profiles", extra, root, PAGE, lambda: as_markdown(profile_table()))


def protocol(extra: Sequence[str], root: Path) -> int:
    """docs/protocol.md under `root` says what this Kafka does and why, with the tables that the code uses."""
    from kafkalab.reference.protocol_page import PAGE, text_of

    return _make("protocol", extra, root, PAGE, text_of)


def _make(command: str, extra: Sequence[str], root: Path, place: Path, text: Callable[[], str]) -> int:
    """The page is written. Returns 2, with a sentence on stderr, where a scenario is not as it must be."""
    if extra:
        print(f"kafkalab {command}: takes no arguments, not {' '.join(extra)}", file=sys.stderr)
        return 2
    try:
        made = text()
    except (ValueError, OSError) as error:
        print(f"kafkalab {command}: {error}", file=sys.stderr)
        return 2
    (root / place).write_text(made, encoding="utf-8")
    print(place)
    return 0
