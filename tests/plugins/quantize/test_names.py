"""Lines of tables, and the tensors that they are of."""

from __future__ import annotations

import pytest

from transload.errors import UsageError
from transload.ir.locations import FusedLocation
from transload_plugins.quantize.calibration import Calibration
from transload_plugins.quantize.islands import _text
from transload_plugins.quantize.names import with_our_names
from transload_plugins.quantize.observe import observed

from tests.support.graphs import Graph


def table(*names: str) -> Calibration:
    return Calibration({name: (-1.0, float(place)) for place, name in enumerate(names)})


def test_tables_that_number_tensors_of_one_name_otherwise_are_refused() -> None:
    """Where StableHLO's last `mul` is called so, and the first was, each was given the range of another."""
    named = dict.fromkeys(("x", "mul#1", "mul#2", "mul"))
    right = table("x", "mul#1", "mul#2", "mul")
    assert with_our_names(right, named) is right
    with pytest.raises(UsageError, match=r"the table has 'mul' before 'mul#1', and the model behind it"):
        with_our_names(table("x", "mul", "mul#1", "mul#2"), named)
    first = dict.fromkeys(("x", "mul", "mul#1"))  # of what is numbered as it is observed, the first is called so
    assert with_our_names(table("mul", "x", "mul#1"), first).ranges


def test_what_has_no_name_is_told_by_the_op_that_it_is_of() -> None:
    """What an op of several results became: a reader of the report finds that op in the model, and no `tensor#1`."""
    g = Graph((2, 4))
    (x,) = g.inputs
    op = FusedLocation((FusedLocation(("values", "places"), None),), "TopK")
    first, second = g.Relu(x, location=op), g.Neg(x, location=op)
    module = g.done(g.Add(first, second, location="values"))
    assert list(observed(module)) == ["x0", "values#1", "values#2", "values"]
    assert with_our_names(table(*observed(module)), observed(module)).ranges


def test_no_loss_is_told_as_less_than_nothing() -> None:
    assert _text(1.004) == "0.0 dB" and _text(1.1) == "-0.4 dB"
