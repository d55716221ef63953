"""Histograms of all tensors: the same by however many workers, in fixed memory, after an interruption; and what is refused."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError, UsageError
from transload.ir import BOOL, F32, Block, Module, Region, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload_plugins.quantize import measure
from transload_plugins.quantize.histogram import Histogram
from transload_plugins.quantize.measure import Sample, Spread, measured, some_of

from tests.support.graphs import Graph


@pytest.fixture
def module() -> Module:
    return squares()


def squares(factor: float = 3.0) -> Module:
    g = Graph((1, 4, 4, 2))
    (x,) = g.inputs
    return g.done(g.Add(g.Mul(x, factor, location="scaled"), g.Relu(x, location="relu"), location="sum"))


def samples(count: int, seed: int = 0) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [{"x0": (rng.standard_normal((1, 4, 4, 2)) * (1 + number)).astype(np.float32)} for number in range(count)]


def check_same(actual: dict[str, Histogram], expected: dict[str, Histogram]) -> None:
    assert list(actual) == list(expected)
    for name, histogram in expected.items():
        assert (actual[name].low, actual[name].high) == (histogram.low, histogram.high)
        np.testing.assert_array_equal(actual[name].counts, histogram.counts)


def test_a_histogram_has_what_the_tensor_was_on_all_samples(module: Module) -> None:
    given = samples(5)
    histograms, count = measured(module, given)
    assert count == 5 and list(histograms) == ["x0", "scaled", "relu", "sum"]
    check_same(histograms, {**histograms, "relu": Histogram(np.maximum(sample["x0"], 0) for sample in given)})


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_workers_and_one_way_iterators_make_no_difference(module: Module, workers: int) -> None:
    expected, _ = measured(module, samples(20), workers=1)
    actual, count = measured(module, iter(samples(20)), workers=workers)
    assert count == 20
    check_same(actual, expected)


def test_memory_does_not_grow_with_the_samples(module: Module) -> None:
    g = Graph((256, 256))
    (x,) = g.inputs
    module = g.done(g.Relu(x))

    def stream(count: int) -> Iterator[Sample]:
        for number in range(count):
            yield {"x0": np.full((256, 256), np.float32(number))}

    def peak(count: int) -> int:
        tracemalloc.start()
        measured(module, stream(count), workers=2)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(2)
    assert peak(200) < peak(10) * 1.5 + 1_000_000, "a sample is a quarter of a megabyte"


def test_progress_is_told_with_the_number_where_it_is_known(module: Module) -> None:
    told: list[tuple[int, int | None]] = []
    measured(module, samples(3), progress=lambda done, total: told.append((done, total)))
    measured(module, (sample for sample in samples(1)), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3), (1, None)]


@pytest.mark.parametrize("workers", [1, 4])
def test_of_several_bad_samples_the_first_is_named(module: Module, workers: int) -> None:
    given = samples(12)
    for number in (5, 6, 9):
        given[number] = {"x0": np.full((1, 4, 4, 2), np.nan, np.float32)}
    with pytest.raises(UsageError, match="tensor 'x0' in sample 6 has numbers that are not finite"):
        measured(module, given, workers=workers)


# --- interrupted

class Interrupted(Exception):
    pass


def until(number: int, given: list[Sample]) -> Iterator[Sample]:
    yield from given[:number]
    raise Interrupted


@pytest.fixture
def state(module: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is left of a calibration on twenty samples that was interrupted behind the tenth, and saved every fourth."""
    monkeypatch.setattr(measure, "SAVED_EVERY", 4)
    path = tmp_path / "state"
    with pytest.raises(Interrupted):
        measured(module, until(10, samples(20)), resume=path)
    assert [file.name for file in tmp_path.iterdir()] == ["state"]
    return path


def test_an_interrupted_run_goes_on_from_its_state(module: Module, state: Path) -> None:
    told: list[int] = []
    actual, count = measured(module, samples(20), resume=state, progress=lambda done, total: told.append(done))
    assert count == 20 and told == list(range(9, 21)), "eight had been saved"
    check_same(actual, measured(module, samples(20))[0])
    assert not state.exists()


def test_a_state_of_something_else_is_refused(module: Module, state: Path) -> None:
    with pytest.raises(UsageError, match="of another model"):
        measured(squares(4.0), samples(20), resume=state)
    with pytest.raises(UsageError, match="sample 8 was another one"):
        measured(module, samples(20, seed=1), resume=state)
    with pytest.raises(UsageError, match="it counted 8, and there are 3"):
        measured(module, samples(3), resume=state)
    state.write_bytes(state.read_bytes()[:100])
    with pytest.raises(ReadError, match=r"is not an \.npz of plain arrays"):
        measured(module, samples(20), resume=state)


@pytest.mark.parametrize(("key", "change"), [
    ("names", lambda a: np.array(["x"] * len(a))), ("names", lambda a: a[:1]), ("low", lambda a: a * np.nan),
    ("exponent", lambda a: a * 0 + 2**40), ("exponent", lambda a: a.astype(np.float64)), ("first", lambda a: -a - 1),
    ("length", lambda a: a + 1), ("counts", lambda a: -a), ("counts", lambda a: np.zeros(10**7, np.int64)),
    ("count", lambda a: np.zeros(3, np.int64)), ("count", lambda a: np.array("x")),
    ("arrays", lambda a: -a), ("arrays", lambda a: a[:1]), ("ends", lambda a: a * np.nan), ("ends", lambda a: a[..., ::-1]),
    ("ends", lambda a: a[:, :1]), ("last", None), ("counts", None)])
def test_a_state_that_somebody_changed_is_refused(module: Module, state: Path, key: str, change: Any) -> None:
    with np.load(state) as file:
        arrays = dict(file)
    given = arrays.pop(key)
    with state.open("wb") as stream:
        np.savez_compressed(stream, **arrays, **({} if change is None else {key: change(given)}))
    with pytest.raises(ReadError, match=r"cannot be read as histograms|is not the state|of other tensors"):
        measured(module, samples(20), resume=state)


# --- samples that are kept

@pytest.mark.parametrize("most", [1, 3, 4])
@pytest.mark.parametrize("count", [0, 3, 4, 5, 16, 17, 100])
def test_the_samples_that_are_kept_are_of_all_parts(count: int, most: int) -> None:
    spread = Spread(({"x": number} for number in range(count)), most)
    assert [sample["x"] for sample in spread] == list(range(count))
    kept = [sample["x"] for sample in spread.kept]
    stretch = next(width for width in (1, 2, 4, 8, 16, 32, 64, 128) if width * most >= count)
    assert [number // stretch for number in kept] == list(range(-(-count // stretch)))
    assert [sample["x"] for sample in spread.some(2)] == sorted({*kept} & {sample["x"] for sample in spread.some(2)})
    assert len(spread.some(2)) == min(2, len(kept))


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 8, 10])
def test_classes_that_take_turns_are_not_of_one_kind_where_some_samples_are_taken(classes: int) -> None:
    """A step between samples that divides the turn, or its multiple, gave one class alone: silence, and no word."""
    for count in (120, 200, 1000):
        samples = [{"x": number % classes} for number in range(count)]
        spread = Spread(samples, 32)
        assert len(list(spread)) == count
        for some in (spread.kept, some_of(samples, 32)[0], some_of(dict(enumerate(samples)).values(), 32)[0]):
            assert len({sample["x"] for sample in some}) > classes / 2
        assert len({sample["x"] for sample in spread.some(8)}) > 1


class Stream:
    """As a loader of a stream: it has a `len()`, which raises."""

    def __iter__(self) -> Iterator[Sample]:
        return iter(samples(40))

    def __len__(self) -> int:
        raise TypeError("a stream has no len()")


@pytest.mark.parametrize("scheme", ["int8", "int16x8", "f8e4m3", "w4a8", "w4a16"])
@pytest.mark.parametrize("count", [None, 3])
def test_samples_that_stream_are_quantized_on(scheme: str, count: int | None) -> None:
    """Samples whose number is not known before: of an iterator, of a loader. Few, and more than are looked at before."""
    g = Graph((1, 4, 4, 2))
    flat = g.Reshape(g.inputs[0], shape=(1, 32))
    module = g.done(g.MatMul(flat, g.random(32, 64), np.zeros(64, np.float32)))
    every = samples(40)
    expected = transload.text.print_module(transload.quantize(module, scheme, every[:count]))
    opened = [transload.open_samples(given, module, count=count) for given in (iter(every), map(dict, every), Stream())]
    for given in (*opened, *([Stream()] if count is None else [])):
        made = transload.quantize(module, scheme, given)
        if count is not None:  # all are looked at: nothing is left to chance
            assert transload.text.print_module(made) == expected


# --- tensors of all kinds

def test_constant_empty_and_dead_tensors_have_a_range() -> None:
    g = Graph((0, 4), (2, 2))
    empty, x = g.inputs
    g.Sigmoid(x, location="dead")
    module = g.done(g.Relu(empty, location="nothing"), g.Mul(x, 0.0, location="zeros"))
    given = [{"x0": np.zeros((0, 4), np.float32), "x1": np.ones((2, 2), np.float32)}]
    for method in ("minmax", "percentile", "kl", "entropy", "mse", "aciq"):
        found = transload.calibrate(module, given, method)
        assert found.ranges["nothing"] == found.ranges["zeros"] == (0.0, 0.0)
        assert found.ranges["x1"][1] == pytest.approx(1.0) or method in ("kl", "entropy")
    quantized = transload.quantize(module, "int8-asym", given)
    np.testing.assert_array_equal(transload.run(quantized, given[0])["y1"], np.zeros((2, 2), np.float32))


def test_what_branches_compute_is_not_measured_and_stays_float() -> None:
    """What a branch takes from around it, and what it gives, is measured as any tensor is."""
    module = new_module()
    function = module.add_function("main", [TensorType((), BOOL), TensorType((3,), F32)], ["c", "x"])
    build = Builder(function.regions[0].block)
    condition, x = build.block.arguments
    square = build.emit("top.Mul", x, x, location="square")
    branches = []
    for name in ("top.Neg", "top.Abs"):
        block = Block(())
        inner = Builder(block)
        inner.emit("top.Yield", inner.emit(name, square, location="inside"))
        branches.append(Region([block]))
    chosen = build.create("top.If", [condition], [x.type], regions=branches, location="chosen").results[0]
    set_results(function, [build.emit("top.Add", chosen, x, location="sum")], ["y"])
    given = [{"c": np.array(number % 2 == 0), "x": np.full(3, number, np.float32)} for number in range(8)]
    found = transload.calibrate(module, given, "minmax")
    assert found.ranges == {"x": (0.0, 7.0), "square": (0.0, 49.0), "chosen": (-36.0, 49.0), "sum": (-30.0, 56.0)}
    transload.quantize(module, "int8", given, method="auto")
    quantized = transload.quantize(module, "int8-asym", calibration=found)
    inside = {op.name: op.results[0].quant for op in quantized.walk() if op.origin == "inside"}
    assert inside == {"top.Neg": None, "top.Abs": None}
    for sample in given:
        wanted, actual = (transload.run(one, sample)["y"] for one in (module, quantized))
        np.testing.assert_allclose(actual, wanted, atol=0.6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_counting_makes_no_arrays_of_a_chunks_size_again_and_again(dtype: Any) -> None:
    """In Dask's workers each went back to the system, and fetching it again took longer than all of the counting."""
    numbers = np.random.default_rng(0).standard_normal(1 << 19).astype(dtype)
    histogram = Histogram([numbers])
    tracemalloc.start()
    try:
        histogram.add(numbers)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 200_000
    assert histogram.total == 2 * numbers.size
