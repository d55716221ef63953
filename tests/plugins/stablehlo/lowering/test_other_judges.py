"""The programs of the other tests, as artifacts that old versions of StableHLO read, and compiled by IREE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import F32, TensorType, element_type_of
from transload.testing import build_module
from transload.text import print_module

from . import test_control, test_types
from .conftest import assert_same

INDICES = np.array([[0, 1], [2, -1]], np.int64)


def subscripts(same: Callable[..., Any], rng: np.random.Generator) -> None:
    def make(builder, x, updates):
        places = builder.constant(INDICES)
        elements = builder.constant(np.arange(-3, 3).repeat(10).reshape(3, 4, 5) % 3)
        lengths = builder.constant(np.array([1, 2, 3]))
        return [
            builder.emit("top.Gather", x, places, axis=1), builder.emit("top.GatherND", x, places),
            builder.emit("top.GatherElements", x, elements, axis=0), builder.emit("top.ScatterND", x, places, updates),
            builder.emit("top.ScatterND", x, places, updates, reduction="add"),
            builder.emit("top.ReverseSequence", x, lengths, seq_axis=1, batch_axis=0),
            builder.emit("top.OneHot", places, builder.constant(np.float32(1)), builder.constant(np.float32(0)), depth=4),
        ]

    same(make, rng.standard_normal((3, 4, 5)).astype(np.float32), rng.standard_normal((2, 5)).astype(np.float32))


def scattered_elements(same: Callable[..., Any], rng: np.random.Generator) -> None:
    elements = np.arange(-3, 3).repeat(10).reshape(3, 4, 5) % 3

    def make(builder, x):
        return [
            builder.emit("top.ScatterElements", x, builder.constant(elements), x, axis=axis, reduction=reduction)
            for axis in (0, 2) for reduction in ("max", "add")]

    same(make, rng.standard_normal((3, 4, 5)).astype(np.float32))


def pictures(same: Callable[..., Any], rng: np.random.Generator) -> None:
    def make(builder, x):
        made = [
            builder.emit("top.Interp", x, sizes=(7, 9), mode=mode, coord_mode=coordinates)
            for mode in ("nearest", "linear", "cubic") for coordinates in ("half_pixel", "align_corners", "asymmetric")]
        return [
            *made, builder.emit("top.AvgPool", x, kernel_shape=(3, 2), strides=(2, 1), pads=(1, 1, 0, 0)),
            builder.emit("top.MaxPool", x, kernel_shape=(2, 2), dilations=(2, 1), pads=(1, 1, 0, 0)),
            builder.emit("top.LRN", x, size=3), builder.emit("top.Tan", x), builder.emit("top.Upsample", x, scale_h=2, scale_w=3),
            builder.emit("top.Depth2Space", builder.emit("top.Concat", x, x, axis=1), block_h=2, block_w=2),
        ]

    same(make, rng.standard_normal((1, 4, 4, 6)).astype(np.float32))


PROGRAMS: dict[str, Callable[..., Any]] = {
    "floats": lambda same, rng: test_types.test_functions_of_floats(same, rng, np.float32),
    "halves": lambda same, rng: test_types.test_functions_of_floats(same, rng, np.float16),
    "integers": lambda same, rng: test_types.test_integers(same, rng, np.int32),
    "products": lambda same, rng: test_types.test_products(same, rng, np.float32),
    "products of halves": lambda same, rng: test_types.test_products(same, rng, np.float16),
    "products of integers": lambda same, rng: test_types.test_products(same, rng, np.int8),
    "movement": lambda same, rng: test_types.test_movement(same, rng, np.float32),
    "rank 4": lambda same, rng: test_types.test_ranks(same, rng, 4),
    "loops": lambda same, rng: test_control.test_long_sequences_are_loops(same, rng, "LSTM", "bidirectional"),
    "subscripts": subscripts,
    "scattered elements": scattered_elements,
    "pictures": pictures,
}


IREE_CANNOT = {"scattered elements": "IREE 3.13 drops the vectors' dimension of scatter's indices, and refuses what it made"}


@pytest.fixture(params=PROGRAMS)
def program(request, rng):
    """A lowered module, and arrays for it."""
    made: list[Any] = []

    def keep(make, *arrays, **how):
        types = [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays]
        made.append((lower(build_module(types, make), "stablehlo"), arrays))
        return made[-1][0]

    PROGRAMS[request.param](keep, rng)
    return made[-1]


def test_old_versions(xla, program):
    """Nothing in the programs is newer than StableHLO 0.9."""
    from transload_converters.stablehlo.bindings import portable_artifact

    text = print_module(program[0], locations=False)
    for version in ("0.9.0", "1.0.0"):
        assert portable_artifact(text, "program", version)


@pytest.mark.slow
def test_iree(xla, program, request):
    reason = IREE_CANNOT.get(request.node.callspec.params["program"])
    if reason:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    compiler = pytest.importorskip("iree.compiler", reason="IREE is not installed")
    runtime = pytest.importorskip("iree.runtime", reason="IREE is not installed")
    module, arrays = program
    code = compiler.compile_str(
        print_module(module, locations=False), input_type="stablehlo", target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host"])
    context = runtime.SystemContext(config=runtime.Config("local-task"))
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
    outputs = context.modules.module["main"](*arrays)
    wanted = run(module, {f"x{i}": array for i, array in enumerate(arrays)}, engine="xla")
    types = [value.element for value in module.body_of_main.terminator.operands]
    for theirs, ours, element in zip(outputs, wanted.values(), types, strict=True):
        assert_same(np.asarray(theirs.to_host()), ours, element, 1e-4 if element == F32 else None)
