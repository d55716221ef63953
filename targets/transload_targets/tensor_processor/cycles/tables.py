"""What layers and groups of a program cost: cycles, bytes, how full the lanes are, and what limits each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transload import memory

from ..codegen import Compiled
from .roofline import save_roofline
from .timeline import Span, Timeline, compulsory_bytes, roofline, unavoidable
from .trace import save_picture, save_trace

__all__ = ["cores", "groups", "layers", "save_all", "summary"]


def layers(made: Timeline) -> Iterator[dict[str, Any]]:
    """What each tensor of the model costs, in the order of the program: instructions, cycles, bytes, and what limits it.

    `utilisation` is the part of its computing cycles that full lanes would take; a layer is bound by `memory` where moving what
    it reads and writes takes longer than computing it.
    """
    found: dict[str, dict[str, Any]] = {}
    for span in made.spans:
        if span.instruction.operation == "barrier":  # it is for no layer
            continue
        _count(found.setdefault(span.instruction.name, _row(span.instruction.name)), span)
    yield from map(_judged, found.values())


def groups(compiled: Compiled, made: Timeline) -> Iterator[dict[str, Any]]:
    """The same of each layer group, with its first and last op, its slices and the bytes of a lane that it needs at once.

    `cores` says of each core that it is spread over which slices are its own, and how many cycles it computes.
    """
    found = []
    for number, group in enumerate(compiled.partition.groups):
        nodes = compiled.reading.network.nodes[group.start:group.end]
        runs = [compiled.plan.spread.slices(number, core) for core in range(group.cores)]
        found.append({**_row(nodes[0].name), "last": nodes[-1].name, "ops": len(nodes), "slices": str(group.slicing),
                      "local_bytes": group.peak,
                      "cores": [{"slices": f"{run.start} to {run.stop - 1}", "compute": 0.0} for run in runs]})
    for number, span in zip(compiled.group_of, made.spans, strict=True):
        _count(found[number], span)
        if span.instruction.queue == "tiu":
            found[number]["cores"][span.instruction.core]["compute"] += span.end - span.start
    yield from map(_judged, found)


def cores(made: Timeline) -> Iterator[dict[str, Any]]:
    """What each core does: cycles in which it computes and moves, and which part of what its lanes could compute they do."""
    for core in range(made.cores):
        own = made.of_core(core)
        yield {"compute": round(own.busy("tiu")), "move": round(own.busy("dma")),
               "utilisation": _told(own.ideal / made.cycles if made.cycles else 0.0)}


def summary(compiled: Compiled, made: Timeline) -> dict[str, Any]:
    """All of a program in some figures: cycles beside the roofline's bound, bytes beside those that have to be moved; of several
    cores how busy each is.
    """
    return {
        "cycles": round(made.cycles), "milliseconds": _told(made.cycles / made.chip.frequency_mhz / 1000),
        "roofline_cycles": round(roofline(compiled.program, made)),
        "unavoidable_cycles": round(unavoidable(compiled.program, made)), "utilisation": _told(made.utilisation),
        "bytes_moved": made.bytes, "compulsory_bytes": compulsory_bytes(compiled.program), "local_bytes": compiled.local.peak,
        "local_bytes_at_once": compiled.local.bound, "global_bytes": compiled.program.global_bytes,
        **({"cores": list(cores(made)), "barriers": len(compiled.plan.spread.barriers)} if made.cores > 1 else {})}


def save_all(compiled: Compiled, made: Timeline, directory: Path, stem: str) -> list[Path]:
    """Write what layers and groups cost, and pictures, into a folder; gives the files."""
    rows = list(layers(made))
    files = [directory / f"{stem}.{suffix}" for suffix in ("cycles.json", "trace.json", "time.svg", "roofline.svg", "memory.svg")]
    files[0].write_text(json.dumps({
        **summary(compiled, made), "groups": list(groups(compiled, made)), "layers": rows}, indent=1), encoding="utf-8")
    save_trace(made, files[1])
    save_picture(made, files[2], stem)
    save_roofline(rows, made.chip, files[3], f"{stem} on {made.chip.name}")
    if compiled.everywhere.plan is None:  # of nothing there is no picture
        return files[:4]
    memory.save_picture(compiled.everywhere.plan, files[4], f"{stem}: global memory beside weights, by commands of the DMA")
    return files


def _told(value: float) -> float:
    """A figure with as many digits as a model of a machine is good for."""
    return float(f"{value:.3g}")


def _row(name: str) -> dict[str, Any]:
    return {"name": name, "instructions": 0, "compute": 0.0, "move": 0.0, "bytes": 0, "ideal": 0.0}


def _count(row: dict[str, Any], span: Span) -> None:
    row["instructions"] += 1
    row["compute" if span.instruction.queue == "tiu" else "move"] += span.end - span.start
    row["bytes"] += span.bytes
    row["ideal"] += span.ideal


def _judged(row: dict[str, Any]) -> dict[str, Any]:
    row["utilisation"] = row["ideal"] / row["compute"] if row["compute"] else 0.0
    row["bound"] = "compute" if row["compute"] >= row["move"] else "memory"
    return row
