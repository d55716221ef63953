"""Quantized ONNX operators, QOperator and QDQ: we are as near to onnxruntime as its levels of optimization are to each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import TransloadError

from . import Outcome
from ._by_tensor import told_wrongly
from ._onnx_graph import LEVELS, Graph, NoCaseError, Quantized
from ._onnx_steps import BETWEEN, ENDS, LINEAR, STEADY, Step

SAMPLE = 15
SHAPES = [(1, 3, 5, 4), (2, 4, 4, 6), (1, 1, 7, 7), (2, 4, 5), (3, 8), (5, 16), (2, 3, 4, 4), (1, 1), (6,), (1, 2, 1, 9)]


def draw(number: int, folder: Path) -> Outcome:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    graph = Graph(np.random.default_rng(number))
    form = graph.pick("QOperator", "QDQ")
    try:
        names, ends, allowed = _drawn(graph, LINEAR if form == "QOperator" else BETWEEN)
        levels = [graph.outputs([ends], level)[0] for level in LEVELS]
    except NoCaseError:
        return Outcome("not judged")
    file = folder / "model.onnx"
    file.write_bytes(graph.content([ends]))
    said = f"{form} {' '.join(names)}"
    try:
        hub = transload.legalize(transload.load(file))
        tosa = transload.lower(hub, "tosa")
    except TransloadError as error:
        return Outcome("refused", f"{said}: refused\n{error}")
    found = {
        "top": transload.run(hub, graph.feeds, engine="reference"),
        "tosa": transload.run(tosa, graph.feeds, engine="reference"),
    }
    if number % 8 == 0:
        found["xla"] = transload.run(hub, graph.feeds, engine="xla")
    apart = max(difference(one, other) for one in levels for other in levels)
    off = {way: min(difference(next(iter(made.values())), level) for level in levels) for way, made in found.items()}
    if max(off.values()) > max(apart, allowed):
        return Outcome(
            "wrong",
            f"{said}: not onnxruntime's\n{graph.feeds and next(iter(graph.feeds.values())).dtype}: {off} steps, "
            f"allowed {allowed:.3g}; its levels {apart} apart",
        )
    if number % 4 == 0 and (verdict := _verdict(file, folder)):
        return Outcome("verified wrongly", f"{said}: right, and {verdict}")
    if number % 10 == 5 and not names[-1].startswith("Dynamic"):
        made, steps = [name for node in graph.nodes for name in node.output], _steps(graph, ends, max(apart, allowed))
        for way, artifact in (("hub", hub), ("tosa", tosa)):
            if verdict := told_wrongly(file, artifact, graph.feeds, made, steps):
                return Outcome("told wrongly", f"{said}: right, and a tensor is told wrongly\n{way}: {verdict}")
    return Outcome("exact" if not max(off.values()) else "as near as the levels" if max(off.values()) <= apart else "a step")


def _drawn(graph: Graph, table: Mapping[str, Step]) -> tuple[list[str], str, float]:
    """A graph of one to three operators; their names, its output, and by how many of its steps that may be off.

    QLinear operators are exact. Each of those between DequantizeLinear and QuantizeLinear may be rounded to the next step, which
    the next ones may not make more: only such follow.
    """
    dtype = graph.pick("int8", "uint8", "int8", "uint8", "int16", "uint16")
    x = graph.result(graph.pick(*SHAPES), dtype, float(graph.pick(4.0, 1.0, 0.02, 60.0)))
    if graph.chance(0.5):
        given = graph.name("x")
        graph.feeds[given] = graph.values(x.shape, "float32")
        graph.add("QuantizeLinear", [given, *x.by], [x.name])
    else:
        graph.feeds[x.name] = graph.values(x.shape, dtype, x.zero)
    wanted, names, slack = graph.pick(1, 1, 2, 3), list[str](), 0.0
    for _ in range(9):
        last = len(names) == wanted - 1 and graph.chance(0.25)
        options: Mapping[str, Step] = ENDS if last and not slack else table
        name = graph.pick(*options)
        kept = len(graph.nodes), dict(graph.feeds)
        if names and options is BETWEEN and name not in STEADY:
            continue
        try:
            made = options[name](graph, x)
            graph.outputs([made.name if isinstance(made, Quantized) else made], LEVELS[0])
        except NoCaseError:
            del graph.nodes[kept[0] :]
            graph.feeds = kept[1]
            continue
        names.append(name)
        if not isinstance(made, Quantized):
            # what is quantized as it runs is divided in the hub, and multiplied by a reciprocal in TOSA: a step of 255, at times
            return names, made, 0.005 if name.startswith("Dynamic") else 0.0
        x = made
        slack += x.scale if table is BETWEEN or name == "requantized" else 0.0
        if len(names) == wanted:
            break
    if not names:
        raise NoCaseError("nothing goes here")
    return names, x.name, slack / x.scale * 1.0001


def _steps(graph: Graph, ends: str, allowed: float) -> dict[str, float]:
    """By how much each tensor may be off where the last, `ends`, may be by so many of its steps: a step of its own at least."""
    scales = dict[str, float]()
    for node in graph.nodes:
        if node.op_type == "QuantizeLinear":
            scales[node.output[0]] = float(graph.constants[node.input[1]])
    if not allowed or ends not in scales:
        return {}
    off = allowed * scales[ends]
    between = {name: off for node in graph.nodes for name in node.output}
    return {**between, **{name: max(1.0, off / scale) for name, scale in scales.items()}}


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """By how many steps integers are apart, or floats by how much of the greatest; infinite where shapes or types are others."""
    if found.shape != wanted.shape or found.dtype.kind != wanted.dtype.kind:
        return np.inf
    if wanted.dtype.kind == "f":
        most = np.abs(wanted).max(initial=0) or 1.0
        off = float((np.abs(found.astype(np.float64) - wanted) / most).max(initial=0))
        return 0.0 if off < 1e-5 else off
    return float(np.abs(found.astype(np.int64) - wanted.astype(np.int64)).max(initial=0))


def _verdict(file: Path, folder: Path) -> str:
    """What a verified conversion says of a right model, where it is wrong."""
    made = transload.convert(file, "tosa", folder / "out")
    assert made.verification is not None
    return str(made.verification) if made.verification.status == "failed" else ""
