"""Every op of the hub that has dimensions among its attributes: counted from the end they are the same dimensions everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import Module
from transload.testing import build_op
from transload_hub.ops import TOP
from transload_targets.coreml.check import _emitted
from transload_targets.coreml.program import Program, Wire

NEEDS = {"onnx": "onnxruntime", "tflite": "ai_edge_litert", "stablehlo": "jaxlib", "tosa": "numpy"}
_SHAPE, _RANK = (2, 3, 4), 3
_NAMES = ("axis", "axes", "seq_axis", "batch_axis")

Operands = Callable[[int], list[np.ndarray | None]]


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng([*shape, 5]).normal(size=shape).astype(np.float32)


def _x(axis: int) -> list[np.ndarray | None]:
    return [_numbers(*_SHAPE)]


def _with_scales(count: int) -> Operands:
    """Beside the tensor so many others, of the shape from an axis on."""
    return lambda axis: [_numbers(*_SHAPE), *(_numbers(*_SHAPE[axis:]) for _ in range(count))]


def _one_of_size_one(axis: int) -> list[np.ndarray | None]:
    return [_numbers(*(1 if place == axis else size for place, size in enumerate(_SHAPE)))]


def _taken(axis: int) -> list[np.ndarray | None]:
    return [_numbers(*_SHAPE), np.array([1, 0], np.int64)]


def _elements(*more: np.ndarray) -> Operands:
    places = np.random.default_rng(3).permuted(np.tile(np.arange(2), (2, 2, 1)), axis=2)  # each element once, whatever the axis
    return lambda axis: [_numbers(*_SHAPE), np.moveaxis(places, 2, axis).astype(np.int64), *more]


def _along(axis: int) -> list[np.ndarray | None]:
    """Lengths for the other dimension that `ReverseSequence` names."""
    batch = (axis + 1) % _RANK
    return [_numbers(*_SHAPE), np.arange(1, _SHAPE[batch] + 1).clip(max=_SHAPE[axis]).astype(np.int64)]


def _one_hot(axis: int) -> list[np.ndarray | None]:
    return [np.array([[0, 2], [1, 3]], np.int64), np.array(2.0, np.float32), np.array(-1.0, np.float32)]


_CASES: dict[str, tuple[Operands, Callable[[int], dict[str, Any]]]] = {
    "Arg": (_x, lambda axis: {"mode": "ArgMax"}),
    "Concat": (lambda axis: [_numbers(*_SHAPE), _numbers(*_SHAPE) + 1], lambda axis: {}),
    "CumSum": (_x, lambda axis: {"reverse": True}),
    "Gather": (_taken, lambda axis: {}),
    "GatherElements": (_elements(), lambda axis: {}),
    "LayerNorm": (_with_scales(2), lambda axis: {}),
    "Normalize": (_x, lambda axis: {}),
    "OneHot": (_one_hot, lambda axis: {"depth": 4}),
    "Pack": (lambda axis: [_numbers(2, 4), _numbers(2, 4) + 1], lambda axis: {}),
    "RMSNorm": (_with_scales(1), lambda axis: {}),
    "Reduce": (_x, lambda axis: {"mode": "ReduceSum", "keepdims": False}),
    "Reverse": (_x, lambda axis: {}),
    "ReverseSequence": (_along, lambda axis: {}),
    "Roll": (_x, lambda axis: {"shifts": (1,)}),
    "ScatterElements": (_elements(_numbers(2, 2, 2)), lambda axis: {}),
    "Softmax": (_x, lambda axis: {}),
    "Split": (_x, lambda axis: {"split_size": (1, _SHAPE[axis] - 1)}),
    "Squeeze": (_one_of_size_one, lambda axis: {}),
    "TopK": (_x, lambda axis: {"k": 2}),
    "Unpack": (_x, lambda axis: {}),
    "Unsqueeze": (lambda axis: [_numbers(2, 4)], lambda axis: {}),
}
"""Operands for an axis counted from the front, and the other attributes."""


def _named() -> Iterator[tuple[str, set[str]]]:
    for name, declared in TOP.ops.items():
        if found := set(_NAMES) & set(declared.attributes):
            yield name.removeprefix("top."), found


def test_all_of_them_are_here() -> None:
    assert {name for name, _ in _named()} == set(_CASES)


def _module(name: str, axis: int, offset: int) -> tuple[Module, dict[str, np.ndarray]]:
    """The op along an axis, `offset` added to what it says; and its inputs."""
    operands, others = _CASES[name]
    arrays, attributes = operands(axis), others(axis)
    if name == "ReverseSequence":
        attributes |= {"seq_axis": axis + offset, "batch_axis": (axis + 1) % _RANK + offset}
    elif "axes" in dict(_named())[name]:
        attributes["axes"] = (axis + offset,)
    else:
        attributes["axis"] = axis + offset
    constant = range(1, len(arrays)) if name in ("OneHot", "GatherElements", "ScatterElements") else ()
    module = build_op(f"top.{name}", *arrays, constant=tuple(constant), **attributes)
    given = [array for place, array in enumerate(arrays) if array is not None and place not in constant]
    return module, dict(zip(module.inputs, given, strict=True))


def _found(module: Module, given: dict[str, np.ndarray], target: str, out: Path) -> list[np.ndarray]:
    """What the artifact computes."""
    transload.convert(module, target, out, verify=False)
    return list(transload.run(out, given).values())


@pytest.mark.parametrize("name", _CASES)
@pytest.mark.parametrize("target", NEEDS)
def test_from_the_end_as_from_the_front(name: str, target: str, tmp_path: Path) -> None:
    """TFLite's ONE_HOT had the axis as it was said, and LiteRT takes no negative one but -1."""
    pytest.importorskip(NEEDS[target])
    for axis in range(_RANK):
        (module, given), (turned, _) = _module(name, axis, 0), _module(name, axis, -_RANK)
        wanted = _found(module, given, target, tmp_path / f"{axis}")
        found = _found(turned, given, target, tmp_path / f"{axis}-")
        for one, other, mine in zip(wanted, found, transload.run(turned, given).values(), strict=True):
            np.testing.assert_array_equal(other, one)
            np.testing.assert_allclose(other, mine, rtol=1e-5, atol=1e-5)


def _calls(module: Module) -> str:
    """What Core ML is to call, or why it cannot."""
    program, block = Program(), module.body_of_main
    program.values.update((argument, Wire(-1 - place)) for place, argument in enumerate(block.arguments))
    why = [_emitted(op, program) for op in block if op is not block.terminator]
    return f"{program.calls} {[each.why for each in why if each is not None]}"


@pytest.mark.parametrize("name", _CASES)
def test_core_ml_calls_the_same(name: str) -> None:
    """MIL's `stack` takes a negative axis for one less than it is."""
    for axis in range(_RANK):
        assert _calls(_module(name, axis, 0)[0]) == _calls(_module(name, axis, -_RANK)[0])
