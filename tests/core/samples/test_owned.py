"""A generator may fill one array again and again: each sample is what it was when it came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import UsageError
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
    for given in ([{"x": 1}], ({"x": 1},), None):
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


# --- what is no samples, and what the user's own code raises


IMAGE = np.zeros((1, 1, 8, 8), np.float32)
USES = {
    "quantize": lambda module, samples: transload.quantize(module, "int8", samples),
    "quantize in groups": lambda module, samples: transload.quantize(module, "w4a8", samples),
    "calibrate": lambda module, samples: transload.calibrate(module, samples),
    "report": lambda module, samples: transload.quantization_report(
        module, transload.quantize(module, "int8", [{"image": IMAGE + 1}]), samples),
}


@pytest.fixture
def digits(examples: Path) -> Any:
    return transload.load(examples / "digits" / "digits_float.onnx")


@pytest.mark.parametrize(("samples", "why"), [
    (Path("xs.npy"), "and not PosixPath|takes several"), (3, "and not int|takes samples"), ({"image": IMAGE}, "and not dict"),
    ("xs.npy", "and not 'xs.npy'"), (IMAGE, "and not ndarray"), ([None], "sample 1 is no dictionary .* of type NoneType"),
    ([{"image": IMAGE}, (IMAGE,)], "sample 2 is no dictionary .* of type tuple"), ([IMAGE], "sample 1 is no dictionary"),
    ((each for each in ({"image": IMAGE}, {"img": IMAGE})), "sample 2 has no 'image'"),
    ([{"image": [[1], [1, 2]]}], "sample 1: what input 'image' is given is no array"),
    ([{"image": np.array(["a"])}], "sample 1: what input 'image' is given holds no numbers"),
])
@pytest.mark.parametrize("use", USES)
def test_what_is_no_samples(use: str, samples: Any, why: str, digits: Any) -> None:
    """It was called a defect of the quantizer, or of letters of a path that these are no inputs."""
    if isinstance(samples, Iterator):
        samples = iter([{"image": IMAGE}, {"img": IMAGE}])
    with pytest.raises(UsageError, match=why):
        USES[use](digits, samples)


@pytest.mark.parametrize("calibration", [{}, 3, [1]])
@pytest.mark.parametrize("scheme", ["int8", "w4a8", "f8e4m3"])
def test_what_is_no_calibration(scheme: str, calibration: Any, digits: Any) -> None:
    with pytest.raises(UsageError, match="a calibration is a table or its path"):
        transload.quantize(digits, scheme, [{"image": IMAGE}], calibration=calibration)


class Broken(Sequence[Any]):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: Any) -> Any:
        raise self.error


def broken(error: BaseException) -> Iterator[Any]:
    yield {"image": IMAGE + 1}
    raise error


class Anew:
    """No iterator: goes from the beginning each time."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __iter__(self) -> Iterator[Any]:
        return broken(self.error)


@pytest.mark.parametrize("make", [broken, Anew, Broken])
@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), KeyError("mine"), SystemExit(3)])
@pytest.mark.parametrize("use", [*USES, "convert"])
def test_what_samples_raise_is_the_users(use: str, error: BaseException, make: Any, digits: Any, tmp_path: Path) -> None:
    """It was called a defect of the quantizer, to be reported."""
    with pytest.raises(type(error)) as raised:
        if use == "convert":
            transload.convert(digits, "tosa", tmp_path / "out", quantize="int8", data=make(error))
        else:
            USES[use](digits, make(error))
    assert raised.value is error


def test_a_conversion_is_quantized_on_samples_of_a_generator(digits: Any, tmp_path: Path) -> None:
    """How many there are is not known before: the quantizer asked, and that ended it."""
    random = np.random.default_rng(0)
    samples = [{"image": random.random((1, 1, 8, 8), np.float32)} for _ in range(12)]
    made, wanted = (
        transload.convert(digits, "tosa", tmp_path / name, quantize="int8", data=data, verify=False)
        for name, data in (("one", iter(samples)), ("all", samples)))
    assert [op.name for op in made.module.ops()] == [op.name for op in wanted.module.ops()]
