"""Weights that get factors of input channels before they are rounded: what is gained, where it is kept, what stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.ir import Module
from transload.quantization import quantize_at_hub

from tests.support.graphs import Graph

SPREAD = np.where(np.arange(64) % 16 == 3, 40.0, 1.0).astype(np.float32)
"""How far the channels reach: four of them much farther than the others."""


def network(outputs: int = 48) -> Module:
    """A product whose inputs reach unlike far, and two convolutions behind it, the latter in groups."""
    g = Graph((4, 64))
    y = g.MatMul(g.inputs[0], g.random(outputs, 64), g.random(outputs), right_transpose=True, location="product")
    y = g.Reshape(y, shape=(4, outputs, 1, 1))
    y = g.Conv(y, g.random(8, outputs, 1, 1), kernel_shape=(1, 1), location="conv")
    return g.done(g.Conv(y, g.random(8, 4, 1, 1), kernel_shape=(1, 1), group=2, location="grouped"))


def samples(count: int) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(1)
    return [{"x0": (random.standard_normal((4, 64)) * SPREAD).astype(np.float32)} for _ in range(count)]


def noise(module: Module, made: Module) -> float:
    """The share of the outputs that rounding loses, on samples of their own."""
    others = samples(40)[32:]
    wanted, found = (np.stack([next(iter(transload.run(each, sample, engine="reference").values())) for sample in others])
                     for each in (module, made))
    return float(np.square(wanted - found).sum() / np.square(wanted).sum())


@pytest.mark.parametrize("group", [32, 16])
def test_channels_that_reach_far_get_finer_steps(group: int) -> None:
    module, given = network(), samples(32)
    plain, scaled = (quantize_at_hub(module, "w4a16", given, {"q_group_size": group, "few": 0, "scaling": scaling})
                     for scaling in (False, True))
    told = scaled.report["weights"]
    assert "product" in told["scaled"] and "grouped" not in told["scaled"] and "scaled" not in plain.report["weights"]
    assert (told["bytes of integers"], told["bytes of scales"]) == tuple(
        plain.report["weights"][name] for name in ("bytes of integers", "bytes of scales"))
    assert noise(module, scaled.module) < 0.75 * noise(module, plain.module)
    product = next(op for op in scaled.module.ops() if op.origin == "product")
    assert product.input.op.name == "top.Mul" and product.input.name == "product/scaled"
    assert product.right.op.attribute("stored")


def test_every_target_computes_it() -> None:
    made = quantize_at_hub(network(), "w4a16", samples(8), {"q_group_size": 32, "few": 0, "scaling": True}).module
    assert any(op.origin == "product/scaled" for op in made.ops())
    (wanted,) = transload.run(made, samples(1)[0], engine="reference").values()
    for target in ("tosa", "stablehlo", "onnx", "tfl"):
        (found,) = transload.run(transload.lower(made, target), samples(1)[0], engine="reference").values()
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max(), err_msg=target)


def test_the_best_effort_keeps_it_where_it_gains() -> None:
    options: dict[str, Any] = {"effort": "best", "q_group_size": 32, "few": 0}
    made = quantize_at_hub(network(), "w4a16", samples(32), options)
    assert made.report["effort"]["scaling"].endswith("dB, kept") and made.report["weights"]["scaled"]
    g = Graph((4, 64))
    even = g.done(g.MatMul(g.inputs[0], g.random(64, 48), location="product"))
    alike = [{"x0": sample["x0"] / SPREAD} for sample in samples(32)]
    made = quantize_at_hub(even, "w4a16", alike, options)
    assert made.report["effort"]["scaling"].endswith("not kept") and "scaled" not in made.report["weights"]
    asked = quantize_at_hub(even, "w4a16", alike, {**options, "scaling": False})
    assert set(asked.report["effort"]) == {"default"}


def test_what_cannot_be() -> None:
    with pytest.raises(UsageError, match="there is no effort 'great'"):
        quantize_at_hub(network(), "w4a16", samples(8), {"effort": "great"})
    with pytest.raises(UsageError, match="needs four samples"):
        quantize_at_hub(network(), "w4a16", samples(2), {"effort": "best"})
    quick = quantize_at_hub(network(), "w4a16", samples(8), {"effort": "fast"})
    assert not quick.report["weights"]["rounded on samples"]
