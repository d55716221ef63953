"""PyTorch networks by torch.export and torch-mlir: made here where torch is installed, else as `make_torch.py` left them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

KEPT = Path(__file__).parent / "torch"
NAMES = sorted(path.stem for path in KEPT.glob("*.mlir"))
LIVE = all(importlib.util.find_spec(name) is not None for name in ("torch", "torch_mlir"))

COMPOSITES = {
    "mlp": {"MatMul": 3, "Relu": 1, "Tanh": 1, "Softmax": 1},
    "cnn": {"Conv": 4, "HardSwish": 1, "LeakyRelu": 1, "MaxPool": 1, "AvgPool": 1, "Softmax": 1},
    "transformer_encoder": {"LayerNorm": 2, "Softmax": 1, "GELU": 1},
    "causal_attention": {"Softmax": 1},
    "unet_block": {"GroupNorm": 1, "SiLU": 1, "GELU": 1, "Upsample": 1},
    "generator": {"Deconv": 2, "InstanceNorm": 1, "Sigmoid": 1},
}


def arrays(name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The kept inputs and outputs of a network."""
    with np.load(KEPT / f"{name}.npz") as held:
        return tuple([held[f"{side}{i}"] for i in range(sum(key.startswith(side) for key in held))]  # type: ignore[return-value]
                     for side in ("in", "out"))


@pytest.mark.parametrize("name", NAMES)
def test_every_way(name: str, journey: Any, judge: Any) -> None:
    network = journey((KEPT / f"{name}.mlir").read_bytes(), *arrays(name))
    counts = network.names()
    assert {op: counts.get(op, 0) for op in COMPOSITES.get(name, {})} == COMPOSITES.get(name, {})
    network(judge)


@pytest.mark.skipif(not LIVE, reason="torch and torch-mlir are not installed: their kept output is tested")
@pytest.mark.parametrize("name", NAMES)
def test_exported_now(name: str, journey: Any, judge: Any) -> None:
    from tests.networks.make_torch import exported

    text, inputs, outputs = exported(name)
    journey(text.encode(), inputs, outputs)(judge)


def test_conversion_is_verified_by_xla(tmp_path: Path, journey: Any) -> None:
    import transload

    artifact = transload.convert(KEPT / "cnn.mlir", "tosa", tmp_path)
    assert artifact.verified
    assert artifact.verification is not None and artifact.verification.runtime == "xla"
