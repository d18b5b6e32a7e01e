"""`kafkalab build-labs`: what learners open, made from labs/solutions/."""

from __future__ import annotations

import argparse
from pathlib import Path

from kafkalab.cli.command_line import CommandLineError


def add_options(parser: argparse.ArgumentParser) -> None:
    """--run, --without-solutions and --clean."""
    parser.add_argument(
        "--run", nargs="*", metavar="NN", help="run the solutions first (all, or those named) and save their outputs"
    )
    parser.add_argument(
        "--without-solutions", type=Path, metavar="DIR", help="also write a folder for a class: labs/, no solutions"
    )
    parser.add_argument("--clean", type=Path, metavar="DIR", help="also write the labs without their explanations here")


def act(options: argparse.Namespace, root: Path) -> int:
    """Make every labs/NN.ipynb under `root` from its solution, and the pages about them; print the files that changed.

    CommandLineError for a solution that is damaged, or that --run cannot run.
    """
    from kafkalab.course import symptoms
    from kafkalab.course.questions import PAGE, page
    from kafkalab.course.start_page import refresh_start_page
    from kafkalab.course.ways import refresh_ways
    from kafkalab.grading.builder import build, refresh, write_changed
    from kafkalab.grading.retake import build_clean, write_learners_folder

    try:
        changed = [*refresh_start_page(root), *refresh_ways(root)]
        changed += refresh(root, options.run) if options.run is not None else []
        pages = {root / PAGE: page(root)}
        if (root / symptoms.PAGE.parent).is_dir():
            pages[root / symptoms.PAGE] = symptoms.page(root)
        changed += [*build(root), *write_changed(pages)]
        if options.without_solutions is not None:
            changed += write_learners_folder(root, options.without_solutions, page(root, of_a_class=True))
        if options.clean is not None:
            changed += build_clean(root, options.clean)
    except (ValueError, ImportError) as error:
        raise CommandLineError(str(error)) from None
    for path in changed:
        print(path.relative_to(root) if path.is_relative_to(root) else path)
    return 0
