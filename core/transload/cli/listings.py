"""The commands that list what there is: plugins, targets, passes, ops, coverage."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from ..conversion import options_of
from ..errors import PluginFailure, UsageError
from ..ir import registry
from ..ir.declare import Required
from ..plugin_host import host
from ..roles import default_target
from ..suggest import nearest
from .answer import print_json
from .show import console, lines, prose, show_note, table

__all__ = ["coverage_command", "ops_command", "passes_command", "plugins_command", "targets_command"]


def plugins_command(json: bool) -> int:
    there = host()
    there.everything()
    if json:
        print_json([{**asdict(info), "error": info.error} for info in there.plugins])
        return 0
    rows = []
    for info in there.plugins:
        state: Any = Text("ok", "green")
        if info.error:
            state = Text(prose(info.error), "red")
        elif info.skipped:
            state = Text("left out by TRANSLOAD_PLUGINS", "yellow")
        brings = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in info.registered.items())
        rows.append((info.name, f"{info.distribution} {info.version}".strip(), brings, state))
    console().print(table(("plugin", "distribution", "brings", "state"), rows))
    return 0


def targets_command(name: str | None, json: bool) -> int:
    chosen = {name: host().get("targets", name)} if name is not None else host().targets
    rows = [_target(each, target) for each, target in chosen.items()]
    if json:
        print_json(rows)
        return 0
    out = console()
    if name is None:
        shown = [(row["name"] + " *" * row["default"], ", ".join(row["accepts"]), prose(row["doc"]), _readiness(row))
                 for row in rows]
        out.print(table(("target", "takes", "what it is", "here"), shown))
        out.print("* is converted for where no target is named; `transload targets NAME` tells its options")
        return 0
    (row,) = rows
    out.print(Text.assemble((row["name"], "bold"), f": {row['doc']}"))
    out.print(Text.assemble(f"takes {', '.join(row['accepts'])}; ", _readiness(row)))
    if row["options"]:
        options = [(f"{key}={each['default']}", each["type"], prose(each["doc"])) for key, each in row["options"].items()]
        out.print(table(("--option", "may be", "what it chooses"), options))
    return 0


def _target(name: str, target: Any) -> dict[str, Any]:
    """A target as plain data; one that fails is said to, and does not stop the list."""
    options: dict[str, Any] = {}
    try:
        options = {
            key: {"type": type_text(kind), "default": default, "doc": doc}
            for key, (kind, default, doc) in target.options().items()
        }
        unavailable = target.available()
    except PluginFailure as error:
        unavailable = error.message
    return {"name": name, "doc": target.doc, "accepts": list(target.accepts), "options": options, "unavailable": unavailable,
            "default": bool(getattr(target, "default", False))}


def _readiness(row: dict[str, Any]) -> Text:
    return Text(prose(row["unavailable"]), "yellow") if row["unavailable"] else Text("ready", "green")


def type_text(kind: type | tuple[str, ...]) -> str:
    """An option's type, or the words to choose from."""
    return " or ".join(kind) if isinstance(kind, tuple) else kind.__name__


def _declared(option: inspect.Parameter) -> dict[str, Any]:
    """An option of a pass: its type, and its default, or that there is none and it has to be given."""
    said: dict[str, Any] = {"type": getattr(option.annotation, "__name__", str(option.annotation))}
    return {**said, "required": True} if option.default is option.empty else {**said, "default": option.default}


def passes_command(json: bool) -> int:
    passes: list[dict[str, Any]] = []
    for p in host().passes.values():
        doc = p.doc
        declared: dict[str, Any] = {}
        try:
            declared = {
                key: _declared(option) for key, option in p.options().items()
            }
        except PluginFailure as error:  # likewise
            doc = error.message
        if p.at:
            doc += " (At the hub, in every conversion.)"
        passes.append({"name": p.name, "doc": doc, "at": p.at, "options": declared})
    conversions: list[dict[str, Any]] = [
        {
            "name": c.name, "from": c.source, "to": c.target, "doc": c.doc,
            "options": {
                key: {"type": type_text(kind), "default": default, "doc": doc}
                for key, (kind, default, doc) in options_of(c).items()
            },
        }
        for c in host().conversions.values() if c.extends is None
    ]
    if json:
        print_json({"passes": passes, "conversions": conversions})
        return 0
    out = console()
    out.print(
        table(
            ("pass", "options", "what it does"),
            [(p["name"], ", ".join(f"{k}={each.get('default', '(required)')}" for k, each in p["options"].items()),
              prose(p["doc"]))
             for p in passes],
        )
    )
    out.print()
    out.print(
        table(
            ("conversion", "from", "to", "what it does"),
            [(c["name"], c["from"], c["to"], prose(c["doc"])) for c in conversions],
        )
    )
    options = [
        (f"{key}={option['default']}", c["name"], option["type"], prose(option["doc"]))
        for c in conversions for key, option in c["options"].items()
    ]
    if options:
        out.print()
        out.print(table(("--option", "of", "may be", "what it chooses"), options))
    return 0


def ops_command(name: str, json: bool) -> int:
    owner_name = name.partition(".")[0]
    owner = registry.dialect(owner_name)
    if owner is None:
        names = registry.dialect_names()
        guess = nearest(owner_name, names)
        raise UsageError(
            f"no dialect is called {owner_name!r}",
            hint=f"dialects: {', '.join(names)}" + (f"; did you mean {guess!r}?" if guess else "") + host().absent(),
        )
    if "." in name:
        declaration = owner.ops.get(name)
        if declaration is None:
            guess = nearest(name, owner.ops)
            raise UsageError(
                f"{name} is not declared", hint=f"did you mean {guess}?" if guess else f"`transload ops {owner_name}` lists all"
            )
        chosen = [declaration]
    else:
        chosen = list(owner.ops.values())
    if json:
        print_json([describe(declaration) for declaration in chosen])
        return 0
    if "." in name:
        _show_op(describe(chosen[0]))
        return 0
    if not chosen:
        console().print(f"dialect {owner_name} declares no ops")
        return 0
    console().print(
        table(
            ("op", "operands", "attributes", "what it is"),
            [
                (
                    d.name,
                    ", ".join(s.name + ("…" if s.variadic else "?" if s.optional else "") for s in d.operands),
                    ", ".join(d.attributes),
                    prose(d.doc.split("\n\n")[0]),
                )
                for d in chosen
            ],
        )
    )
    return 0


def describe(declaration: Any) -> dict[str, Any]:
    """A declaration as plain data: what the reference page and `--json` show."""

    def slot(s: Any) -> dict[str, Any]:
        kind = "variadic" if s.variadic else "optional" if s.optional else "required"
        return {"name": s.name, "type": s.type.name, "kind": kind, "doc": s.doc}

    kernel = host().kernel(declaration.name)
    return {
        "name": declaration.name,
        "doc": declaration.doc,
        "traits": sorted(declaration.traits),
        "operands": [slot(s) for s in declaration.operands],
        "results": [slot(s) for s in declaration.results],
        "attributes": [
            {"name": key, "type": a.kind.name, "default": _default_text(a.default), "doc": a.doc}
            for key, a in declaration.attributes.items()
        ],
        "regions": [{"name": r.name, "doc": r.doc} for r in declaration.regions],
        "constraints": [c.doc for c in declaration.constraints],
        "infers_types": declaration.infer is not None,
        "has_kernel": kernel is not None,
    }


def _default_text(default: Any) -> Any:
    """A default as it can be shown; one that is computed from the op, by what its function is called."""
    if isinstance(default, Required):
        return "required"
    if not callable(default):
        return default
    return default.__name__.strip("_").replace("_", " ") if hasattr(default, "__name__") else repr(default)


def _show_op(op: dict[str, Any]) -> None:
    out = console()
    out.print(Text(op["name"], "bold"))
    out.print(lines(op["doc"]))
    for part in ("operands", "results"):
        if op[part]:
            out.print()
            out.print(table((part[:-1], "", "type", ""), [(s["name"], s["kind"], s["type"], prose(s["doc"])) for s in op[part]]))
    if op["attributes"]:
        out.print()
        attributes = [(a["name"], a["type"], a["default"], prose(a["doc"])) for a in op["attributes"]]
        out.print(table(("attribute", "type", "default", ""), attributes))
    if op["constraints"]:
        out.print()
        out.print(table(("constraints",), [(prose(c),) for c in op["constraints"]]))


def coverage_command(source: str | None, target: str | None, json: bool) -> int:
    from ..coverage_report import coverage, reached, sources

    target = default_target().name if target is None else target
    every = {}
    for each in [source] if source is not None else sources(target):
        try:
            every[each] = coverage(each, target)
        except UsageError as error:
            if source is not None:
                raise
            # What declares the ops of one dialect is not installed: the others are told.
            show_note(f"{each} is left out: {error.message}; {error.hint}")
    if not every:
        raise UsageError(f"no conversions lead from what readers give to {target!r}", hint=reached(target))
    if json:
        print_json([row for rows in every.values() for row in rows])
        return 0
    for each, rows in every.items():
        _show_coverage(each, target, rows)
    return 0


def _show_coverage(source: str, target: str, rows: Sequence[dict[str, Any]]) -> None:
    from ..coverage_report import evidence, first_reached

    out = console()
    reached = first_reached(source, target)
    halfway = f"as far as {reached}" if reached is not None else ""
    measured = any(row["evidence"] for row in rows)
    asked = any(row["taken"] is not None for row in rows)
    columns = ("op", "covered", *(["measured"] if measured else []), *(["taken of cases"] if asked else []), "why not")
    lines = [
        (
            row["op"], Text(f"yes, {halfway}" if halfway and not row["evidence"] else "yes", "green") if row["covered"]
            else Text("no", "red"),
            *([_measured(row["evidence"])] if measured else []), *([_taken(row)] if asked else []), prose(row["why"]),
        )
        for row in rows
    ]
    out.print(table(columns, lines))
    done = sum(row["covered"] for row in rows)
    unknown = sum(row["covered"] and not row["evidence"] for row in rows) if halfway else 0
    out.print(f"{done} of {len(rows)} ops of {source} have a way to {target}" + (
        f", {unknown} of them known {halfway}: the steps behind it take what is made of a model there" if unknown else ""))
    if measured:
        out.print(evidence(source, target)["judge"])
    if target in host().targets and not asked:
        out.print(f"what {target} itself takes was not measured; `transload inspect MODEL --target {target}` says it of a model")


def _taken(row: dict[str, Any]) -> str:
    """In which number formats a target took how many of the cases of an op: `i8 12/12, i16 3/9`."""
    cells = row["evidence"]
    return ", ".join(  # evidence that a plugin wrote may lack the cases of a format
        f"{name} {count}" + (f"/{cells[name]['cases']}" if name in cells else "") for name, count in row["taken"].items())


def _measured(cells: dict[str, Any]) -> str:
    """What was measured of an op: the verdicts, each with the number formats that it is about."""
    from ..coverage_report import verdict

    formats: dict[str, list[str]] = {}
    for name, cell in cells.items():
        if cell["cases"]:
            formats.setdefault(verdict(cell), []).append(name)
    return "; ".join(f"{found}: {' '.join(names)}" for found, names in formats.items())
