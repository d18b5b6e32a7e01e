// Compiles, with the browser's own Python, what a kernel imports at its start, so that no learner's browser has to.
//
// node compile_wheels.mjs FOLDER: each wheel in it, and Python's library, gets the compiled modules beside the sources,
// which stay, for tracebacks, completion and inspect.

import { readFileSync, writeFileSync } from "node:fs";

const [folder] = process.argv.slice(2),
	{ loadPyodide } = await import(`${folder}/pyodide.mjs`),
	lock = JSON.parse(readFileSync(`${folder}/pyodide-lock.json`)),
	quiet = { messageCallback: () => undefined },
	python = await loadPyodide({ indexURL: folder }),
	packages = Object.values(lock.packages);

await python.loadPackage(Object.keys(lock.packages), quiet);
for (const name of [...packages.map((one) => one.file_name), "python_stdlib.zip"])
	python.FS.writeFile(`/${name}`, new Uint8Array(readFileSync(`${folder}/${name}`)));
python.globals.set("wheels", JSON.stringify(packages.map((one) => one.file_name)));
python.runPython(`
import importlib.util, json, marshal, sys, zipfile

for name in ("anywidget", "IPython", "IPython.core.interactiveshell", "ipykernel", "ipywidgets", "jedi", "micropip",
             "piplite", "pyodide_kernel"):
    try:
        importlib.import_module(name)
    except (ImportError, AttributeError):  # what wants a page; most of what it imports is there then
        pass
from kafkalab import Cluster, Predict, Sequence, Share, Verdict, at_the_end, check, counterexample, hint, lab03, progress
Cluster(lab03()).run()

stdlib = next(path for path in sys.path if path.endswith(".zip"))
site = importlib.util.find_spec("kafkalab").origin.removesuffix("kafkalab/__init__.py")
origins = {getattr(module.__spec__, "origin", None) or "" for module in [*sys.modules.values()] if module}
head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")  # by its hash, which nobody checks


def place(name, below):
    if below == stdlib + "/":
        return name + "c"
    folder, _, file = name.rpartition("/")
    return (folder + "/" if folder else "") + "__pycache__/" + file[:-3] + "." + sys.implementation.cache_tag + ".pyc"


def with_compiled(file, below):
    with zipfile.ZipFile(file) as given:
        files = [(info.filename, given.read(info)) for info in given.infolist() if not info.is_dir()]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, content in files:
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
            if name.endswith(".py") and below + name in origins:
                code = compile(content, below + name, "exec", dont_inherit=True)
                data = head + importlib.util.source_hash(content) + marshal.dumps(code)
                packed.writestr(zipfile.ZipInfo(place(name, below)), data, zipfile.ZIP_DEFLATED)


for wheel in json.loads(wheels):
    with_compiled("/" + wheel, site)
with_compiled("/python_stdlib.zip", stdlib + "/")
`);
for (const name of [...packages.map((one) => one.file_name), "python_stdlib.zip"])
	writeFileSync(`${folder}/${name}`, python.FS.readFile(`/${name}`));
