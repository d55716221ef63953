"""Unsigned inputs and outputs of which no op says that they are stay so in a `.tosa` file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.ir import F32, I4, I32, UI8, UI16, UI32, UI64, IntegerType, TensorType, dtype_of

from tests.support.graphs import Graph


@pytest.mark.parametrize("element", [UI8, UI16, UI32], ids=str)
def test_what_no_op_says(element: IntegerType, tmp_path: Path) -> None:
    graph = Graph((2, 3), (2, 3), element=element)
    hub = graph.done(graph.Add(graph.inputs[0], graph.constant(np.ones((2, 3), dtype_of(element)))))
    read = transload.load(transload.save(transload.lower(hub, "tosa"), tmp_path / "m.tosa"))
    assert [*read.inputs.values(), *read.outputs.values()] == [TensorType((2, 3), element)] * 3
    (made,) = transload.run(read, {name: np.full((2, 3), 200, dtype_of(element)) for name in read.inputs}).values()
    assert made.dtype == dtype_of(element) and (made == 201).all()


@pytest.mark.parametrize(("element", "held"), [
    (IntegerType(4, "u"), IntegerType(4, "u")), (IntegerType(2, "u"), IntegerType(2, "u")), (I4, I4), (UI64, UI32)], ids=str)
def test_types_of_which_tosa_has_more_or_fewer_bits(element: IntegerType, held: IntegerType, tmp_path: Path) -> None:
    graph = Graph((3,), element=element)
    read = transload.load(transload.save(
        transload.lower(graph.done(graph.Cast(graph.inputs[0], element=F32), graph.inputs[0]), "tosa"), tmp_path / "m.tosa"))
    numbers, there = (np.array(given, np.int8) for given in ([-9, 20, 1], [1, 0, 1]))
    assert read.inputs["x0"].element == held
    with pytest.raises(transload.TransloadError, match="holds numbers that"):
        transload.run(read, {"x0": numbers})
    assert [made.tolist() for made in transload.run(read, {"x0": there}).values()] == [there.tolist()] * 2


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
