"""Build the wheel: kafkalab and, below kafkalab/shipped/, the labs, their data and the pages that they link to.

A checkout has these folders beside the package, so an editable installation copies nothing.
"""

from pathlib import Path
from shutil import rmtree

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = (
    "README.md",
    *("labs/*.ipynb", "labs/README.md", "labs/solutions/*.ipynb"),
    *("data/*.md", "data/*.klab", "data/bugs/*.klab", "data/errors/*.klab", "data/found/*.klab", "data/rules/*.klab"),
    *("docs/*.md", "docs/*.txt", "docs/*.py", "docs/testing/*.py"),
    "binder/overrides.json",
)
"""What the wheel has of the checkout; each pattern must find a file."""


class WithTheCourse(build_py):
    """The package's own files, and the course's."""

    def run(self) -> None:
        """Copy all of them into the folder that becomes the wheel."""
        super().run()
        if self.editable_mode:
            return
        root, target = Path(__file__).resolve().parent, Path(self.build_lib) / "kafkalab" / "shipped"
        rmtree(target, ignore_errors=True)
        for pattern in SHIPPED:
            found = sorted(root.glob(pattern))
            if not found:
                raise FileNotFoundError(f"no {pattern} beside setup.py; build the wheel in a whole checkout")
            for path in found:
                there = target / path.relative_to(root)
                there.parent.mkdir(parents=True, exist_ok=True)
                self.copy_file(str(path), str(there), preserve_mode=False)


setup(cmdclass={"build_py": WithTheCourse})
