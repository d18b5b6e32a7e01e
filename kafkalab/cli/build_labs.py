"""`kafkalab build-labs`: what learners open, made from labs/solutions/."""

from __future__ import annotations

import argparse
from pathlib import Path

from kafkalab.cli.command_line import CommandLineError, number_from


def add_options(parser: argparse.ArgumentParser) -> None:
    """--begin, --run, --without-solutions and --clean."""
    what = "only write the files of a planned lab, to begin with"
    parser.add_argument("--begin", type=number_from(0, "lab", 99), metavar="NN", help=what)
    parser.add_argument(
        "--run", nargs="*", metavar="NN", help="run the solutions first (all, or those named) and save their outputs"
    )
    parser.add_argument(
        "--without-solutions", type=Path, metavar="DIR", help="also write a folder for a class: labs/, no solutions"
    )
    parser.add_argument("--clean", type=Path, metavar="DIR", help="also write the labs without their explanations here")


def act(options: argparse.Namespace, root: Path) -> int:
    """Make every labs/NN.ipynb under `root` from its solution, and the pages about them; print the files that changed.

    With --begin only write a new lab's files. CommandLineError for a solution that is damaged, or that --run cannot
    run, and for a lab that cannot be begun.
    """
    from kafkalab.course import glossary, old_articles, sources, symptoms
    from kafkalab.course.collection_notebooks import refresh_collections
    from kafkalab.course.navigation import refresh_ways
    from kafkalab.course.new_lab import begin_lab
    from kafkalab.course.questions import PAGE, page
    from kafkalab.course.start_page import refresh_start_page
    from kafkalab.grading.builder import build, refresh, write_changed
    from kafkalab.grading.landing import GLOSSARY
    from kafkalab.grading.retake import build_clean, write_learners_folder

    try:
        if options.begin is not None:
            return _print_paths(begin_lab(root, options.begin), root)
        changed = refresh_collections(root)
        changed += refresh(root, options.run) if options.run is not None else []
        changed += [*refresh_ways(root), *refresh_start_page(root)]
        pages = {root / PAGE: page(root)}
        if (root / symptoms.PAGE.parent).is_dir():
            pages |= {root / one.PAGE: one.page(root) for one in (symptoms, sources, old_articles)}
            pages[root / GLOSSARY] = glossary.page()
        changed += [*build(root), *write_changed(pages)]
        if options.without_solutions is not None:
            changed += write_learners_folder(root, options.without_solutions, page(root, of_a_class=True))
        if options.clean is not None:
            changed += build_clean(root, options.clean)
    except (ValueError, ImportError) as error:
        raise CommandLineError(str(error)) from None
    return _print_paths(changed, root)


def _print_paths(changed: list[Path], root: Path) -> int:
    for path in changed:
        print(path.relative_to(root) if path.is_relative_to(root) else path)
    return 0
