"""Quantization by torchao's pt2e, with a quantizer of this file: per tensor activations, per channel weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn


def quantized_by_pt2e(model: nn.Module, samples: Sequence[torch.Tensor]) -> Any:
    """A network with quantize and dequantize around its convolutions and products, calibrated on samples."""
    from torchao.quantization.pt2e import MinMaxObserver, PerChannelMinMaxObserver
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer

    activation = QuantizationSpec(
        dtype=torch.int8, observer_or_fake_quant_ctr=MinMaxObserver.with_args(eps=2**-12), quant_min=-128, quant_max=127,
        qscheme=torch.per_tensor_affine)
    weight = QuantizationSpec(
        dtype=torch.int8, observer_or_fake_quant_ctr=PerChannelMinMaxObserver.with_args(eps=2**-12), quant_min=-127,
        quant_max=127,
        qscheme=torch.per_channel_symmetric, ch_axis=0)

    class Products(Quantizer):
        def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
            for node in model.graph.nodes:
                if node.target in (torch.ops.aten.conv2d.default, torch.ops.aten.linear.default):
                    user = next(iter(node.users))
                    fused = user.target is torch.ops.aten.relu.default
                    node.meta["quantization_annotation"] = QuantizationAnnotation(
                        {node.args[0]: activation, node.args[1]: weight}, None if fused else activation, _annotated=True)
                    if fused:
                        user.meta["quantization_annotation"] = QuantizationAnnotation({}, activation, _annotated=True)
            return model

        def validate(self, model: torch.fx.GraphModule) -> None:
            """Nothing is to be checked."""

    prepared = prepare_pt2e(torch.export.export(model, (samples[0],)).module(), Products())
    for sample in samples:
        prepared(sample)
    return convert_pt2e(prepared)
