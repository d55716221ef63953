"""What the passes before the lowering find out lies beside the module: they plant nothing on its ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.api import lower, run
from transload.context import new_run
from transload.ir import F32, I32, I64, UI8, UI32, Module, QuantType, TensorType
from transload.ir.build import Builder
from transload.passes.manager import Pipeline
from transload.plugin_host import host
from transload.testing.models import build_module
from transload_plugins.tosa.lowering.prepare.sources import is_unsigned, sources

BYTES = QuantType(UI8, F32, (0.5,), (128,))


def mixed() -> Module:
    """Of unsigned quantized numbers, ui32, numbers of 64 bits and their low bits."""

    def make(b: Builder, x: Any, words: Any, ids: Any) -> Any:
        pooled = b.emit("top.AvgPool", x, kernel_shape=(2, 2), strides=(2, 2), layout="NHWC", element=BYTES)
        bits = b.emit("top.Bitcast", words, element=I32)
        greater = b.emit("top.Compare", words, b.constant(np.array([3_000_000_000], np.uint32)), mode="Greater")
        low = b.emit("top.BitwiseAnd", b.emit("top.Add", ids, b.constant(np.array([1 << 40], np.int64))),
                     b.constant(np.array([0xFFFF], np.int64)))
        return pooled, bits, greater, low

    return build_module([TensorType((1, 4, 4, 1), BYTES), TensorType((3,), UI32), TensorType((3,), I64)], make)


def test_no_pass_before_the_lowering_leaves_a_mark_on_an_op():
    conversion = host().conversions["top-to-tosa"]
    module, seen = mixed(), []

    def look(name: str, module: Module) -> None:
        seen.append(name)
        for op in module.walk():
            declared = op.declaration.attributes if op.declaration is not None else {}
            if op.dialect == "top":
                assert set(op.attributes) <= set(declared), f"{name} left {set(op.attributes) - set(declared)} on {op.name}"

    with new_run():
        Pipeline.parse(conversion.before, {"int64": "proved", "f64": "narrowed", "bias": "fine"}).run(module, print_after=look)
        assert {op.name for op in module.walk() if is_unsigned(op)} >= {"top.AvgPool"}
        assert [op.name for op in sources().stored] == ["top.Bitcast"]
        assert {op.name for op in sources().integers.unsigned} == {"top.Compare"}
        assert len(sources().integers.low_bits) == 2
    assert "tosa-make-signed" in seen


def test_what_was_found_out_is_heeded():
    image, words = np.arange(100, 116, dtype=np.uint8).reshape(1, 4, 4, 1), np.array([3_000_000_001, 5, 2**32 - 1], np.uint32)
    given = {"x0": image, "x1": words, "x2": np.array([7, -1, 70000], np.int64)}
    wanted = run(mixed(), given, engine="reference")
    lowered = lower(mixed(), to="tosa")
    found = run(lowered, given, engine="reference")
    means, *found = found.values()
    np.testing.assert_array_equal(means.reshape(-1), [103, 105, 111, 113], "halves go up: they are unsigned")
    for (name, want), have in zip(list(wanted.items())[1:], found, strict=True):
        np.testing.assert_array_equal(have, want, name)
