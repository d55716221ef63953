"""Where ops on integers of less than a byte do something else, of which numpy knows no kind."""

from __future__ import annotations

from pathlib import Path

import pytest

import transload

pytest.importorskip("jaxlib")


@pytest.mark.parametrize("operator", [
    "shift_right_logical", "shift_right_arithmetic", "shift_left", "divide", "multiply", "and"])
@pytest.mark.parametrize("element", ["ui4", "i4", "ui2", "i2"])
def test_constants_of_less_than_a_byte(operator: str, element: str, tmp_path: Path) -> None:
    """Of a shift the number of places was a float: a defect, where the inputs of a verification were looked for."""
    (tmp_path / "m.mlir").write_text(f"""func.func @main(%x: tensor<16x{element}>) -> tensor<16x{element}> {{
        %c = stablehlo.constant dense<1> : tensor<16x{element}>
        %y = stablehlo.{operator} %x, %c : tensor<16x{element}>
        return %y : tensor<16x{element}>
    }}""")
    found = transload.convert(tmp_path / "m.mlir", "tosa", tmp_path / "out", verify="yes").verification
    assert found is not None and found.status == "passed", found
