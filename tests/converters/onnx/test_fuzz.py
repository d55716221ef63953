"""Damaged models: a mutated file gives a `TransloadError` or a module, never a crash or a hang."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import transload
from transload.errors import ReadError, TransloadError
from transload.ir import verify

from tests.support.onnx_models import make_model, node, read_model

MUTATIONS = 2000
PARTS = 3


def samples() -> Iterator[Any]:
    """Small models with every kind of field that a reader reads."""
    x = np.zeros((1, 3, 4, 4), np.float32)
    shapes = [node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"]), node("Shape", ["r"], ["s"]),
              node("Gather", ["s", "zero"], ["n"]), node("Unsqueeze", ["n", "axis"], ["n1"]),
              node("Concat", ["n1", "rest"], ["to"], axis=0),
              node("Reshape", ["r", "to"], ["f"]), node("MatMul", ["f", "v"], ["m"]), node("Softmax", ["m"], ["y"], axis=-1),
              node("TopK", ["m", "k"], ["best", "places"])]
    yield make_model(shapes, {"x": x}, ["y", "best"], {
        "w": np.ones((4, 3, 3, 3), np.float32), "b": np.zeros(4, np.float32), "v": np.ones((64, 20), np.float32),
        "zero": np.array(0),
        "axis": np.array([0]), "rest": np.array([-1]), "k": np.array([3])})
    branches = {name: helper.make_graph([node(kind, ["x", "x"], [name])], name, [], [helper.make_empty_tensor_value_info(name)])
                for name, kind in (("then_branch", "Add"), ("else_branch", "Mul"))}
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Add", ["a", "x"], ["a2"]), node("Identity", ["going"], ["on"]), node("Identity", ["a2"], ["row"])], "body",
        [info("i", TensorProto.INT64, []), info("going", TensorProto.BOOL, []), info("a", TensorProto.FLOAT, [2, 2])],
        [info("on", TensorProto.BOOL, []), info("a2", TensorProto.FLOAT, [2, 2]), info("row", TensorProto.FLOAT, [2, 2])])
    control = [node("If", ["c"], ["z"], **branches), node("Loop", ["n", "", "z"], ["l", "rows"], body=body),
               node("LSTM", ["rows", "w", "w"], ["y"], hidden_size=2)]
    yield make_model(control, {"x": np.zeros((2, 2), np.float32), "c": np.array(True)}, ["y", "l"],
                     {"n": np.array(3), "w": np.ones((1, 8, 2), np.float32)})
    function = helper.make_function("mine", "F", ["a", "b"], ["c"],
        [node("Add", ["a", "b"], ["t"]), node("LeakyRelu", ["t"], ["c"], alpha=0.3)],
                                    [helper.make_opsetid("", 17)])
    quantized = [node("F", ["x", "x"], ["f"], domain="mine"), node("QuantizeLinear", ["f", "s", "z"], ["q"]),
                 node("DequantizeLinear", ["q", "s", "z"], ["d"]), node("DequantizeLinear", ["w", "ws", "wz"], ["dw"], axis=1),
                 node("MatMul", ["d", "dw"], ["m"]), node("QuantizeLinear", ["m", "s", "z"], ["y"])]
    yield make_model(quantized, {"x": np.zeros((2, 4), np.float32)}, ["y"], {
        "s": np.array(0.1, np.float32), "z": np.array(3, np.int8), "w": np.ones((4, 3), np.int8),
        "ws": numpy_helper.from_array(np.array([0.1, 0.2, 0.3], np.float32), "ws"), "wz": np.zeros(3, np.int8)},
        functions=[function])


def mutate(dice: random.Random, data: bytes) -> bytes:
    """The data cut short, or with bytes changed, turned, removed, repeated or set to an extreme."""
    changed = bytearray(data)
    place = dice.randrange(len(data))
    kind = dice.randrange(6)
    if kind == 0:
        del changed[place:]
    elif kind == 1:
        for _ in range(dice.randrange(1, 4)):
            changed[dice.randrange(len(data))] = dice.randrange(256)
    elif kind == 2:
        changed[place] ^= 1 << dice.randrange(8)
    elif kind == 3:
        del changed[place : place + dice.randrange(1, 20)]
    elif kind == 4:
        start = dice.randrange(len(data))
        changed[place:place] = data[start : start + dice.randrange(1, 40)]
    else:
        changed[place] = dice.choice((0, 1, 0x7F, 0x80, 0xFF))
    return bytes(changed)


@pytest.mark.one_in(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_files(part: int) -> None:
    models = [model.SerializeToString() for model in samples()]
    outcomes: Counter[str] = Counter()
    for number in range(part * MUTATIONS // PARTS, (part + 1) * MUTATIONS // PARTS):
        data = mutate(random.Random(number), models[number % len(models)])
        try:
            module = read_model(data)
            verify(module)
            outcomes["read"] += 1
            transload.legalize(module)
            outcomes["converted"] += 1
        except TransloadError as error:
            outcomes["refused" if isinstance(error, ReadError) else type(error).__name__] += 1
    assert outcomes["read"] > 100 / PARTS and outcomes["refused"] > 500 / PARTS


def test_every_way_to_cut_a_file_short() -> None:
    data = next(samples()).SerializeToString()
    for size in range(0, len(data), 97):
        with pytest.raises(ReadError):
            read_model(data[:size])
