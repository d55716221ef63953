"""Which inputs are made up for verification."""

from __future__ import annotations

import pytest

from transload.ir import F32, I32
from transload.verification.inputs import plain_integers

from tests.support.graphs import Graph


@pytest.mark.parametrize(("after", "plain"), [(False, {0}), (True, set())])
def test_integers_whose_result_is_cast_are_plain(after: bool, plain: set[int]) -> None:
    """Of zeros and ones what is left of a division by three is one number throughout."""
    g = Graph((3, 4), element=I32)
    floats = g.builder.emit("top.Cast", g.builder.emit("top.Mul", g.inputs[0], g.inputs[0]), element=F32)
    module = g.done(g.builder.emit("top.Mul", floats, floats) if after else floats)
    assert plain_integers(module) == plain
