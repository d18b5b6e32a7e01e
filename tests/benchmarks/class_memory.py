"""What a class costs in memory on one machine: `python -m tests.benchmarks.class_memory 30` (LAB=03).

Each learner has a Jupyter server of their own, as on Binder, and a kernel that has run the whole lab and stays open.
Counted is the proportional set size (PSS): what a process has to itself, and its share of what it shares. Linux only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jupyter_client.manager import start_new_kernel
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from kafkalab.grading.builder import SOLUTIONS, read
from tests.benchmarks.processes import tree_mib
from tests.benchmarks.session_memory import ROOT, prepare, processor_s

QUIET_S = 5.0
"""The seconds that a server gets to start before the next one does."""


def kernel_with(cells: list[str], stack: ExitStack) -> int:
    """Start a kernel that runs the cells and stays; return its process id."""
    manager, client = start_new_kernel(
        kernel_name="python3", cwd=str(ROOT / SOLUTIONS), extra_arguments=["--IPKernelApp.log_level=ERROR"]
    )
    stack.callback(manager.shutdown_kernel, now=True)
    for cell in cells:
        reply: Any = client.execute_interactive(cell, allow_stdin=False, timeout=120, output_hook=lambda _: None)
        assert reply["content"]["status"] == "ok", reply["content"]
    client.stop_channels()
    provisioner = manager.provisioner
    assert isinstance(provisioner, LocalProvisioner)
    assert provisioner.pid is not None
    return provisioner.pid


def server(folder: Path, stack: ExitStack) -> int:
    """Start a Jupyter server with JupyterLab; return its process id."""
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.port=0"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(process.wait, 30)
    stack.callback(process.terminate)
    time.sleep(QUIET_S)
    assert process.poll() is None, "a server did not start"
    return process.pid


def measure(count: int, lab: str) -> None:
    """Print after 1, 5, 10, … learners what all of them have, in MiB, and what a kernel has computed."""
    notebook = read(next((ROOT / SOLUTIONS).glob(f"{lab}*.ipynb")))
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    kernels, servers = list[int](), list[int]()
    print(f"lab {lab}: learners, kernels MiB, servers MiB, in all MiB, MiB a learner, processor s of a kernel")
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
            os.environ[name] = folder
        for number in range(1, count + 1):
            kernels.append(kernel_with(cells, stack))
            servers.append(server(Path(folder), stack))
            if number == 1 or number % 5 == 0 or number == count:
                ours, theirs = (sum(sum(tree_mib(pid).values()) for pid in pids) for pids in (kernels, servers))
                computed = sum(map(processor_s, kernels)) / number
                all_of_it = ours + theirs
                row = f"{number:3} {ours:7.0f} {theirs:7.0f} {all_of_it:7.0f} {all_of_it / number:6.0f} {computed:6.1f}"
                print(row, flush=True)


if __name__ == "__main__":
    prepare()
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 30, os.environ.get("LAB", "03"))
