"""`kafkalab build-labs`: what learners open, made from labs/solutions/."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kafkalab.cli.saved_scenarios import CommandLineError, Parser, one_line_errors


def build_labs(extra: Sequence[str], root: Path) -> int:
    """Every labs/NN.ipynb under `root` is what labs/solutions/NN.ipynb makes, and labs/README.md says what is in them.

    With --run the solutions were run anew before; with --clean the variants for a retake are made as well. Prints the
    files that changed. Returns 2, with a sentence on stderr, where something is not as it must be.
    """
    return one_line_errors("build-labs", lambda: _build_labs(extra, root))


def _build_labs(extra: Sequence[str], root: Path) -> int:
    from kafkalab.course.questions import PAGE, page
    from kafkalab.course.start_page import refresh_start_page
    from kafkalab.grading.builder import build, refresh
    from kafkalab.grading.retake import build_clean

    parser = Parser(prog="kafkalab build-labs", description="Make labs/ from labs/solutions/.")
    parser.add_argument("--run", action="store_true", help="run the solutions first, and save their outputs")
    parser.add_argument("--clean", type=Path, metavar="DIR", help="also write the labs without their explanations here")
    options = parser.parse_args(list(extra))
    try:
        changed = [*refresh_start_page(root), *(refresh(root) if options.run else [])]
        changed += build(root)
        text = page(root)
        if not (root / PAGE).exists() or (root / PAGE).read_text(encoding="utf-8") != text:
            (root / PAGE).write_text(text, encoding="utf-8")
            changed.append(root / PAGE)
        if options.clean is not None:
            changed += build_clean(root, options.clean)
    except (ValueError, ImportError) as error:
        raise CommandLineError(str(error)) from None
    for path in changed:
        print(path.relative_to(root) if path.is_relative_to(root) else path)
    return 0
