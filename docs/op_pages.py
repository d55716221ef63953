"""The reference of ops: a page for each dialect, which lists its ops, and a page for each op.

An op's page says what its declaration says, and where in the source it is executed, simplified, laid out and converted: all that
plugins have registered of it.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from pathlib import Path
from typing import Any

from tables import table

from transload.cli.listings import describe
from transload.context import current
from transload.errors import TransloadError
from transload.ir import registry
from transload.plugin_host import host
from transload_hub.network import call_of

__all__ = ["write_dialect"]


def write_dialect(folder: Path, name: str, title: str) -> None:
    """Write `name.md` and `name/OP.md` for every op of a dialect."""
    dialect = registry.dialect(name)
    ops = {op_name: describe(dialect.ops[op_name]) for op_name in sorted(dialect.ops)}
    rows = [[f"[`{short(op_name)}`]({name}/{short(op_name)}.md)", first_sentence(op["doc"])] for op_name, op in ops.items()]
    (folder / f"{name}.md").write_text(
        f"# {title}: `{name}`\n\n{dialect.doc}\n\n{len(ops)} ops.\n\n{table(['op', 'what it is'], rows)}", encoding="utf-8")
    pages = folder / name
    pages.mkdir(exist_ok=True)
    for op_name, op in ops.items():
        (pages / f"{short(op_name)}.md").write_text(op_page(name, op), encoding="utf-8")


def short(op_name: str) -> str:
    """An op's name without its dialect."""
    return op_name.partition(".")[2]


def first_sentence(doc: str) -> str:
    """The first paragraph of a docstring, to the end of its first sentence."""
    paragraph = doc.split("\n\n")[0].replace("\n", " ")
    sentence, stop, _ = paragraph.partition(". ")
    return sentence + stop.strip()


def op_page(dialect: str, op: dict[str, Any]) -> str:
    """Everything that is known of an op; `op` is what `describe` says of its declaration."""
    parts = [f"# {op['name']}\n", f"An op of [`{dialect}`](../{dialect}.md).\n", f"{op['doc']}\n"]
    if dialect == current().host.in_role("hub").name:
        parts.append(f"```python\n{call(op['name'])}\n```\n")
        parts.append("As [networks in Python](../../network.md) call it.\n")
    for part in ("operands", "results"):
        if op[part]:
            parts.append(f"## {part.capitalize()}\n")
            parts.append(table(["", "", "type", ""], [[f"`{s['name']}`", s["kind"], s["type"], s["doc"]] for s in op[part]]))
    if op["attributes"]:
        parts.append("## Attributes\n")
        rows = [[f"`{a['name']}`", a["type"], a["default"], a["doc"]] for a in op["attributes"]]
        parts.append(table(["", "type", "default", ""], rows))
    if op["regions"]:
        parts.append("## Regions\n")
        parts.append(table(["", ""], [[f"`{region['name']}`", region["doc"]] for region in op["regions"]]))
    if op["constraints"]:
        parts.append("## What must hold\n")
        parts.append("\n".join(f"- {text}" for text in op["constraints"]) + "\n")
    if op["traits"]:
        parts.append(f"Traits: {', '.join(op['traits'])}.\n")
    known = [*facts_of(op["name"]), *conversions_of(op["name"])]
    if known:
        parts.append("## In the source\n")
        parts.append(table(["", "", ""], known))
    return "\n".join(parts)


def call(op_name: str) -> str:
    """How the function of a hub's op is called, in lines of a readable width."""
    function = f"ops.{short(op_name)}"
    parameters = [str(parameter) for parameter in call_of(registry.lookup(op_name)).parameters.values()]
    star = next((i for i, each in enumerate(call_of(registry.lookup(op_name)).parameters.values())
                 if each.kind is inspect.Parameter.KEYWORD_ONLY), len(parameters))
    if not any(each.startswith("*") for each in parameters):
        parameters.insert(star, "*")
    return textwrap.fill(f"{function}({', '.join(parameters)})", 100, subsequent_indent=" " * (len(function) + 1))


def facts_of(op_name: str) -> list[list[str]]:
    """What is registered of an op, as rows: the kind of fact, the function or what stands for one, what it is."""
    rows = []
    for kind in host().fact_kinds.values():
        fact = host().facts(kind.name)[op_name]
        for one in fact if isinstance(fact, list) else [fact]:
            if one is not None:
                rows.append([kind.name, place_of(one), kind.says])
    return rows


def conversions_of(op_name: str) -> list[list[str]]:
    """The conversions that rewrite an op, as rows: the conversion, the function, where it leads."""
    rows = []
    for conversion in host().conversions.values():
        if conversion.extends is not None:
            continue
        try:
            functions = host().table(conversion.name).functions.get(op_name, [])
        except TransloadError:
            continue
        rows += [[f"conversion `{conversion.name}`", place_of(one), f"to `{conversion.target}`"] for one in functions]
    return rows


def place_of(thing: Any) -> str:
    """Where something is written: `module.function`; its class where it is no function, the reason where it is a refusal."""
    if isinstance(thing, tuple):  # a function and how it is called
        thing = thing[0]
    if hasattr(thing, "why"):
        return f"refused: {thing.why}"
    function = written(thing)
    if function is not None:
        return f"`{function.__module__}.{function.__qualname__}`"
    return f"`{type(thing).__module__}.{type(thing).__qualname__}`"


def written(thing: Any) -> Any:
    """The function or class of a module that something is or was made from; None where there is none."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    if inspect.isclass(thing) or (inspect.isfunction(thing) and "<locals>" not in thing.__qualname__):
        return thing
    if not inspect.isfunction(thing):
        return None
    inside = [cell.cell_contents for cell in thing.__closure__ or ()]
    return next((found for one in inside if inspect.isfunction(one) and (found := written(one)) is not None), None) or (
        thing if thing.__name__ == "<lambda>" else None)
