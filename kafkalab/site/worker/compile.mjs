// Compiles the modules that the page imports with the browser's own Python, so that no reader's browser has to.
//
// node compile.mjs RUNTIME KAFKALAB.zip OUT_FOLDER writes python_stdlib.zip and kafkalab.zip, not compressed: together
// they compress better. What the page does not import at its start stays source: compiled modules are twice as large.

import { readFileSync, writeFileSync } from "node:fs";

const [runtime, kafkalab, out] = process.argv.slice(2),
	{ loadPyodide } = await import(`${runtime}/pyodide.mjs`),
	python = await loadPyodide({ indexURL: runtime }),
	put = (path, file) => python.FS.writeFile(path, new Uint8Array(readFileSync(file)));

put("/stdlib.zip", `${runtime}/python_stdlib.zip`);
put("/kafkalab.zip", kafkalab);
python.runPython(`
import ast, contextlib, importlib.util, json, marshal, pathlib, sys, zipfile

sys.path.insert(0, "/kafkalab.zip")
with zipfile.ZipFile("/kafkalab.zip") as files:
    files.extractall("/kafkalab")
sys.path[0] = "/kafkalab"
from kafkalab.site.worker.stand_in import install
install()
from kafkalab.site.worker.session import start
from kafkalab.course.lab03.scenario import lab03
from kafkalab.sim.codec import code_of
from kafkalab.widgets.model.journey import Journey
posted = []
receive = start(posted.append)
row = {"id": 0, "parent": -1, "name": "", "label": "", "at": 0, "landed": 0}
values = {"tree": [row], "place": 0, "step": 60}
receive(json.dumps({"kind": "journey", "id": "j", "codes": [code_of(lab03())], "values": values}))
for part in ("sequence", "fault_panel", "share", "verdict", "cost_meter", "incident_room"):
    receive(json.dumps({"kind": "view", "id": part, "part": part, "journey": "j", "values": {}}))
assert not any('"error"' in text for text in posted), posted
for content in ({"kind": "press", "action": "crash", "target": "b1", "step": 60}, {"kind": "check"}):
    receive(json.dumps({"kind": "comm", "id": "j", "data": {"method": "custom", "content": content}}))
assert '"done"' in "".join(posted), posted[-1][:200]
sample = {"kind": "sample", "name": "hanging"}
receive(json.dumps({"kind": "comm", "id": "incident_room", "data": {"method": "custom", "content": sample}}))
assert not any('"error"' in text for text in posted), posted[-1][:200]
origins = {getattr(module.__spec__, "origin", None) or "" for module in [*sys.modules.values()] if module}


DEVELOPERS = ("_pyio.py", "_pyrepl/", "asyncio/proactor_events.py", "asyncio/windows", "bdb.py", "cmd.py",
    "compileall.py", "ctypes/", "doctest.py", "ensurepip/", "ftplib.py", "http/cookie", "http/server.py", "idlelib/",
    "imaplib.py", "logging/config.py", "logging/handlers.py", "mailbox.py", "modulefinder.py", "multiprocessing/",
    "optparse.py", "pdb.py", "pickletools.py", "plistlib.py", "poplib.py", "profile.py", "pstats.py", "pyclbr.py",
    "pydoc.py", "pydoc_data/", "smtplib.py", "socketserver.py", "symtable.py", "tabnanny.py", "tkinter/", "trace.py",
    "turtle.py", "unittest/", "venv/", "wave.py", "wsgiref/", "xml/dom/", "xml/sax/", "xmlrpc/")
"""Of Python's own library, what only a developer's machine or a server has a use for."""


stdlib = next(path for path in sys.path if path.endswith(".zip"))


def wanted(name):
    return not name.startswith(DEVELOPERS) and (not name.startswith("encodings/") or stdlib + "/" + name in origins)


def imported(path):
    """Yield what a module of kafkalab imports of Python's library, at whatever place."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        yield from (name for name in names if name.partition(".")[0] in sys.stdlib_module_names)


for name in sorted({name for path in pathlib.Path("/kafkalab/kafkalab").rglob("*.py") for name in imported(path)}):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
needed = [getattr(module.__spec__, "origin", None) or "" for module in [*sys.modules.values()] if module]
lost = [name for name in needed if name.startswith(stdlib) and not wanted(name.removeprefix(stdlib + "/"))]
assert not lost, f"kafkalab imports what is left out: {lost}"


def without_lines(code):
    """Without the tables of lines and columns, which are a third of it; a traceback has the names of the functions."""
    inner = tuple(without_lines(one) if isinstance(one, type(code)) else one for one in code.co_consts)
    return code.replace(co_consts=inner, co_linetable=b"")


def compiled(source, target, below):
    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")  # by its hash, which nobody checks
    with zipfile.ZipFile(source) as given, zipfile.ZipFile(target, "w") as zipped:
        for info in given.infolist():
            name, content = info.filename, given.read(info)
            if name.endswith(".py") and below + name in origins:
                code = without_lines(compile(content, below + name, "exec", dont_inherit=True, optimize=2))
                name, content = name + "c", head + importlib.util.source_hash(content) + marshal.dumps(code)
            if below == "/kafkalab/" or wanted(info.filename):
                zipped.writestr(zipfile.ZipInfo(name), content)


compiled("/stdlib.zip", "/stdlib_out.zip", stdlib + "/")
compiled("/kafkalab.zip", "/kafkalab_out.zip", "/kafkalab/")
`);
for (const name of ["python_stdlib", "kafkalab"])
	writeFileSync(
		`${out}/${name}.zip`,
		python.FS.readFile(name === "kafkalab" ? "/kafkalab_out.zip" : "/stdlib_out.zip"),
	);
