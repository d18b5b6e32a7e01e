"""Set the line number of each piece of evidence to the line that holds its quote, after incidents were made again.

`python -m tests.incidents.number_lines`; a quote that no line holds, or that only later lines hold, has to be mended by
hand. Where several lines hold a quote, it is the first of them.
"""

from __future__ import annotations

import re

from tests.incidents.test_incidents import INCIDENTS, read_key


def main() -> None:
    """Rewrite `line = …` of every key."""
    for folder in INCIDENTS:
        path, rows = folder / "key.toml", read_key(folder)["evidence"]
        numbers = []
        for row in rows:
            lines = (folder / row["file"]).read_text().splitlines()
            at = next((i for i, line in enumerate(lines, 1) if row["quote"] in line), 0)
            if not at:
                print(f"{folder.name}/{row['file']}: no line holds {row['quote']!r}")
            numbers.append(at)
        parts = re.split(r"^line = \d+$", path.read_text(), flags=re.M)
        joints = [f"line = {number}" for number in numbers] + [""]
        path.write_text("".join(part + joint for part, joint in zip(parts, joints, strict=True)))


if __name__ == "__main__":
    main()
