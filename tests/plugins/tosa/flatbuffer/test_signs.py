"""Unsigned inputs and outputs of which no op says that they are stay so in a `.tosa` file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.ir import I32, UI8, UI16, UI32, IntegerType, TensorType, dtype_of

from tests.support.graphs import Graph


@pytest.mark.parametrize("element", [UI8, UI16, UI32], ids=str)
def test_what_no_op_says(element: IntegerType, tmp_path: Path) -> None:
    graph = Graph((2, 3), (2, 3), element=element)
    hub = graph.done(graph.Add(graph.inputs[0], graph.constant(np.ones((2, 3), dtype_of(element)))))
    read = transload.load(transload.save(transload.lower(hub, "tosa"), tmp_path / "m.tosa"))
    assert [*read.inputs.values(), *read.outputs.values()] == [TensorType((2, 3), element)] * 3
    (made,) = transload.run(read, {name: np.full((2, 3), 200, dtype_of(element)) for name in read.inputs}).values()
    assert made.dtype == dtype_of(element) and (made == 201).all()


def test_nothing_follows_what_ops_say(tmp_path: Path) -> None:
    graph = Graph((2, 3), element=UI8)
    made = transload.save(transload.lower(graph.done(graph.Cast(graph.inputs[0], element=I32)), "tosa"), tmp_path / "m.tosa")
    assert b"transload.element" not in made.read_bytes() and transload.load(made).inputs["x0"].element == UI8


@pytest.mark.parametrize("tail", [
    b"{", b"[]", b'{"inputs": {"0": "ui32"}, "outputs": {}}', b'{"inputs": {"7": "ui8"}, "outputs": {}}',
    b'{"inputs": {"0": []}, "outputs": {}}', b'{"inputs": {"0": "ui99"}, "outputs": {}}', b"[" * 100_000])
def test_what_fits_no_border_is_left_out(tail: bytes, tmp_path: Path) -> None:
    graph = Graph((2, 3), element=UI8)
    made = transload.save(transload.lower(graph.done(graph.Cast(graph.inputs[0], element=I32)), "tosa"), tmp_path / "m.tosa")
    made.write_bytes(made.read_bytes() + b"\n" + tail + b"\ntransload.element\n")
    assert transload.load(made).inputs["x0"].element == UI8
