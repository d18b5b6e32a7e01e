"""A server that is waited for: its file is there and empty for a moment, it may end before it answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread, Timer

import pytest

from tests.jupyter_server import address_of, stop


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[str]:
    """The address of something that answers to `api`."""
    (tmp_path / "api").write_text("{}")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that only sleeps, in a session of its own."""
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    yield started
    stop(started)
    assert started.returncode


@pytest.mark.parametrize("half", ["", '{"url": "http'])
def test_a_file_that_is_not_whole_yet_is_read_again(
    half: str, serving: str, process: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    info = tmp_path / f"jpserver-{process.pid}.json"
    info.write_text(half)
    later = Timer(0.3, info.write_text, [json.dumps({"url": serving})])
    later.start()
    assert address_of(process, tmp_path, tmp_path / "log") == serving
    later.join()


def test_a_server_that_ends_says_its_last_words(process: subprocess.Popen[bytes], tmp_path: Path) -> None:
    (tmp_path / "log").write_text("no room on the disk")
    process.kill()
    process.wait()
    with pytest.raises(RuntimeError, match=r"did not start.*\nno room on the disk"):
        address_of(process, tmp_path, tmp_path / "log")
