"""Powers, angles and roots of special numbers: what numpy has for them, in IREE and in any engine that runs what it is given."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import Module
from transload_targets.iree.special_numbers import write_out_special_numbers

NUMBERS = np.array(
    [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, np.inf, -np.inf, np.nan, 3, -3, 7.25, -2.5, 1e30, -1e-30], np.float32)
X, Y = (grid.ravel() for grid in np.meshgrid(NUMBERS, NUMBERS))
OPS: list[tuple[str, Callable[..., Any]]] = [("power", np.power), ("atan2", np.arctan2), ("cbrt", lambda x, y: np.cbrt(x))]


def program(line: str) -> Module:
    type_ = f"tensor<{X.size}xf32>"
    return transload.load(format="stablehlo", text=f"""
        func.func @main(%x: {type_} {{ml_program.identifier = "x"}}, %y: {type_} {{ml_program.identifier = "y"}}) -> {type_} {{
          %c = stablehlo.constant dense<4.0> : {type_}
          %t = stablehlo.constant dense<3.0> : {type_}
          %0 = stablehlo.{line} : {type_}
          return %0 : {type_}
        }}""")


def check(found: np.ndarray, op: Callable[..., Any], *given: Any) -> None:
    with np.errstate(all="ignore"):
        wanted = op(*given).astype(np.float32)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    bits = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[bits], np.signbit(wanted)[bits])


@pytest.mark.parametrize(("name", "op"), OPS)
def test_what_is_written_out_computes_the_same(name: str, op: Callable[..., Any]) -> None:
    module = program(f"{name} %x" if name == "cbrt" else f"{name} %x, %y")
    assert write_out_special_numbers(module)
    (found,) = transload.run(module, {"x": X, "y": Y}, engine="reference").values()
    check(found, op, X, Y)


def test_exponents_that_the_compiler_knows_stay() -> None:
    assert not write_out_special_numbers(program("power %x, %t"))
    assert write_out_special_numbers(program("power %x, %c"))


@pytest.mark.skipif(importlib.util.find_spec("iree") is None, reason="install transload[iree] to compile for IREE's runtime")
@pytest.mark.parametrize(("line", "op"), [
    ("power %x, %y", np.power), ("power %x, %c", lambda x, y: np.power(x, np.float32(4))), ("atan2 %x, %y", np.arctan2),
    ("cbrt %x", lambda x, y: np.cbrt(x))])
def test_iree_has_them(line: str, op: Callable[..., Any], tmp_path: Path) -> None:
    transload.convert(program(line), "iree-llvm-cpu", tmp_path / "out", verify=False)
    (found,) = transload.run(tmp_path / "out", {"x": X, "y": Y}).values()
    check(found, op, X, Y)
