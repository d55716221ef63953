"""Passes that are for one dialect refuse modules of another, and change nothing there that could then not be run."""

from __future__ import annotations

import pytest

from transload.errors import PassError
from transload.passes.manager import Pipeline
from transload.text import parse_module, print_module

FOREIGN = """"func.func"() <{sym_name = "main", function_type = (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>}> ({
  ^bb0(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>):
    %y = "tfl.relu"(%x) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
    "func.return"(%y) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> ()
}) : () -> ()
"""  # noqa: E501 - text of MLIR has no line that could be broken


@pytest.mark.parametrize(("name", "wanted"), [
    ("tosa-pack-weights", "tosa"), ("tosa-strip-quantized", "tosa"), ("onnx-storage-types", "onnx"),
    ("divide-into-subnets", "top or tpu"), ("layer-groups", "top or tpu"), ("assign-local-memory", "top or tpu"),
    ("assign-global-memory", "top or tpu")])
def test_passes_of_other_dialects(name: str, wanted: str) -> None:
    """They left tensors without the scales that their operators need, calls of what is not there, or failed as defects."""
    module = parse_module(FOREIGN)
    before = print_module(module)
    with pytest.raises(PassError, match=f"requires {wanted}; the module is in tfl"):
        Pipeline.parse(name).run(module)
    assert print_module(module) == before
