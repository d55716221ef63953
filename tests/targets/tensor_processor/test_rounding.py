"""Chips that round in some ways only: what they compute has the hub's integers, and the host has what they cannot."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.ir import I8, Module, QuantType
from transload.plugin_host import Host
from transload_targets.tensor_processor.chip.reading import FOLDER
from transload_targets.tensor_processor.target import TensorProcessor

from tests.support.graphs import Graph
from tests.support.plugins import registering


def written(model: Path | Module, roundings: str, folder: Path) -> transload.Artifact:
    """A model for `tp-small`, which rounds in these ways."""
    text = (FOLDER / "tp-small.toml").read_text(encoding="utf-8")
    (folder / "vole.toml").write_text(re.sub(r"(?m)^roundings.*$", f"roundings = {roundings}", text), encoding="utf-8")
    there = Host()
    there.register(type("Mine", (), registering(targets=[TensorProcessor(folder / "vole.toml", "vole")])), "mine")
    with Context(there).bind():
        return transload.convert(model, "vole", folder / "out")


@pytest.mark.parametrize("roundings", ['["double"]', '["half-up"]', '["half-away"]', '["half-up", "half-away"]'])
def test_a_network_has_the_hubs_integers(roundings: str, examples: Path, tmp_path: Path) -> None:
    model = examples / "digits" / "digits_int8.tflite"
    artifact = written(model, roundings, tmp_path)
    assert artifact.verified
    told = [note for note in artifact.report.notes if "and the model's integers are rounded" in note]
    assert bool(told) and artifact.report.partition is not None
    assert any(part.place == "target" for part in artifact.report.partition.parts)
    image = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 1), dtype=np.int8)
    (found,), (wanted,) = (transload.run(place, {"image": image}).values() for place in (tmp_path / "out", model))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("rounding", ["double", "once", "exact"])
@pytest.mark.parametrize("roundings", ["double", "half-up", "half-away"])
def test_a_change_of_scale_alone_is_a_table_where_the_chip_rounds_otherwise(
    roundings: str, rounding: str, tmp_path: Path,
) -> None:
    numbers = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
    graph = Graph(numbers.shape, element=QuantType(I8, transload.ir.F32, (0.25,), (3,)))
    module = graph.done(graph.builder.emit(
        "top.Cast", graph.inputs[0], element=QuantType(I8, transload.ir.F32, (0.5,), (-2,)), rounding=rounding))
    artifact = written(module, f'["{roundings}"]', tmp_path)
    assert artifact.report.partition is None
    ((name, wanted),) = transload.run(module, {next(iter(module.inputs)): numbers}).items()
    np.testing.assert_array_equal(transload.run(tmp_path / "out", {next(iter(module.inputs)): numbers})[name], wanted)
