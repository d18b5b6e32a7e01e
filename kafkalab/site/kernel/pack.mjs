// Packs all that a kernel imports into two archives, so that a learner's browser unpacks and compiles nothing itself.
//
// node pack.mjs FOLDER: the wheels in it become packages.packed, Python's own library library.packed. What a kernel and
// the labs import is compiled by the browser's own Python; the sources stay, for tracebacks, completion and inspect.

import { readFileSync, writeFileSync } from "node:fs";

const [folder] = process.argv.slice(2),
	{ loadPyodide } = await import(`${folder}/pyodide.mjs`),
	lock = JSON.parse(readFileSync(`${folder}/pyodide-lock.json`)),
	python = await loadPyodide({ indexURL: folder });

await python.loadPackage(Object.keys(lock.packages), { messageCallback: () => undefined });
python.FS.writeFile("/stdlib.zip", new Uint8Array(readFileSync(`${folder}/python_stdlib.zip`)));
python.runPython(`
import gzip, importlib.util, json, marshal, os, sys, zipfile

KERNELS = ("anywidget", "graphviz", "IPython.core.interactiveshell", "ipykernel", "ipywidgets", "jedi", "micropip",
           "piplite.piplite", "pyodide_kernel")
COMPILED = ("kafkalab/",)
SERVERS = ("kafkalab/cli/", "kafkalab/reference/", "kafkalab/site/", "kafkalab/spark/", "kafkalab/testing/")
"""Of kafkalab, what no lab imports in a browser."""
LEFT_OUT = ("django-stubs/", "typeshed/stubs/", "/tests/", "/labextension/", "/nbextension/", "__pycache__")
NOT_OURS = ("ensurepip/", "idlelib/", "tkinter/", "turtle.py", "venv/")
"""Of Python's own library, what opens windows and installs packages."""

for name in KERNELS:
    try:
        importlib.import_module(name)
    except (ImportError, AttributeError):  # what wants a page; most of what it imports is there then
        pass
sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__  # a kernel's own have no page to write to
sys.modules["pyodide_kernel"].ipython_shell.send_comm = lambda *content: None
from kafkalab import Sequence, costs_of, lab03, lab13
from kafkalab.sim.cluster import ran
from kafkalab.wire.frame_bytes import frame_bytes
Sequence(lab03())
run = ran(lab13(records=6, size=20))
sum(frame_bytes(run, frame) for frame in run.trace.frames.values())

stdlib = next(path for path in sys.path if path.endswith(".zip")) + "/"
site = importlib.util.find_spec("kafkalab").origin.removesuffix("kafkalab/__init__.py")
origins = {getattr(module.__spec__, "origin", None) or "" for module in [*sys.modules.values()] if module}
head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")  # by its hash, which nobody checks


def compiled(content, path):
    code = compile(content, path, "exec", dont_inherit=True)
    return head + importlib.util.source_hash(content) + marshal.dumps(code)


def wanted(name):
    if ".dist-info/" in name:
        return name.endswith("/METADATA") or "licen" in name.lower() or "copying" in name.lower()
    return not any(part in "/" + name for part in LEFT_OUT)


def packages():
    """Yield path and content of each file, and of each compiled module beside its source."""
    for place, folders, files in os.walk(site):
        folders.sort()
        for file in sorted(files):
            path = place.removesuffix("/") + "/" + file
            name = path.removeprefix(site)
            if not wanted(name):
                continue
            with open(path, "rb") as opened:
                content = opened.read()
            yield path, content
            labs = name.startswith(COMPILED) and not name.startswith(SERVERS)
            if name.endswith(".py") and (path in origins or labs):
                yield importlib.util.cache_from_source(path), compiled(content, path)


files = dict(packages())
index = json.dumps([[path, len(content)] for path, content in files.items()]).encode()
whole = len(index).to_bytes(4, "little") + index + b"".join(files.values())
with open("/packages.packed", "wb") as out:
    out.write(gzip.compress(whole, 9, mtime=0))
with zipfile.ZipFile("/stdlib.zip") as given, zipfile.ZipFile("/library.zip", "w") as packed:
    for info in given.infolist():
        name, content = info.filename, given.read(info)
        if name.startswith(NOT_OURS):
            continue
        packed.writestr(zipfile.ZipInfo(name), content)
        if stdlib + name in origins:
            packed.writestr(zipfile.ZipInfo(name + "c"), compiled(content, stdlib + name))
with open("/library.zip", "rb") as library, open("/library.packed", "wb") as out:
    out.write(gzip.compress(library.read(), 9, mtime=0))
`);
for (const name of ["packages.packed", "library.packed"])
	writeFileSync(`${folder}/${name}`, python.FS.readFile(`/${name}`));
