"""A generator may fill one array again and again: each sample is what it was when it came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.samples.owned import owned
from transload.samples.samples import open_samples
from transload.text import print_module


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
    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        return reused()


@pytest.mark.parametrize("make", [reused, Reused, Again])
def test_samples_are_their_readers_own(make: Any, examples: Path) -> None:
    assert [int(each["image"].max()) for each in list(owned(make()))] == [0, 1, 2, 3]
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
        assert owned(given) is given
    assert len(owned(Reused())) == 4 and len(owned({1, 2})) == 2
