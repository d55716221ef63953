"""What a plugin is given to read stays as it is: the caller's module, and arrays of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import PluginFailure
from transload.ir import ArrayData, Dense, Module
from transload.plugin import Calibrator, Emitted, Engine, Quantizer, Target, Writer, resolve
from transload.samples.samples import open_samples
from transload.text import print_module

from tests.support.graphs import Graph
from tests.support.plugins import beside_ours

pytestmark = pytest.mark.plugin_fails


def doubling() -> Module:
    graph = Graph((4,))
    return graph.done(graph.Mul(graph.inputs[0], graph.constant(np.full(4, 2, np.float32))))


def spoiled(module: Module) -> None:
    """Another weight, and one op less."""
    for op in module.ops():
        if op.name == "top.Weight":
            op.attributes["value"] = Dense(ArrayData(np.full(4, 50, np.float32)))
    module.notes = ("spoiled",)


def overwriting(module: Module, samples: Any, *named: str) -> Any:
    """A quantizer, or a calibrator, that computes in the arrays that it is given."""
    for sample in samples:
        for array in sample.values():
            array[...] = 7
    return module.clone()


def changing(module: Module, samples: Any, *named: str) -> Module:
    spoiled(module)
    return module.clone()


def written(module: Module, path: Path) -> None:
    spoiled(module)
    path.write_text("nothing")


def prepared(module: Module, function: str = "main") -> Any:
    spoiled(module)
    return resolve(transload.host().engines["reference"].prepare)(module, function)


class Chip(Target):
    name, doc, accepts = "chip", "A toy.", ("top",)

    def check(self, module: Module, options: Any) -> list[Any]:
        spoiled(module)
        options.clear()
        return []

    def emit(self, module: Module, directory: Path, stem: str, options: Any) -> Emitted:
        raise NotImplementedError

    def by_hub(self, module: Module) -> bool:
        spoiled(module)
        return False


@pytest.mark.parametrize("act", [
    lambda module, folder: transload.run(module, {"x0": np.ones(4, np.float32)}, engine="spoiling"),
    lambda module, folder: transload.save(module, folder / "m.spoiled"),
    lambda module, folder: transload.quantize(module, "changing", [{"x0": np.ones(4, np.float32)}]),
    lambda module, folder: transload.host().targets["chip"].by_hub(module),
    lambda module, folder: transload.host().targets["chip"].check(module, {}),
])
def test_a_plugin_that_changes_the_module_changes_one_of_its_own(act: Callable[[Module, Path], Any], tmp_path: Path) -> None:
    module = doubling()
    before = print_module(module)
    with beside_ours(
        engines=[Engine("spoiling", prepared)], writers=[Writer("spoiled", "top", (".spoiled",), written)],
        quantizers=[Quantizer("changing", changing)], targets=[Chip()],
    ).bind():
        act(module, tmp_path)
    assert print_module(module) == before and not module.notes


def of_list(arrays: list[np.ndarray]) -> Any:
    return [{"x0": array} for array in arrays]


def of_iterator(arrays: list[np.ndarray]) -> Any:
    def give() -> Iterator[dict[str, np.ndarray]]:
        yield from of_list(arrays)

    return open_samples(give(), doubling())


@pytest.mark.parametrize("make", [of_list, of_iterator])
@pytest.mark.parametrize("act", [
    lambda module, samples: transload.quantize(module, "overwriting", samples),
    lambda module, samples: transload.calibrate(module, samples, "overwriting")])
def test_samples_are_not_written_into(
    act: Callable[[Module, Any], Any], make: Callable[[list[np.ndarray]], Any],
) -> None:
    arrays = [np.arange(4, dtype=np.float32)]
    samples = make(arrays)
    with beside_ours(
        quantizers=[Quantizer("overwriting", overwriting)], calibrators=[Calibrator("overwriting", overwriting)],
    ).bind(), pytest.raises(PluginFailure, match=r"plugin 'acme'.*read-only"):
        act(doubling(), samples)
    for given in [arrays[0], *(next(iter(each.values())) for each in samples)]:
        np.testing.assert_array_equal(given, np.arange(4))
        given[...] = given  # its owner may go on writing
