"""Build the site and show it: `make site`, `make site ARGS=--serve`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from kafkalab.site.build import SITE, build
from kafkalab.site.runtime import CannotBuildError
from kafkalab.site.serve import PORT, port_number, public_address, serve


def main(argv: Sequence[str] | None = None) -> int:
    """Build the site into a folder; say how large it is; with --serve show it until Control-C."""
    parser = argparse.ArgumentParser(prog="python -m kafkalab.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=SITE, metavar="FOLDER", help=f"where it is built ({SITE})")
    parser.add_argument("--serve", action="store_true", help="then show it on this machine")
    parser.add_argument("--port", type=port_number, default=PORT, help=f"with --serve ({PORT}; 0: any that is free)")
    parser.add_argument("--url", type=public_address, help="the public address, for search engines")
    options = parser.parse_args(argv)
    root = Path.cwd()
    if not (root / "labs" / "00_start.ipynb").is_file():
        print("kafkalab.site: no labs/00_start.ipynb here; run it in the project's folder", file=sys.stderr)
        return 2
    begun = time.monotonic()
    try:
        build(root, options.out, options.url or "")
    except CannotBuildError as error:
        print(f"kafkalab.site: {error}", file=sys.stderr)
        return 2
    files = [path for path in options.out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"{options.out}: {len(files)} files, {size:.1f} MB, in {time.monotonic() - begun:.0f} s")
    if options.serve:
        try:
            serve(options.out, options.port)
        except OSError as error:
            print(f"kafkalab.site: port {options.port}: {(error.strerror or 'failed').lower()}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
