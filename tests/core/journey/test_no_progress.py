"""A conversion that leaves ops as they are is not run again and again."""

from __future__ import annotations

import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, NONE, TensorType, new_module, set_results
from transload.ir.build import Builder


def test_a_result_that_is_nothing_is_refused() -> None:
    module = new_module()
    main = module.add_function("main", [TensorType((2,), F32)], ["x"])
    nothing = Builder(main.regions[0].block).none("top")
    assert nothing.type == NONE
    set_results(main, [nothing], ["y"])
    with pytest.raises(ConversionError, match=r"top\.None.*top-to-tosa, by which its way goes, has no rewrite for it"):
        transload.lower(module, "tosa")
