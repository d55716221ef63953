"""Quantized TFLite operators, one to three in a row: what is converted gives LiteRT's integers, in the hub and in TOSA."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

import transload
from transload.errors import TransloadError

from . import Outcome
from ._by_tensor import told_wrongly
from ._tflite_chain import Chain, Drawn, NoCaseError
from ._tflite_steps import FIRST, LAST, STEPS
from tests.support import tosa_reference
from tests.support.litert import run_litert

SAMPLE = 15
SHAPES = [(1, 4, 5, 3), (2, 5, 4, 2), (1, 7, 7, 4), (2, 3, 4), (3, 8), (6,), (1, 1), (1, 1, 1, 1), (2, 1, 3, 1), (1, 6, 1, 8)]
ROUNDED = {"DIV", "HARD_SWISH", "RESIZE_BILINEAR", "REDUCE_PROD", "SUM", "GELU", "ELU", "CEIL", "ROUND"}
"""What may be a step beside LiteRT's (tests/support/tflite_ops/tolerances.py): after these the chain ends."""

COMPARISONS = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
}


def draw(number: int, folder: Path) -> Outcome:
    chain = Chain(np.random.default_rng(number))
    dtype = chain.pick("int8", "int8", "int8", "uint8", "int16")
    try:
        x, names = _chain(chain, dtype)
    except NoCaseError:
        return Outcome("not judged")
    content, feeds = chain.content([x]), [chain.numbers(tensor) for tensor in chain.inputs]
    try:
        wanted = _wanted(chain, x, feeds)
    except (RuntimeError, ValueError):
        return Outcome("not judged")
    said = f"{' '.join(names)} of {dtype}"
    (folder / "model.tflite").write_bytes(content)
    steps = 1 if ROUNDED & {name for name, *_ in chain.operators} else 0
    try:
        source = transload.load(folder / "model.tflite")
        hub = transload.legalize(source)
        tosa = transload.lower(source, "tosa", int64="assumed")
    except TransloadError as error:
        return Outcome("refused", f"{said}: refused\n{error}")
    given = {str(value.name): array for value, array in zip(hub.body_of_main.arguments, feeds, strict=True)}
    ways = {
        "top": lambda: transload.run(hub, given, engine="reference"),
        "tosa": lambda: transload.run(tosa, given, engine="reference"),
    }
    if number % 8 == 0:
        ways["xla"] = lambda: transload.run(hub, given, engine="xla")
    if find_spec("tosa_reference_model") is not None and 0 not in [size for array in (*feeds, *wanted) for size in array.shape]:
        ways["tosa_reference_model"] = lambda: {"y": tosa_reference.run_module(tosa, feeds, "NONE")[0]}
    found = {way: next(iter(run().values())) for way, run in ways.items()}
    off = {way: difference(array, wanted[0]) for way, array in found.items()}
    if max(off.values()) > steps and all(difference(array, wanted[1]) <= steps for array in found.values()):
        return Outcome("as the usual kernels")
    if max(off.values()) > steps:
        return Outcome(
            "wrong",
            f"{said}: not LiteRT's\nsteps beside it: {off}, of the usual kernels beside it {difference(wanted[1], wanted[0])}",
        )
    if number % 4 == 0 and (verdict := _verdict(folder)) != "":
        return Outcome("verified wrongly", f"{said}: right, and {verdict}")
    if number % 10 == 5 and not _is_beyond_litert(chain):
        made = [str(result.name) for op in source.walk() if op.dialect == "tfl" for result in op.results if result.name]
        allowed = {str(source.body_of_main.terminator.operands[0].name): max(steps, difference(*wanted))}
        for way, artifact in (("hub", hub), ("tosa", tosa)):
            if verdict := told_wrongly(folder / "model.tflite", artifact, given, made, allowed):
                return Outcome("told wrongly", f"{said}: right, and a tensor is told wrongly\n{way}: {verdict}")
    flat = wanted[0].size > 4 and (wanted[0] == wanted[0].flat[0]).all()
    return Outcome("a step" if max(off.values()) else "exact, of one number" if flat else "exact")


def _chain(chain: Chain, dtype: str) -> tuple[Drawn, list[str]]:
    """One to three operators on an input of a type; one that does not go there is left out, and another drawn."""
    x = chain.quantized(chain.pick(*SHAPES), dtype, float(chain.pick(4.0, 1.0, 0.01, 500.0, 8.0)))
    if chain.chance(0.15):
        chain.inputs.append(given := Drawn(x.shape, "float32"))
        x = chain.add("QUANTIZE", [given], [x])
    else:
        chain.inputs.append(x)
    wanted, names = chain.pick(1, 1, 2, 3), list[str]()
    for _ in range(12):
        name = chain.pick(*FIRST) if chain.chance(0.15) else chain.pick(*STEPS)
        kept = len(chain.inputs), len(chain.operators)
        try:
            x = STEPS[name](chain, x)
        except NoCaseError:
            del chain.inputs[kept[0] :], chain.operators[kept[1] :]
            continue
        names.append(name)
        if len(names) == wanted or name in LAST or name in ROUNDED or not x.scales:
            break
    if not names:
        raise NoCaseError("nothing goes here")
    return x, names


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """By how many steps integers are apart, or floats beyond 1e-5 of the greatest; infinite where shapes are others."""
    if found.shape != wanted.shape:
        return np.inf
    if wanted.dtype.kind == "f":
        most = np.abs(wanted).max(initial=0) * 1e-5
        return float((np.abs(found - wanted) > most).sum())
    if found.dtype != wanted.dtype and found.dtype.itemsize == wanted.dtype.itemsize:
        found = found.view(wanted.dtype)
    return float(np.abs(found.astype(np.int64) - wanted.astype(np.int64)).max(initial=0))


def _wanted(chain: Chain, x: Drawn, feeds: list[np.ndarray]) -> list[np.ndarray]:
    """What LiteRT's reference and usual kernels give; of comparisons by scales of 1 and more, where they cannot, numpy."""
    name, operands, *_ = chain.operators[-1]
    given = [tensor for tensor in operands if tensor is not None]
    if not _is_beyond_litert(chain):
        return [run_litert(chain.content([x]), feeds, reference)[0] for reference in (True, False)]
    before = Chain(chain.random, chain.inputs, chain.operators[:-1])
    fed = {id(tensor): array for tensor, array in zip(chain.inputs, feeds, strict=True)}
    pairs = []
    for tensor in given:
        array = fed.get(id(tensor), tensor.data)
        stored = run_litert(before.content([tensor]), feeds)[0] if array is None else array
        pairs.append((stored.astype(np.int64) - tensor.zero) * np.float64(np.float32(tensor.scale)))
    return [COMPARISONS[name](*pairs)] * 2


def _is_beyond_litert(chain: Chain) -> bool:
    """Whether the last operator compares by scales of 1 and more, for which LiteRT has no multipliers."""
    name, operands, *_ = chain.operators[-1]
    return name in COMPARISONS and max(tensor.scale for tensor in operands if tensor is not None) >= 1


def _verdict(folder: Path) -> str:
    """What a verified conversion says of a right model, where it is wrong."""
    made = transload.convert(folder / "model.tflite", "tosa", folder / "out", options={"int64": "assumed"})
    assert made.verification is not None
    return str(made.verification) if made.verification.status == "failed" else ""
