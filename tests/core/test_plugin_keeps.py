"""What a plugin is given to read stays as it is: the caller's module, and arrays of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import transload
from transload.errors import PluginFailure
from transload.facts import Facts, FactTable
from transload.ir import ArrayData, Dense, Module
from transload.plugin import Calibrator, Emitted, Engine, Quantizer, Runtime, Target, Writer, resolve
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


# --- what a plugin gives stays as it is: it may compute in a buffer that it keeps

BUFFER = np.zeros(4, np.float32)


class Named(NamedTuple):
    """Results as some give them, by names."""

    y: Any


def in_buffer(op: Any, x: np.ndarray) -> np.ndarray:
    return np.multiply(x, np.float32(op.const_val), out=BUFFER)


def repeated(op: Any, x: np.ndarray) -> np.ndarray:
    BUFFER[0] = op.const_val
    return np.broadcast_to(BUFFER[:1], x.shape)


@pytest.mark.parametrize(("kernel", "of_ones"), [
    (in_buffer, ([2, 2, 2, 2], [3, 3, 3, 3])), (lambda op, x: [in_buffer(op, x)], ([2, 2, 2, 2], [3, 3, 3, 3])),
    (lambda op, x: Named(in_buffer(op, x)), ([2, 2, 2, 2], [3, 3, 3, 3])),
    (lambda op, x: in_buffer(op, x)[::-1], ([2, 2, 2, 2], [3, 3, 3, 3])), (repeated, ([2, 2, 2, 2], [3, 3, 3, 3])),
    (lambda op, x: x, ([1, 1, 1, 1], [1, 1, 1, 1]))], ids=["buffer", "list", "named", "view", "repeated", "operand"])
def test_a_kernel_may_give_its_own_buffer_each_time(kernel: Callable[..., Any], of_ones: tuple[list[int], list[int]]) -> None:
    graph = Graph((4,))
    x = graph.inputs[0]
    module = graph.done(graph.MulConst(x, const_val=2.0), graph.MulConst(x, const_val=3.0))
    table = FactTable("top")
    table.add((kernel, "float"), "MulConst")
    with beside_ours(facts=[Facts("kernel", "top", table, overrides=True)]).bind():
        first = list(transload.run(module, {"x0": np.ones(4, np.float32)}, engine="reference").values())
        transload.run(module, {"x0": np.full(4, 10, np.float32)}, engine="reference")
    for found, wanted in zip(first, of_ones, strict=True):
        np.testing.assert_array_equal(found, wanted)


def keeping(results: dict[str, Any]) -> Callable[..., Any]:
    """A function of inputs that computes in one buffer, by the names of its results."""
    def execute(inputs: Any, *given: Any, **how: Any) -> dict[str, Any]:
        for array in results.values():
            np.multiply(next(iter(inputs.values())), 2, out=array)
        return results

    return execute


def test_an_engine_may_give_its_own_buffer_each_time() -> None:
    module = doubling()
    (name,) = module.outputs
    with beside_ours(engines=[Engine("keeping", lambda module, function: keeping({name: BUFFER}))]).bind():
        found = [transload.run(module, {"x0": np.full(4, number, np.float32)}, engine="keeping")[name] for number in (1, 2)]
    assert [array.tolist() for array in found] == [[2.0] * 4, [4.0] * 4]


def test_runtimes_and_targets_may_give_their_own_buffer_each_time() -> None:
    chip = Chip()
    chip.run = lambda emitted, inputs: keeping({"y": BUFFER})(inputs)  # type: ignore[method-assign]
    judge = Runtime("keeping", "keeping", lambda path: keeping({"y": BUFFER}), lambda: None)
    with beside_ours(runtimes=[judge], targets=[chip]).bind() as _:
        there = transload.host()
        ways = resolve(there.runtimes["keeping"].open)("m"), lambda inputs: there.targets["chip"].run(Emitted([]), inputs)
        for run in ways:
            found = [run({"x0": np.full(4, number, np.float32)})["y"] for number in (1, 2)]
            assert [array.tolist() for array in found] == [[2.0] * 4, [4.0] * 4]
