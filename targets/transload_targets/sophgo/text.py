"""A module of the hub as TPU-MLIR's Top dialect: text in MLIR's generic form, and the weights by name.

Everything is a float of 32 bits there (state `TOP_F32`): quantized tensors are the numbers that they stand for, rounded to their
steps by operators of their own, or, where TPU-MLIR is to compute with integers, by the ranges in the calibration table. Source:
TPU-MLIR's manual, chapters 3 and 13, and its `MLIRImporter.py` (attributes of the module).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from transload.engine.quantized import dequantize
from transload.errors import Finding, Unsupported, merge_findings
from transload.ir import Module, Op, Value, input_names, is_absent
from transload.ir.build import constant_of
from transload.ir.names import FreshNames
from transload_hub.scales import halves_up

from .integers import need_whole
from .operators import OPERATORS

__all__ = ["Writer", "Written", "calibration_text", "findings_of", "is_text", "precision_text", "written"]

HEAD = ('module @"{name}" attributes {{module.weight_file = "{weights}", module.platform = "ONNX", module.state = "TOP_F32", '
        'module.chip = "ALL", module.top_run_mode = "STATIC"}} {{')
_STATE = re.compile(rb'\bmodule\.state = "(?:TOP|TPU)_')


MOVES = ("Permute", "Reshape", "Slice", "MaxPool", "Gather", "Upsample", "Depth2Space")
"""Operators that give no other numbers than they take."""


@dataclass(frozen=True)
class Written:
    """A module as TPU-MLIR takes it."""

    text: str
    weights: dict[str, np.ndarray]
    ranges: dict[str, tuple[float, float]]
    """Of quantized tensors: the least and the greatest number that they can be."""
    names: tuple[str, ...]
    """Of all tensors but weights, in order."""
    floats: tuple[str, ...]
    """Tensors that are computed in floats where others are in integers: they, or what they are computed of, have no range."""


@dataclass
class Writer:
    """Operators one after the other; operands are names of values, `%3`."""

    lines: list[str] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    rounds: bool = True
    """Whether quantized results are rounded to their steps, as they are where nothing else does it."""
    none: str = "%none"

    def __post_init__(self) -> None:
        self._values: dict[Value, str] = {}
        self._types: dict[str, str] = {self.none: "none"}
        self._fresh = FreshNames()
        self._locations: dict[str, str] = {}
        self._computed: dict[str, list[str]] = {}
        """What a tensor is computed of, by names."""

    def _own(self, name: str) -> str:
        """A name that nothing else has, without the spaces that separate columns in TPU-MLIR's tables."""
        return self._fresh(re.sub(r"[ \t]+", "_", name))

    # --- values

    def value(self, value: Value) -> str:
        """The name of a value; a constant becomes a weight where it is first used."""
        if value in self._values:
            return self._values[value]
        array = self.constant(value)
        if array is None:
            raise Unsupported(f"{value.type} is computed by an op that has no operator in TPU-MLIR")
        made = self._values[value] = self.weight(array, value.name or "weight")
        return made

    def constant(self, value: Value) -> np.ndarray | None:
        """The numbers of a constant, in floats; None of what is computed."""
        dense = constant_of(value)
        if dense is None:
            return None
        array = dense.numpy()
        quant = value.quant
        return np.asarray(dequantize(array, quant) if quant is not None else array, np.float32)

    def weight(self, array: np.ndarray, name: str) -> str:
        """A weight, which lies in the file under a name of its own."""
        held = np.ascontiguousarray(array if array.ndim else array.reshape(1), np.float32)
        name = self._own(name)
        self.weights[name] = held
        return self._line("Weight", [], _type(held.shape), {}, name)

    def bind(self, value: Value, made: str) -> None:
        """Say which value an op's result is."""
        self._values[value] = made

    @property
    def names(self) -> tuple[str, ...]:
        """See `Written`."""
        return tuple(self._computed)

    @property
    def floats(self) -> tuple[str, ...]:
        """See `Written`."""
        unknown = self._computed.keys() - self.ranges.keys()
        return tuple(name for name, of in self._computed.items() if name in unknown or not unknown.isdisjoint(of))

    # --- operators

    def emit(self, name: str, operands: Sequence[str], result: Value, attributes: Mapping[str, str] | None = None) -> str:
        """An operator that gives a value of the model, under its name."""
        own = self._own(result.name or (result.op.origin if result.op is not None and result.op.origin else name))
        type_, quant = _type(_sizes(result)), result.quant
        if quant is None or not quant.per_tensor:
            return self._line(name, operands, type_, attributes or {}, own)
        self.ranges[own] = quant_range(result)
        if not self.rounds or name in MOVES:
            return self._line(name, operands, type_, attributes or {}, own)
        return self._steps(self._line(name, operands, type_, attributes or {}, self._own(f"{own}_real")), result, own)

    def quantize(self, made: str, result: Value, up: bool = False) -> str:
        """A value as the result of an op that only quantizes it: rounded to its steps, or with its range in the table.

        Where it is rounded here, `up` says that halves go up, and not away from zero.
        """
        if not self.rounds:
            self.ranges.setdefault(self._locations[made], quant_range(result))
            return made
        own = self._own(result.name or (result.op.origin if result.op is not None and result.op.origin else "quantized"))
        self.ranges[own] = quant_range(result)
        return self._steps(made, result, own, up)

    def _steps(self, made: str, result: Value, own: str, up: bool = False) -> str:
        """Real numbers rounded to the steps of a quantized result, and cut off where its integers end; `up`: see `HalvesUp`."""
        type_, quant = _type(_sizes(result)), result.quant
        assert quant is not None  # both callers ask
        ends = (float(stored - quant.zero_point) for stored in (quant.storage_min, quant.storage_max))
        steps: list[tuple[str, dict[str, float]]] = [
            ("MulConst", {"const_val": 1.0 / quant.scale}), ("Round", {}), ("Clip", dict(zip(("min", "max"), ends, strict=True)))]
        if up:
            by = halves_up(quant)
            steps = [
                ("AddConst", {"const_val": -float(by.low[0])}), ("MulConst", {"const_val": float(by.twice[0])}),
                ("Clip", {"min": 0.0, "max": by.most}), ("Floor", {}),
                ("AddConst", {"const_val": by.moved - 2 * quant.zero_point}), ("MulConst", {"const_val": 0.5}), ("Floor", {})]
        for step, numbers in steps:
            more = {key: self.attribute(number, "f64") for key, number in numbers.items()}
            made = self._line(step, [made], type_, more, self._own(f"{own}_{step.lower()}"))
        return self._line("MulConst", [made], type_, {"const_val": self.attribute(quant.scale, "f64")}, own)

    def inner(
        self, name: str, operands: Sequence[str], shape: Sequence[int], op: Op, attributes: Mapping[str, str] | None = None,
        suffix: str = "_part",
    ) -> str:
        """An operator on the way to a result of an op."""
        return self._line(name, operands, _type(shape), attributes or {}, self._own(f"{op.origin or name}{suffix}"))

    def reshape(self, made: str, result: Value, shape: Sequence[int]) -> str:
        """A value in another shape, under the name of a result."""
        return self.emit("Reshape", [made], result, {"shape": self.attribute(shape or (1,), "ints")})

    def attribute(self, given: Any, kind: str) -> str:
        """An attribute as text: `i64`, `si32`, `f64`, `bool`, `str`, or arrays, `ints` and `f64s`."""
        if kind in ("ints", "f64s"):
            return "[" + ", ".join(self.attribute(each, "f64" if kind == "f64s" else "i64") for each in given) + "]"
        if kind == "f64":
            return f"{_float(float(given))} : f64"
        if kind == "bool":
            return "true" if given else "false"
        return f'"{given}"' if kind == "str" else f"{int(given)} : {kind}"

    def _line(self, name: str, operands: Sequence[str], type_: str, attributes: Mapping[str, str], location: str) -> str:
        made = f"%{len(self._types)}"
        self._types[made], self._locations[made] = type_, location
        said = ", ".join(f"{key} = {value}" for key, value in attributes.items())
        types = ", ".join(self._types[operand] for operand in operands)
        given = f" {{{said}}}" if said else ""
        if name in MOVES and self._locations.get(operands[0]) in self.ranges:
            self.ranges.setdefault(location, self.ranges[self._locations[operands[0]]])
        if name != "Weight":
            self._computed[location] = [self._locations[each] for each in operands if each in self._locations]
        self.lines.append(f'{made} = "top.{name}"({", ".join(operands)}){given} : ({types}) -> {type_} loc({_quoted(location)})')
        return made

    def argument(self, number: int, value: Value, name: str) -> None:
        """An input of the model."""
        self._types[f"%args{number}"] = _type(_sizes(value))
        own = self._own(name)
        if value.quant is not None and value.quant.per_tensor:
            self.ranges[own] = quant_range(value)
        self._values[value] = self._line("Input", [f"%args{number}"], _type(_sizes(value)), {}, own)


def quant_range(value: Value) -> tuple[float, float]:
    """The least and greatest number that a quantized tensor can be."""
    quant = value.quant
    assert quant is not None  # it is quantized
    low, high = ((stored - quant.zero_point) * quant.scale for stored in (quant.storage_min, quant.storage_max))
    return float(low), float(high)


def _quoted(text: str) -> str:
    """A text as MLIR writes it: its UTF-8, with backslashes, quotes and what does not print by their hexadecimal digits."""
    plain = set(range(0x20, 0x7F)) - set(b'"\\')
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:02X}" for byte in text.encode(errors="replace")) + '"'


def _float(number: float) -> str:
    """A number as MLIR reads it."""
    if np.isinf(number):
        return "3.4028234663852886E+38" if number > 0 else "-3.4028234663852886E+38"
    return f"{number:.17E}"


def _sizes(value: Value) -> tuple[int, ...]:
    shape = value.known_shape
    if shape is None or None in shape:
        raise Unsupported(f"{value.type} has sizes that are known only when the model runs")
    return tuple(shape)


def _type(shape: Sequence[int]) -> str:
    """A tensor of floats; TPU-MLIR has none of rank 0."""
    return f"tensor<{'x'.join(map(str, shape or (1,)))}xf32>"


def _all_ops(module: Module) -> list[Op]:
    block = module.body_of_main
    return [op for op in block if op is not block.terminator and not (
        op.results and (constant_of(op.results[0]) is not None or is_absent(op.results[0])))]


def findings_of(module: Module) -> list[Finding]:
    """Everything in a module that has no operator in TPU-MLIR."""
    return _write(module, "model", "weights.npz")[1]


def written(module: Module, name: str, weights: str, rounds: bool = True) -> Written:
    """A module as TPU-MLIR takes it; its weights lie in the file `weights`, beside the text. `rounds`: see `Writer`."""
    made, findings = _write(module, name, weights, rounds)
    assert made is not None and not findings  # `check` has asked
    return made


def _write(module: Module, name: str, weights: str, rounds: bool = True) -> tuple[Written | None, list[Finding]]:
    to, findings = Writer(rounds=rounds), list[Finding]()
    block = module.body_of_main
    for number, (argument, said) in enumerate(zip(block.arguments, input_names(module.main), strict=True)):
        to.argument(number, argument, said)
    for op in _all_ops(module):
        function = OPERATORS.get(op.name)
        names = (op.origin,) if op.origin else ()
        if function is None:
            findings.append(Finding(op.name, "has no operator in TPU-MLIR that it is", names))
            continue
        try:
            need_whole(op)
            made = function(op, to)
        except Unsupported as why:
            if all(value in to._values or constant_of(value) is not None or is_absent(value) for value in op.operands):
                findings.append(Finding(op.name, why.why, names, why.hint))
            continue
        for result, each in zip(op.results, (made,) if isinstance(made, str) else made, strict=True):
            to.bind(result, each)
    if findings:
        return None, merge_findings(findings)
    return Written(_module(module, to, name, weights), to.weights, to.ranges, to.names, to.floats), []


def _module(module: Module, to: Writer, name: str, weights: str) -> str:
    block = module.body_of_main
    arguments = ", ".join(f"%args{number}: {_type(_sizes(value))} loc(unknown)" for number, value in enumerate(block.arguments))
    ends = [to.value(value) for value in block.terminator.operands]
    types = [_type(_sizes(value)) for value in block.terminator.operands]
    lines = [
        HEAD.format(name=name, weights=weights), f"  func.func @main({arguments}) -> ({', '.join(types)}) {{",
        f'    {to.none} = "top.None"() : () -> none loc(unknown)', *(f"    {line}" for line in to.lines),
        f"    return {', '.join(ends)} : {', '.join(types)} loc(unknown)", "  } loc(unknown)", "} loc(unknown)", ""]
    return "\n".join(lines)


def is_text(head: bytes, path: Path) -> bool:
    """Whether a file begins as a module of TPU-MLIR does, whose operators have the names of the hub's and other attributes."""
    return _STATE.search(head) is not None and b"module.platform = " in head


def calibration_text(made: Written) -> str:
    """A calibration table (manual, chapter 5): name, threshold, least, greatest.

    TPU-MLIR wants a line for tensors that stay float, too, and does not use it.
    """
    lines = ["# op_name    threshold    min    max"]
    ranges = made.ranges | {name: (-1.0, 1.0) for name in made.floats if name not in made.ranges}
    lines += [f"{name} {max(abs(low), abs(high)):.7f} {low:.7f} {high:.7f}" for name, (low, high) in ranges.items()]
    return "\n".join([*lines, ""])


def precision_text(made: Written) -> str:
    """A quantize table (manual, chapter 5) of what stays float in a quantized model; empty where nothing does."""
    return "\n".join(["# op_name quantize_mode", *(f"{name} F32" for name in made.floats), ""]) if made.floats else ""

