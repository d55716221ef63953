"""The tensors of a module on a sample, by whichever engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
import pytest

import transload
from transload.budget import TimeOver
from transload.errors import ConversionError, RunError, UsageError
from transload.ir import Module
from transload.plugin import Engine
from transload.plugin_host import host
from transload_plugins.quantize.observe import observed
from transload_plugins.quantize.running import Runner

from tests.support.graphs import Graph

MANY = 10 ** 9
"""Runs for which beginning, and compiling, always pay."""
ENGINES = {"reference": (), "xla": ("onnxruntime",), "onnxruntime": ()}
"""What a runner may choose, and what is not to be there for it to do so."""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """An engine that a runner of `runs_of` it chooses."""
    name: str = request.param
    if name != "reference":
        pytest.importorskip({"xla": "jaxlib"}.get(name, name))
    for other in ENGINES[name]:
        monkeypatch.delitem(host().engines, other)
    return name


def runs_of(engine: str) -> int:
    return 1 if engine == "reference" else MANY


@pytest.fixture
def module() -> Module:
    g = Graph((1, 6, 6, 3))
    (x,) = g.inputs
    conv = g.Conv(x, g.random(8, 3, 3, 3), g.random(8), kernel_shape=(3, 3), pads=(1, 1, 1, 1), layout="NHWC", location="conv")
    g.Sigmoid(conv, location="dead")
    return g.done(g.Add(g.Relu(conv, location="relu"), conv, location="sum"))


@pytest.fixture
def sample() -> dict[str, np.ndarray]:
    return {"x0": np.random.default_rng(1).standard_normal((1, 6, 6, 3)).astype(np.float32)}


def test_the_tensors_are_those_that_are_observed_in_order(module: Module, sample: dict[str, np.ndarray]) -> None:
    tensors = Runner(module)(sample)
    assert list(tensors) == list(observed(module)) == ["x0", "conv", "dead", "relu", "sum"]
    np.testing.assert_array_equal(tensors["x0"], sample["x0"])
    np.testing.assert_array_equal(tensors["relu"], np.maximum(tensors["conv"], 0))
    np.testing.assert_array_equal(tensors["sum"], tensors["relu"] + tensors["conv"])


def test_some_are_asked_for_by_name_or_as_values(module: Module, sample: dict[str, np.ndarray]) -> None:
    everything = Runner(module)(sample)
    by_name = Runner(module, ["sum", "x0"])(sample)
    assert list(by_name) == ["sum", "x0"]
    np.testing.assert_array_equal(by_name["sum"], everything["sum"])
    value = observed(module)["relu"]
    twice = Runner(module, {"a": value, "b": value})(sample)
    np.testing.assert_array_equal(twice["a"], everything["relu"])
    np.testing.assert_array_equal(twice["b"], everything["relu"])
    with pytest.raises(UsageError, match="no float tensor 'nobody'"):
        Runner(module, ["nobody"])


def test_every_engine_gives_the_same(engine: str, module: Module, sample: dict[str, np.ndarray]) -> None:
    runner, interpreted = Runner(module, runs=runs_of(engine)), Runner(module, runs=1)
    assert (runner.choice.engine, interpreted.choice.engine) == (engine, "reference")
    expected, actual = interpreted(sample), runner(sample)
    assert list(actual) == list(expected) and runner.choice.engine == engine
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, rtol=1e-5, atol=1e-5)


def test_where_an_engine_cannot_take_it_the_next_does(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(module: Module, function: str = "main") -> None:
        raise ConversionError("no way leads there")

    for name in ("onnxruntime", "xla"):
        monkeypatch.setitem(host().engines, name, Engine(name, refuse, compiles=name == "xla", measures=name != "xla"))
    choice = Runner(module, runs=MANY).choice
    assert choice.engine == "reference"
    assert choice.why == "onnxruntime cannot take it: no way leads there; xla cannot take it: no way leads there"


def test_what_does_not_end_in_time_is_not_run_by_another_engine(module: Module, sample: dict[str, np.ndarray],
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(module: Module, function: str = "main") -> Callable[..., Any]:
        def execute(*_: Any) -> Any:
            raise TimeOver("it was executed for 1 s")

        return execute

    monkeypatch.setitem(host().engines, "onnxruntime", Engine("onnxruntime", prepare, measures=True))
    runner = Runner(module, runs=MANY)
    with pytest.raises(TimeOver, match="executed for 1 s"):
        runner(sample)
    assert runner.choice.engine == "onnxruntime"


@pytest.mark.parametrize("runs", [1, MANY])
def test_stored_integers_of_a_quantized_module_are_the_same_bits(
    module: Module, sample: dict[str, np.ndarray], runs: int,
) -> None:
    quantized = transload.quantize(module, "int8-asym", [sample], islands="none")
    tensors = {op.origin: op.result for op in quantized.ops() if op.results and op.result.quant is not None and op.operands}
    expected: dict[str, np.ndarray] = {}
    transload.run(quantized, sample, watch=lambda value, array: expected.update({
        name: array for name, one in tensors.items() if one is value}))
    actual = Runner(quantized, tensors, runs=runs)(sample)
    assert actual.keys() == expected.keys() >= {"conv", "sum"}
    for name, array in expected.items():
        assert actual[name].dtype == array.dtype == np.int8
        np.testing.assert_array_equal(actual[name], array)


def test_threads_may_share_one(engine: str, module: Module) -> None:
    runner = Runner(module, runs=runs_of(engine))
    rng = np.random.default_rng(2)
    samples = [{"x0": rng.standard_normal((1, 6, 6, 3)).astype(np.float32)} for _ in range(24)]
    expected = [runner(sample)["sum"] for sample in samples]
    with ThreadPoolExecutor(4) as pool:
        actual = [found["sum"] for found in pool.map(runner, samples)]
    np.testing.assert_array_equal(actual, expected)


def test_each_sample_is_looked_at_in_order_and_few_are_taken_ahead(engine: str, module: Module) -> None:
    runner = Runner(module, runs=runs_of(engine))
    taken = []

    def samples() -> Iterator[dict[str, np.ndarray]]:
        for number in range(1000):
            taken.append(number)
            yield {"x0": np.full((1, 6, 6, 3), number, np.float32)}

    found: Any = runner.each(samples(), lambda tensors: float(tensors["x0"].max()))
    assert list(islice(found, 20)) == list(range(20))
    assert len(taken) <= 20 + 2 * (os.cpu_count() or 1)
    found.close()
    with pytest.raises(RunError, match="do not fit"):
        list(runner.each([{"x0": np.zeros((1, 2, 2, 3), np.float32)}], dict))


def test_a_sample_that_does_not_fit_is_refused_and_the_next_is_run(
    engine: str, module: Module, sample: dict[str, np.ndarray],
) -> None:
    runner = Runner(module, runs=runs_of(engine))
    with pytest.raises(RunError, match="do not fit"):
        runner({"x0": np.zeros((1, 2, 2, 3), np.float32)})
    assert runner(sample)["sum"].shape == (1, 6, 6, 8) and runner.choice.engine == engine


def test_constants_are_told_by_every_engine(engine: str) -> None:
    """Models give some, as the keys of the past of an attention; the reference engine tells of what it computes alone."""
    g = Graph((1, 64))
    number = g.constant(np.arange(4, dtype=np.float32))
    module = g.done(g.Sigmoid(g.inputs[0]), number)
    found = Runner(module, {"made": module.body_of_main.terminator.operands[0], "known": number}, runs=runs_of(engine))(
        {"x0": np.zeros((1, 64), np.float32)})
    np.testing.assert_array_equal(found["known"], [0, 1, 2, 3])
    np.testing.assert_array_equal(found["made"], np.full((1, 64), 0.5))


def test_a_sample_is_looked_at_before_anybody_is_told_of_it(module: Module) -> None:
    """Histograms of an input went through as many numbers as the sample repeats, and only then its shape was refused."""
    told: list[str] = []
    with pytest.raises(RunError, match="has shape"):
        Runner(module).visit({"x0": np.broadcast_to(np.float32(0), 1 << 44)}, lambda name, array: told.append(name))
    assert not told
