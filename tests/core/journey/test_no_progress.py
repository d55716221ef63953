"""A conversion that leaves ops as they are, or makes them anew, is not run again and again."""

from __future__ import annotations

from typing import Any

import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, Module, Op, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.journey import convert_to
from transload.plugin import Conversion, Pass
from transload.rewrite import RewriteTable


def test_a_conversion_that_makes_its_ops_anew_is_named_and_not_run_for_ever(kit: Any) -> None:
    def put_back(module: Module) -> bool:
        module.body_of_main.insert(Op("a.x"), module.body_of_main.first)
        return True

    table = RewriteTable()
    table("a.x")(lambda op, rw: rw.create("b.x").results)
    kit.add(Pass("back", put_back), Conversion("a-to-b", "a", "b", table, after="back"))
    with pytest.raises(ConversionError, match=r"a\.x.*a-to-b, by which its way goes, makes as many of it anew"):
        convert_to(kit.module("a.x"), "b")


def test_a_result_that_is_nothing_is_refused() -> None:
    module = new_module()
    main = module.add_function("main", [TensorType((2,), F32)], ["x"])
    set_results(main, [Builder(main.regions[0].block).none("top")], ["y"])
    with pytest.raises(ConversionError, match=r"what the model gives.*are values"):
        transload.lower(module, "tosa")
