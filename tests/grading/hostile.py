"""Notebooks that want points which they have not earned, or harm others: by name, their cells."""

from __future__ import annotations

ANSWERS = """e2 = {1: "appended", 2: "known", 3: "OUT_OF_ORDER_SEQUENCE_NUMBER", 4: "OUT_OF_ORDER_SEQUENCE_NUMBER",
    5: "appended", 6: "appended", 7: "appended", 8: "INVALID_PRODUCER_EPOCH", 9: "OUT_OF_ORDER_SEQUENCE_NUMBER"}
"""
HONEST = f"""{ANSWERS}
from kafkalab.client.exceptions import KafkaError

def accept(state, batch):
    first, last = batch["first"], (batch["first"] + batch["count"] - 1) % 2**31
    if batch["epoch"] == state["epoch"] and (first, last) in state["batches"]:
        return 0, "NONE"
    if batch["epoch"] < state["epoch"]:
        return 0, "INVALID_PRODUCER_EPOCH"
    due = first if state["epoch"] == -1 else 0
    if batch["epoch"] == state["epoch"] and state["batches"]:
        due = (state["batches"][-1][1] + 1) % 2**31
    return (batch["count"], "NONE") if first == due else (0, "OUT_OF_ORDER_SEQUENCE_NUMBER")

async def stubborn(app, orders):
    producer, again = app.producer(linger_ms=0, delivery_timeout_ms=30_000), 0
    for order in orders:
        while True:
            try:
                await (await producer.send("orders", order, partition=0))
                break
            except KafkaError:
                again += 1
    return again
"""
NOTHING = """e2 = {1: "x"}
def accept(state, batch):
    return -1
async def stubborn(app, orders):
    return len(orders)
"""
EXERCISES = (
    "from kafkalab.course.lab01 import exercise_1, exercise_2, exercise_3\n"
    "modules = exercise_1, exercise_2, exercise_3\n"
)
LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
ESCAPED = "time.sleep(987654)"
"""The command line of the process that escapes; a test looks for it."""

ROWS = """import json, os, struct
rows = [json.dumps({"kind": "check", "exercise": name, "solved": True, "part": 1.0, "reason": "right"}) + "\\n"
    for name in ("L1.E1", "L1.E2", "L1.E3")]
def write(descriptor, data):
    try: os.write(descriptor, data)
    except OSError: pass
for descriptor in range(3, 64):
    for row in rows: write(descriptor, row.encode())
os._exit(0)"""
FRAMES = """import json, os, struct
def framed(message):
    data = json.dumps(message).encode()
    return struct.pack(">I", len(data)) + data
messages = [{"error": None}, {"solved": True}, {"there": True}, {"value": True}, {"use": [0, "log"]}, {"raised": 7},
    {"value": {"dict": [[1, "known"]]}}, {"value": {"function": 7}}, {"value": {"record": ["os", "x"]}}, [], 7]
for descriptor in range(3, 64):
    for message in messages * 20:
        try: os.write(descriptor, framed(message))
        except OSError: break"""
THREAD = f"""{EXERCISES}
import threading, time
from dataclasses import replace
def patch():
    while True:
        for module in modules:
            module.EXERCISE = replace(module.EXERCISE, check=lambda answer: "right")
        time.sleep(0.001)
threading.Thread(target=patch, daemon=True).start()"""
EQUAL = """class Equal(str):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = lambda self: 0
    __len__ = lambda self: 9
e2 = dict.fromkeys(range(1, 10), Equal())
class Any: __eq__ = lambda self, other: True
def accept(state, batch): return Any()
async def stubborn(app, orders): return Any()"""
DUMPS = """import json
dumps = json.dumps
def right(row, *given, **named):
    if isinstance(row, dict) and ("solved" in row or row.get("kind") == "check"):
        row = {**row, "solved": True, "part": 1.0, "reason": "right", "data": None}
    return dumps(row, *given, **named)
json.dumps = right
"""
CALLER = """import itertools, sys
calls = itertools.count()
def accept(state, batch):
    place, frame = next(calls), sys._getframe()
    while frame is not None:
        if "truths" in frame.f_locals: return frame.f_locals["truths"][place]
        frame = frame.f_back
    return -1"""
BUILTINS = """import builtins
class Yes(int):
    def __new__(cls, given=None): return True
builtins.bool = Yes"""
BOMB = f"{LIBC}import time\nfor _ in range(200):\n    if libc.fork() == 0: time.sleep(600)\ntime.sleep(600)"
ESCAPE = f"""{LIBC}import os, sys, time
if libc.fork() == 0:
    libc.setsid()
    if libc.fork() == 0:
        words = [sys.executable.encode(), b"-c", b"import time; {ESCAPED}", None]
        libc.execve(words[0], (ctypes.c_char_p * 4)(*words), (ctypes.c_char_p * 1)(None))
    libc._exit(0)
time.sleep(2)
libc._exit(0)"""
GIVE = (
    "import json\n{answers}\n"
    "try: json.dump(list(e2.items()), open('/dev/shm/kafkalab-test-answers', 'w'))\nexcept OSError: pass\n"
)
TAKE = """import json, time
e2 = {}
for _ in range(40):
    try: e2 = dict(json.load(open("/dev/shm/kafkalab-test-answers"))); break
    except (OSError, ValueError): time.sleep(0.1)"""
REMOVE = """import os, shutil
for folder in (os.getcwd(), os.path.expanduser("~"), os.environ["TMPDIR"], "..", "/tmp", "/dev/shm"):
    shutil.rmtree(folder, ignore_errors=True)
"""
FINALLY = """import sys
def accept(state, batch):
    try: return 1 / 0
    finally: sys.exit(0)
async def stubborn(app, orders):
    try: await app.sleep(5)
    finally: sys.exit(0)
try: 1 / 0
finally: sys.exit(0)"""
SIGNALS = """import signal
class WrongAnswer(BaseException): part = 1.0
def strike(*given): raise WrongAnswer("right")
signal.signal(signal.SIGALRM, strike)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)"""
ENDLESS_VALUES = """import itertools
class Endless(dict):
    def items(self): return ((n, n) for n in itertools.count())
e2 = itertools.repeat("NONE")
def accept(state, batch):
    while True: yield 0
async def stubborn(app, orders): return (0 for _ in itertools.count())"""
REACHES = """async def stubborn(app, orders):
    for name in ("port", "_controller", "kernel", "log_of", "__class__", "__init__"):
        try: getattr(app, name)().anything
        except Exception: pass
    for number in (0, 1, 2, -1, 10**9, "x"):
        for use in ((number, "port"), (number, "__class__", [], {}), (number, "sleep", [-5], {}), ([], {}, 3)):
            try: app._notebook.use(*use)
            except Exception: pass
    producer = app.producer()
    for name in ("sender", "transaction_manager", "accumulator", "port", "config"):
        try: getattr(producer, name)()
        except Exception: pass
    return 3"""
COLLIDING = "n * (2**61 - 1) for n in range(1, 20_000)"
"""Numbers of one hash: the time to make a set of them grows with the square of their number."""
SHORT = "import time\nuntil = time.process_time() + 0.4\nwhile time.process_time() < until: pass"
MEMFD = f"""{LIBC}kept = []
for _ in range(400):
    kept.append(libc.memfd_create(b"x", 0))
    for _ in range(10): libc.write(kept[-1], b"x" * 1_000_000, 1_000_000)"""
CELLS: dict[str, tuple[str, ...]] = {
    "rows": (ROWS,),
    "frames": (NOTHING, FRAMES),
    "dumps": (DUMPS, NOTHING),
    "thread": (THREAD, NOTHING),
    "equal": (EQUAL,),
    "caller": (NOTHING, CALLER),
    "builtins": (NOTHING, BUILTINS),
    "setattr": (
        f"{EXERCISES}\nfor module in modules: object.__setattr__(module.EXERCISE, 'check', lambda answer: 'right')",
        NOTHING,
    ),
    "raises": ("class WrongAnswer(Exception): pass\nraise WrongAnswer", NOTHING, "raise WrongAnswer"),
    "says": (
        NOTHING,
        "class WrongAnswer(Exception): part = 1.0\ndef accept(state, batch): raise WrongAnswer('right')",
        "async def stubborn(app, orders): raise WrongAnswer('right')",
    ),
    "loops": ("import time\nwhile True: time.sleep(0.1)", NOTHING),  # "never returns" takes a processor besides
    "never returns": (NOTHING, "def accept(state, batch):\n    while True: pass"),
    "bomb": (NOTHING, BOMB),
    "memory": (NOTHING, "class Hog(dict):\n    pass\ne2 = [bytes(range(256)) * 40_000 for _ in range(400)]"),
    "large": ("e2 = 'x' * 50_000_000\nprint(e2)", NOTHING.partition("\n")[2], "import sys\nsys.stderr.write(e2)"),
    "deep": (
        NOTHING,
        "e2 = []\nfor _ in range(100_000): e2 = [e2]",
        "me = {}\nme['me'] = me\ndef accept(state, batch): return me",
    ),
    "digits": (NOTHING, "e2 = {n * (2**61 - 1): 10**5000 for n in range(500)}"),
    "escapes": (NOTHING, ESCAPE),
    "takes": (NOTHING, TAKE),
    "removes": (REMOVE, NOTHING),
    "finally": (NOTHING, FINALLY),
    "atexit": (
        f"import atexit, os\nrows = {ROWS!r}\natexit.register(lambda: exec(rows, {{}}))",
        NOTHING,
        "import sys\nsys.exit(0)",
    ),
    "stdout": ("import sys\nsys.stdout = sys.stderr = sys.stdin = None\nsys.excepthook = sys.settrace = None", NOTHING),
    "signals": (NOTHING, SIGNALS),
    "generators": (ENDLESS_VALUES,),
    "mapping": (NOTHING, f"{ENDLESS_VALUES}\ne2 = Endless()"),
    "reaches": (NOTHING, REACHES),
    "sleeps for ever": (NOTHING, "async def stubborn(app, orders):\n    while True: await app.sleep(1)"),
    "shell": (NOTHING, "shell = get_ipython()\nshell.run_cell = shell.user_ns = shell.showtraceback = None"),
    "channel": (
        NOTHING,
        "import gc\nfrom kafkalab.grading import channel, worker, values\nfor one in gc.get_objects():\n"
        "    if isinstance(one, channel.Channel): one.send = lambda message: None",
    ),
    "memory files": (NOTHING, MEMFD),
    "shared memory": (NOTHING, "import mmap\nkept = [mmap.mmap(-1, 10**7) for _ in range(200)]\n"
                      "for one in kept: one.write(b'x' * 10**7)"),
    "colliding set": (NOTHING, f"e2 = {{{COLLIDING}}}"),
    "colliding dict": (NOTHING, f"e2 = dict.fromkeys([{COLLIDING}], 'NONE')"),
    "colliding sets": (NOTHING, f"e2 = [set(list({COLLIDING})[:1_900]) for _ in range(60)]"),
    "many cells": (NOTHING, *[SHORT] * 60),
    "array": (NOTHING, "import numpy\ne2 = numpy.zeros(9)\ndef accept(state, batch): return numpy.zeros(3)"),
    "frame": (NOTHING, "import pandas\ne2 = pandas.DataFrame({'a': [1]})\n"
              "def accept(state, batch): return e2"),
    "huge number": (NOTHING, "e2 = 10**100_000\ndef accept(state, batch): return 10**100_000"),
    "parameters": (NOTHING, "def accept(): return 0\nasync def stubborn(): return 3"),
    "no repr": (NOTHING, "class Odd:\n    def __repr__(self): raise SystemExit\n"
                "e2 = Odd()\ndef accept(state, batch): return Odd()"),
    "any attribute": (NOTHING, "class Odd:\n    def __getattr__(self, name): return self\n"
                      "    def __call__(self, *given): return self\ne2 = accept = stubborn = Odd()"),
    "class": (NOTHING, "class accept(int): pass\ne2 = accept"),
    "not a number": (NOTHING, "e2 = {1: float('nan')}\ndef accept(state, batch): return float('nan')"),
    "surrogates": (NOTHING, "e2 = {1: chr(0xD800) * 1000}\n"
                   "def accept(state, batch): return chr(0xDFFF)"),
    "segfault": (NOTHING, "import ctypes\nctypes.string_at(0)"),
    "recursion": (NOTHING, "import sys\nsys.setrecursionlimit(10**9)\ndef down(): return down()\ndown()"),
    "closes": (NOTHING, "import os\nos.closerange(3, 4096)"),
    "no modules": (NOTHING, "import sys\nfor name in list(sys.modules):\n"
                   "    if 'kafkalab' in name: del sys.modules[name]"),
    "no importers": (NOTHING, "import sys\nsys.meta_path.clear(); sys.path_hooks.clear(); sys.path.clear()"),
    "reads as right": (NOTHING, "import json\njson.loads = lambda *given, **named: {'solved': True, 'error': None}"),
    "threads": (NOTHING, "import threading, time\nfor _ in range(500):\n"
                "    try: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n"
                "    except RuntimeError: break"),
    "asyncio": (NOTHING, "import asyncio\nasync def stubborn(app, orders): await asyncio.sleep(99)"),
    "forks": (NOTHING, "import os\nwhile True:\n    try: os.fork()\n    except PermissionError: break"),
    "stops itself": (NOTHING, f"{LIBC}libc.raise_ = None\nlibc.kill(libc.getpid(), 19)"),
    "kills its parent": (NOTHING, f"{LIBC}libc.kill(libc.getppid(), 9)"),
    "kills its group": (NOTHING, f"{LIBC}libc.kill(0, 9)"),
    "stops its parent": (NOTHING, f"{LIBC}libc.kill(libc.getppid(), 19)\nlibc.kill(libc.getppid(), 18)"),
    "fills": (NOTHING, "kept = open('large', 'wb')\nfor _ in range(700):\n    kept.write(b'x' * 10**6)"),
    "links": (NOTHING, "import os\nos.symlink('/root', 'there')\nos.symlink('/proc/1/environ', 'here')\n"
              "e2 = os.listdir('there'), open('here').read()"),
}
"""None of these has earned a point."""
