"""A generator may fill one array again and again: each sample is what it was when it came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import new_module
from transload.samples.owned import owned
from transload.samples.samples import open_samples
from transload.text import print_module

from tests.support.graphs import summing


def reused(count: int = 4) -> Iterator[dict[str, np.ndarray]]:
    image = np.zeros((1, 1, 8, 8), np.float32)
    for number in range(count):
        image[...] = number
        yield {"image": image}


class Reused(Sequence[Any]):
    """As a data set is that keeps one buffer."""

    def __init__(self) -> None:
        self.image = np.zeros((1, 1, 8, 8), np.float32)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(4))]
        if place >= 4:
            raise IndexError(place)
        self.image[...] = place
        return {"image": self.image}


class Again:
    def __init__(self, samples: Sequence[Any] | None = None) -> None:
        self.samples = samples

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        return reused() if self.samples is None else iter(self.samples)


@pytest.mark.parametrize("make", [reused, Reused, Again])
def test_samples_are_their_readers_own(make: Any, examples: Path) -> None:
    assert [int(each["image"].max()) for each in list(owned(make(), new_module()))] == [0, 1, 2, 3]
    model = transload.load(examples / "digits" / "digits_float.onnx")
    opened = open_samples(make(), model)
    for _ in range(2):  # what an iterator gave is kept
        assert [int(each["image"].max()) for each in list(opened)] == [0, 1, 2, 3]


def test_quantizing_does_not_depend_on_who_owns_the_arrays(examples: Path) -> None:
    """The last sample stood for all, where the first few are kept: other weights and biases, without a word."""
    model = transload.load(examples / "digits" / "digits_float.onnx")
    texts = {
        print_module(transload.quantize(model, "int8", samples)) for samples in (
            reused(), Reused(), Again(), [{"image": np.full((1, 1, 8, 8), number, np.float32)} for number in range(4)])}
    assert len(texts) == 1


def test_what_holds_its_own_samples_is_left_alone() -> None:
    for given in ([1], (1,), np.zeros(2), None, "folder", {"x": 1}, 3):
        assert owned(given, new_module()) is given
    assert len(owned(Reused(), new_module())) == 4 and len(owned({1, 2}, new_module())) == 2


@pytest.mark.parametrize("make", [iter, list, tuple, Again])
def test_a_state_is_what_it_is_at_first_where_a_sample_does_not_say_it(make: Any) -> None:
    given = [{"x0": np.ones((1, 4), np.float32)}, {"x0": np.ones((1, 4), np.float32), "total": np.full((1, 4), 7, np.float32)}]
    samples = make(given) if make is not Again else Again(given)
    whole = list(owned(samples, summing()))
    assert [each["total"][0, 0] for each in whole] == [3, 7]


def test_a_model_with_states_is_calibrated_quantized_and_scored_with_its_inputs_alone(tmp_path: Path) -> None:
    module = summing()
    numbers = np.random.default_rng(3)
    array = numbers.standard_normal((8, 1, 4)).astype(np.float32)
    np.save(tmp_path / "data.npy", array)
    samples = [{"x0": each} for each in array]
    for data in (samples, iter(samples), open_samples(tmp_path / "data.npy", module)):
        assert transload.calibrate(module, data).samples == 8
    quantized = transload.quantize(module, "int8", samples)
    assert [each.op for each in transload.quantization_report(module, quantized, samples).layers] == ["input", "input", "top.Add"]
    for target in ("tosa", "tflite", "stablehlo"):
        result = transload.convert(module, target, tmp_path / target, quantize="int8", data=tmp_path / "data.npy")
        assert result.verification is not None and result.verification.status == "passed"
        scores = transload.evaluate([module, tmp_path / target], tmp_path / "data.npy", metrics=("sqnr",))
        assert scores.scores[str(tmp_path / target)]["sqnr"].value > 35
