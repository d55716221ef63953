# ruff: noqa: E501 - lines of programs
"""Runs generated ops in the reference engine and in XLA, many in one program, and compares their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import transload
from transload.ir import dtype_of
from transload.ir.types import ComplexType, FloatType, IntegerType, Type
from transload.text import parse_type

FLOATS = ("f8E4M3FN", "f8E5M2", "bf16", "f16", "f32", "f64")
SIGNED = ("i4", "i8", "i16", "i32", "i64")
UNSIGNED = ("ui4", "ui8", "ui16", "ui32", "ui64")
INTS = SIGNED + UNSIGNED
COMPLEX = ("complex<f32>", "complex<f64>")
TOLERANCE = {
    "f8E4M3FN": 0.13,
    "f8E5M2": 0.26,
    "bf16": 1.6e-2,
    "f16": 2e-3,
    "f32": 2e-5,
    "f64": 1e-9,
    "complex<f32>": 5e-5,
    "complex<f64>": 1e-8,
}


def tensor_type(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def ints(values: Any) -> str:
    values = list(values)
    return f"array<i64{': ' if values else ''}{', '.join(map(str, values))}>"


def pairs(values: Any) -> str:
    rows = [list(row) for row in values]
    return f"dense<{rows}> : tensor<{len(rows)}x2xi64>" if rows else "dense<> : tensor<0x2xi64>"


def body(op: str, element: str, n: int = 1) -> str:
    """A region that combines n pairs of scalars by `op`."""
    t = tensor_type((), element)
    arguments = ", ".join(f"%x{i}: {t}" for i in range(2 * n))
    lines = [f'%y{i} = "stablehlo.{op}"(%x{i}, %x{n + i}) : ({t}, {t}) -> {t}' for i in range(n)]
    returned = ", ".join(f"%y{i}" for i in range(n))
    return f"{{\n^bb0({arguments}):\n" + "\n".join(lines) + f'\n"stablehlo.return"({returned}) : ({", ".join([t] * n)}) -> ()\n}}'


def identity(combine: str, dtype: Any) -> np.ndarray:
    """What changes nothing when it is combined with a number."""
    if combine in ("add", "multiply"):
        return np.array(combine == "multiply").astype(dtype)
    if np.dtype(dtype).kind in "iu":
        return np.array(np.iinfo(dtype).min if combine == "maximum" else np.iinfo(dtype).max, dtype)
    return np.array(-np.inf if combine == "maximum" else np.inf).astype(dtype)


def comparator(direction: str, element: str, others: tuple[str, ...] = ()) -> str:
    t = tensor_type((), element)
    more = "".join(f", %o{i}: {tensor_type((), e)}, %p{i}: {tensor_type((), e)}" for i, e in enumerate(others))
    return (
        f'{{\n^bb0(%x: {t}, %y: {t}{more}):\n%z = "stablehlo.compare"(%x, %y) <{{comparison_direction = '
        f'#stablehlo<comparison_direction {direction}>}}> : ({t}, {t}) -> tensor<i1>\n"stablehlo.return"(%z) : (tensor<i1>) -> ()\n}}'
    )


def numbers(rng: np.random.Generator, shape: Sequence[int], element: str, low: float = -4, high: float = 4) -> np.ndarray:
    """Random numbers of an element type, integers over their whole range."""
    type_ = parse_type(element)
    dtype = dtype_of(type_)
    if isinstance(type_, ComplexType):
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(dtype)
    if isinstance(type_, FloatType):
        return rng.uniform(low, high, shape).astype(np.float32).astype(dtype)
    assert isinstance(type_, IntegerType)
    if type_.width == 1:
        return rng.integers(0, 2, shape).astype(np.bool_)
    least, most = type_.range
    if rng.integers(0, 2):  # often small ones, of which operands have something to do with each other
        least, most = max(least, -9), min(most, 9)
    return rng.integers(least, most, shape, endpoint=True, dtype=np.uint64 if type_.unsigned else np.int64).astype(dtype)


@dataclass
class Batch:
    """A program of many ops on arguments of its own; `run` compares each op's results."""

    arguments: list[tuple[str, np.ndarray]] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    results: list[tuple[str, str, str, float | None]] = field(default_factory=list)

    def argument(self, array: np.ndarray, element: str) -> str:
        """The name of a new argument, after its type: `%a0`."""
        self.arguments.append((tensor_type(np.shape(array), element), np.asarray(array)))
        return f"%a{len(self.arguments) - 1}"

    def type_of(self, name: str) -> str:
        return self.arguments[int(name[2:])][0]

    def op(
        self,
        name: str,
        operands: Sequence[str],
        result: str | Sequence[str],
        attributes: str = "",
        regions: str = "",
        tolerance: float | None = None,
        label: str = "",
    ) -> None:
        """Add an op; `tolerance` replaces that of the element type."""
        results = [result] if isinstance(result, str) else list(result)
        number = len(self.body)
        count = f":{len(results)}" if len(results) > 1 else ""
        properties = f" <{{{attributes}}}>" if attributes else ""
        region = f" ({regions})" if regions else ""
        types = ", ".join(self.type_of(operand) for operand in operands)
        self.body.append(
            f'%r{number}{count} = "stablehlo.{name}"({", ".join(operands)}){properties}{region} : ({types}) -> ({", ".join(results)})'
        )
        for index, type_ in enumerate(results):
            place = f"%r{number}#{index}" if count else f"%r{number}"
            self.results.append((place, type_, label or f"{name} {types} {attributes}", tolerance))

    def run(self) -> int:
        """Compare; returns how many ops were run."""
        parameters = ", ".join(f"%a{i}: {type_}" for i, (type_, _) in enumerate(self.arguments))
        types = [type_ for _, type_, _, _ in self.results]
        text = (
            f'"builtin.module"() ({{\n"func.func"() <{{function_type = ({", ".join(t for t, _ in self.arguments)}) -> ({", ".join(types)}), '
            f'sym_name = "main"}}> ({{\n^bb0({parameters}):\n'
            + "\n".join(self.body)
            + f'\n"func.return"({", ".join(place for place, *_ in self.results)}) : ({", ".join(types)}) -> ()\n}}) : () -> ()\n}}) : () -> ()\n'
        )
        module = transload.load(text=text, format="stablehlo")
        names = transload.ir.input_names(module.main)
        given = {name: array for name, (_, array) in zip(names, self.arguments, strict=True)}
        ours = list(transload.run(module, given).values())
        xla = list(transload.run(module, given, engine="xla").values())
        wrong = []
        for (_, type_, label, tolerance), mine, theirs in zip(self.results, ours, xla, strict=True):
            why = differs(mine, theirs, parse_type(type_).element, tolerance)  # type: ignore[attr-defined]
            if why:
                wrong.append(f"{label}: {why}")
        assert not wrong, f"{len(wrong)} of {len(self.body)} ops differ:\n" + "\n".join(wrong[:20])
        return len(self.body)


_NORMAL = float(np.finfo(np.float32).smallest_normal)
"""Numbers below it XLA flushes to 0 on processors."""


def differs(mine: Any, theirs: Any, element: Type, tolerance: float | None) -> str:
    """How two arrays differ, or nothing."""
    mine, theirs = (np.ascontiguousarray(x).reshape(np.shape(x)) for x in (mine, theirs))
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return f"{mine.dtype}{mine.shape} and {theirs.dtype}{theirs.shape}"
    if isinstance(element, FloatType | ComplexType) and tolerance != 0:
        wide = np.complex128 if isinstance(element, ComplexType) else np.float64
        a, b = mine.astype(wide), theirs.astype(wide)
        rtol = TOLERANCE[str(element)] if tolerance is None else tolerance
        scale = np.max(np.abs(b[np.isfinite(b)]), initial=0.0) if tolerance is not None else 0.0
        near = np.isclose(a, b, rtol=rtol, atol=rtol * max(scale, 1e-2), equal_nan=True)
    else:
        near = mine.reshape(-1).view(np.uint8) == theirs.reshape(-1).view(np.uint8) if mine.size else np.ones(0, bool)
        if mine.size:
            near = near.reshape(mine.size, -1).all(1).reshape(mine.shape)
            if isinstance(element, FloatType):
                near = near | (np.isnan(mine.astype(np.float64)) & np.isnan(theirs.astype(np.float64)))
                near = near | (np.asarray(theirs == 0) & (np.abs(mine.astype(np.float64)) < _NORMAL))
    if np.all(near):
        return ""
    at = tuple(np.argwhere(~np.atleast_1d(near))[0])
    return f"{np.sum(~near)} of {mine.size} elements, at {at} {np.atleast_1d(mine)[at]} and {np.atleast_1d(theirs)[at]}"
