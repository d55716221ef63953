"""JAX networks, exported here and now: to the hub, TOSA and StableHLO and back, with the results that JAX computes."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jax", reason="install jax to export its networks")

from tests.networks.jax_networks import INTEGER_NETWORKS, NETWORKS
from tests.networks.make_jax import exported

COMPOSITES = {
    # network: ops of the hub that it must be seen to be made of
    "mlp": {"MatMul": 3, "Relu": 1, "GELU": 1, "Softmax": 1},
    "cnn": {"Conv": 5, "MaxPool": 1, "AvgPool": 1, "LeakyRelu": 1, "Softmax": 1},
    "cnn_channels_first": {"Conv": 2, "Elu": 1, "AvgPool": 1, "Tanh": 1},
    "transformer_encoder": {"LayerNorm": 4, "Softmax": 2, "GELU": 2, "Gather": 1},
    "decoder_block": {"RMSNorm": 3, "Softmax": 1, "SiLU": 1},
    "unet_block": {"GroupNorm": 4, "SiLU": 4, "Softmax": 1, "Upsample": 1},
    "vision_transformer": {"LayerNorm": 3, "Softmax": 1, "GELU": 1},
    "mobilenet_block": {"HardSwish": 2, "HardSigmoid": 1},
    "convnext_block": {"LayerNorm": 1, "GELU": 1, "Conv": 1, "MatMul": 2},
    "transposed_decoder": {"Deconv": 3, "Elu": 1, "Selu": 1, "LeakyRelu": 1},
    "flax_block": {"GroupNorm": 0, "LayerNorm": 0, "RMSNorm": 1, "SiLU": 1, "Softmax": 1},  # its fast variance stays as it is
    "embeddings": {"Normalize": 2, "Softmax": 1},
    "mixture_of_experts": {"TopK": 1, "Softmax": 1},
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [*NETWORKS, *INTEGER_NETWORKS])
def test_every_way(name: str, journey: Any, judge: Any) -> None:
    text, inputs, outputs = exported(name)
    network = journey(text, list(inputs.values()), outputs)
    counts = network.names()
    assert {op: counts.get(op, 0) for op in COMPOSITES.get(name, {})} == COMPOSITES.get(name, {})
    network(judge)


def test_integers_reach_an_npu(tmp_path: Any, journey: Any) -> None:
    import transload

    pytest.importorskip("ethosu.vela", reason="install ethos-u-vela")
    text, inputs, outputs = exported("quantized_convolution")
    network = journey(text, list(inputs.values()), outputs)
    artifact = transload.convert(network.source, "ethos-u85-256", tmp_path, verify=False)
    report = artifact.report.target_report
    assert (report["cpu_ops"], report["npu_percent"]) == (0, 100.0)
