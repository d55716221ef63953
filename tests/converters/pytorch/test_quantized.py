"""What pt2e quantizes becomes integer arithmetic: products of quantized tensors, with a bias of i32."""

from __future__ import annotations

import transload
from transload.ir import QuantType

from .conftest import KEPT


def test_products_between_quantize_and_dequantize_are_of_integers() -> None:
    hub = transload.legalize(transload.load(KEPT / "quantized.pt2"))
    products = [op for op in hub.ops() if op.name in ("top.Conv", "top.MatMul")]
    assert len(products) == 3
    for op in products:
        assert isinstance(op.input.element, QuantType) and isinstance(op.results[0].element, QuantType)
        assert str(op.bias.element.storage) == "i32"
