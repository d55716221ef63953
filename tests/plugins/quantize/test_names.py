"""Lines of tables, and the tensors that they are of."""

from __future__ import annotations

import pytest

from transload.errors import UsageError
from transload_plugins.quantize.calibration import Calibration
from transload_plugins.quantize.names import with_our_names


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
