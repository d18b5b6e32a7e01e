"""Write what pictures have of Python: `python -m tests.widgets.payload_types`.

The types of a payload, the words of faults and the colours: payload.ts, fault_words.ts and palette.css of pictures/src.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from kafkalab.faults.node import of_brokers_only
from kafkalab.faults.registry import FAULTS
from kafkalab.palette import declare_variables
from kafkalab.widgets.payload import types

TARGET = Path(__file__).parents[2] / "pictures" / "src" / "payload.ts"
FAULTS_TARGET = TARGET.with_name("fault_words.ts")
PALETTE_TARGET = TARGET.with_name("palette.css")
PALETTE_HEAD = "/* The colours of live pictures: those of kafkalab/palette.py, written by payload_types.py. */"
FAULTS_HEAD = "// The buttons of the faults and their words: those of kafkalab/faults, written by payload_types.py."
NAMES = {"int": "number", "str": "string", "bool": "boolean"}
HEAD = "// The types of a payload, unpacked: those of kafkalab/widgets/payload/types.py, written by payload_types.py."


def type_of(node: ast.expr) -> str:
    """Return an annotation in TypeScript."""
    match node:
        case ast.Name(name):
            return NAMES.get(name, name)
        case ast.Constant(None):
            return "null"
        case ast.BinOp(left, ast.BitOr(), right):
            return f"{type_of(left)} | {type_of(right)}"
        case ast.Subscript(ast.Name("list"), of):
            return f"{type_of(of)}[]" if isinstance(of, ast.Name) else f"Array<{type_of(of)}>"
        case ast.Subscript(ast.Name("tuple"), ast.Tuple(parts)):
            return f"[{', '.join(map(type_of, parts))}]"
        case ast.Subscript(ast.Name("dict"), ast.Tuple([key, of])):
            return f"Record<{type_of(key)}, {type_of(of)}>"
        case ast.Subscript(ast.Name("Literal"), of):
            words = of.elts if isinstance(of, ast.Tuple) else [of]
            return " | ".join(f'"{ast.literal_eval(word)}"' for word in words)
    raise ValueError(f"no TypeScript for {ast.unparse(node)}")


def alternatives(node: ast.expr) -> list[ast.expr]:
    """Return the types that `|` joins; [] for a type that it does not join."""
    if not isinstance(node, ast.BinOp):
        return []
    return [*(alternatives(node.left) or [node.left]), node.right]


def field(name: str, of: ast.expr, optional: bool) -> str:
    """Return a line of an interface."""
    if isinstance(of, ast.Subscript) and ast.unparse(of.value) == "NotRequired":
        optional, of = True, of.slice
    return f"\t{name}{'?' if optional else ''}: {type_of(of)};\n"


def declarations(body: list[ast.stmt]) -> Iterator[str]:
    """Return each type of the module in TypeScript, with its docstring."""
    for node, after in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.ClassDef(name, _, options, [ast.Expr(ast.Constant(str(told))), *rows]):
                lines = [field(r.target.id, r.annotation, bool(options)) for r in rows]  # type: ignore[attr-defined]
                yield f"// {told}\nexport interface {name} {{\n{''.join(lines)}}}\n"
            case ast.Assign([ast.Name(name)], ast.Call(_, [_, ast.Dict(keys, values)])):
                pairs = zip(keys, values, strict=True)
                lines = [field(key.value, of, False) for key, of in pairs]  # type: ignore[union-attr]
                yield f"export interface {name} {{\n{''.join(lines)}}}\n"
            case ast.AnnAssign(ast.Name(name), _, ast.expr() as of):
                told = f"// {ast.literal_eval(after.value)}\n" if isinstance(after, ast.Expr) else ""
                lines = [f"\n\t| {type_of(part)}" for part in alternatives(of)] or [f" {type_of(of)}"]
                yield f"{told}export type {name} ={''.join(lines)};\n"


def typescript() -> str:
    """Return the types in TypeScript."""
    source = ast.parse(Path(types.__file__).read_text(encoding="utf-8"))
    return "\n".join([HEAD + "\n", *declarations(source.body)])


def faults_in_typescript() -> str:
    """Return the buttons of all faults in TypeScript."""
    rows = [
        {
            "press": kind.press, "on": kind.target_kind, "label": kind.words.label, "title": kind.words.title,
            "details": list(kind.details), "other": kind.other, "number": list(kind.number or ()),
            "brokersOnly": of_brokers_only(kind), "requestsOnly": getattr(kind, "of_requests_only", False),
            "clientsOnly": getattr(kind, "of_clients_only", False), "apis": list(getattr(kind, "apis", ())),
            "variants": [{**one._asdict(), "details": dict(one.details)} for one in kind.variants],
        }
        for kind in FAULTS
        if kind.target_kind != "window"  # it has no button
    ]  # fmt: skip
    text = json.dumps(rows, indent="\t", ensure_ascii=False)
    return f"{FAULTS_HEAD}\n// biome-ignore-all format: it is written as JSON\nexport const FAULT_WORDS = {text};\n"


def palette_in_css() -> str:
    """Return the colours as variables of CSS."""
    return f"{PALETTE_HEAD}\n{declare_variables('.klab')}"


if __name__ == "__main__":
    TARGET.write_text(typescript(), encoding="utf-8")
    FAULTS_TARGET.write_text(faults_in_typescript(), encoding="utf-8")
    PALETTE_TARGET.write_text(palette_in_css(), encoding="utf-8")
