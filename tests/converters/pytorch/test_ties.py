"""Which of equal numbers PyTorch takes it leaves open: as a judge it takes those that come first."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from transload_converters.pytorch.session import _IN_ORDER

EQUAL = [[1.0] * 7 + [0.5], [0.0, 2.0, 2.0, 0.0, 0.0, 2.0, 0.0, 0.0]]


@pytest.mark.parametrize(("name", "arguments", "wanted"), [
    ("topk", (4,), [[0, 1, 2, 3], [1, 2, 5, 0]]), ("topk", (3, 1, False), [[7, 0, 1], [0, 3, 4]]),
    ("kthvalue", (3,), [1, 4]), ("kthvalue", (3, 1, True), [[1], [4]]),
    ("sort", (1, True), [[0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 5, 0, 3, 4, 6, 7]])])
def test_the_first_of_equal_numbers(name: str, arguments: tuple[Any, ...], wanted: list[Any]) -> None:
    numbers, places = _IN_ORDER[f"torch.ops.aten.{name}.default"](torch.tensor(EQUAL), *arguments)
    theirs, _ = getattr(torch, name)(torch.tensor(EQUAL), *arguments)
    assert numbers.tolist() == theirs.tolist()
    assert places.tolist() == wanted


def test_a_number_alone_and_what_is_refused() -> None:
    assert [each.tolist() for each in _IN_ORDER["torch.ops.aten.topk.default"](torch.tensor(3.0), 1)] == [3.0, 0]
    assert [each.tolist() for each in _IN_ORDER["torch.ops.aten.kthvalue.default"](torch.tensor(3.0), 1)] == [3.0, 0]
    with pytest.raises(RuntimeError, match="out of range"):
        _IN_ORDER["torch.ops.aten.topk.default"](torch.tensor([3.0]), 2)
