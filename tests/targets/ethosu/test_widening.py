"""8-bit numbers that become 16-bit ones before a convolution: on Ethos-U85 Vela ends with SIGSEGV, so a clamp parts them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import TargetError
from transload.ir import I8, I16, I32, I48, Module, TensorType
from transload.passes.manager import Pipeline
from transload.plugin_host import host
from transload_targets.ethosu.compiler import vela_version
from transload_targets.ethosu.facts import measured_with

SIZE, CHANNELS = 6, 4


def widened(m: Any, x: Any, places: int = 30, unsigned: bool = False) -> Any:
    """Numbers of 8 bits as 16-bit ones, by 2^30 2^-places."""
    return m.emit(
        "tosa.rescale", x, m.array([1 << 30], I32), m.array([places], I8), m.array([0], I8), m.array([0], I16), element=I16,
        scale32=True, rounding_mode="SINGLE_ROUND", per_channel=False, input_unsigned=unsigned, output_unsigned=False)


def convolved(m: Any, x: Any, name: str = "tosa.conv2d") -> Any:
    """A convolution of 3x3, of 16-bit numbers, with sums of 48 bits."""
    shapes = {"tosa.depthwise_conv2d": (3, 3, CHANNELS, 1), "tosa.conv3d": (CHANNELS, 1, 3, 3, CHANNELS)}
    weight = m.array(np.ones(shapes.get(name, (CHANNELS, 3, 3, CHANNELS))), I8)
    deep = name == "tosa.conv3d"
    if deep:
        x = m.emit("tosa.reshape", x, m.shape(1, *x.shape))
    across = {"out_pad": (0, 0, 0, 0)} if name == "tosa.transpose_conv2d" else {
        "pad": (0,) * (6 if deep else 4), "dilation": (1,) * (3 if deep else 2)}
    return m.emit(
        name, x, weight, m.array(np.zeros(CHANNELS), I48), m.array([0], I16), m.array([0], I8), location="sums",
        stride=(1,) * (3 if deep else 2), acc_type=I48, **across)


def moved(m: Any, x: Any, by: str) -> Any:
    """The same numbers elsewhere."""
    if by == "reshape":
        return m.emit("tosa.reshape", x, m.shape(1, SIZE // 2, SIZE * 2, CHANNELS))
    if by == "pad":
        return m.emit("tosa.pad", x, m.shape(0, 0, 1, 1, 1, 1, 0, 0), m.array([0], I16))
    if by == "slice":
        return m.emit("tosa.slice", x, m.shape(0, 1, 1, 0), m.shape(1, SIZE - 2, SIZE - 2, CHANNELS))
    if by == "rescale":
        return m.emit(
            "tosa.rescale", x, m.array([1 << 30], I32), m.array([30], I8), m.array([0], I16), m.array([0], I16), element=I16,
            scale32=True, rounding_mode="SINGLE_ROUND", per_channel=False, input_unsigned=False, output_unsigned=False)
    return m.emit(f"tosa.{by}", x, **({"perms": (0, 2, 1, 3)} if by == "transpose" else {}))


DEADLY: dict[str, Callable[..., Any]] = {
    **{name: lambda m, x, name=name: convolved(m, widened(m, x), f"tosa.{name}")
       for name in ("conv2d", "conv3d", "depthwise_conv2d", "transpose_conv2d")},
    **{f"behind a {by}": lambda m, x, by=by: convolved(m, moved(m, widened(m, x), by))
       for by in ("identity", "pad", "rescale", "reshape", "slice")},
    "of unsigned bytes": lambda m, x: convolved(m, widened(m, x, unsigned=True)),
}
SOUND: dict[str, Callable[..., Any]] = {
    "another factor": lambda m, x: convolved(m, widened(m, x, 29)),
    "behind a transpose": lambda m, x: convolved(m, moved(m, widened(m, x), "transpose")),
    "no convolution": lambda m, x: m.emit("tosa.max_pool2d", widened(m, x), location="sums", kernel=(3, 3), stride=(1, 1),
                                          pad=(0, 0, 0, 0)),
}


@pytest.fixture
def module(make: Callable[..., Module], request: pytest.FixtureRequest) -> Module:
    return make([TensorType((1, SIZE, SIZE, CHANNELS), I8)], request.param)


def clamps(module: Module) -> int:
    return sum(op.name == "tosa.clamp" for op in module.walk())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("module", DEADLY.values(), ids=DEADLY, indirect=True)
def test_what_vela_dies_of_is_kept_apart(vela: None, module: Module, tmp_path: Path) -> None:
    """The Vela that was measured dies of the module as it is, which is told; behind the pipeline it computes the same."""
    chip = host().get("targets", "ethos-u85-256")
    if vela_version() == measured_with():
        with pytest.raises(TargetError, match="crashed"):
            chip.emit(module, tmp_path, "as it is", {})
    before = {"in0": np.random.default_rng(0).integers(-128, 128, (1, SIZE, SIZE, CHANNELS), np.int8)}
    wanted = transload.run(module, before)["sums"]
    Pipeline.parse(chip.pipeline).run(module)
    assert clamps(module) == 1
    np.testing.assert_array_equal(transload.run(module, before)["sums"], wanted)
    assert chip.emit(module, tmp_path, "kept apart", {}).files


@pytest.mark.parametrize("module", SOUND.values(), ids=SOUND, indirect=True)
def test_what_vela_takes_stays_as_it_is(vela: None, module: Module, tmp_path: Path) -> None:
    chip = host().get("targets", "ethos-u85-256")
    Pipeline.parse(chip.pipeline).run(module)
    assert clamps(module) == 0
    assert chip.emit(module, tmp_path, "net", {}).files


def test_other_families_take_it(vela: None, make: Callable[..., Module], tmp_path: Path) -> None:
    def body(m: Any, x: Any) -> Any:
        sums = DEADLY["conv2d"](m, x)
        return m.emit(
            "tosa.rescale", sums, m.array([1 << 14], I16), m.array([14], I8), m.array([0], I48), m.array([0], I16), element=I16,
            location="sums", scale32=False, rounding_mode="SINGLE_ROUND", per_channel=False, input_unsigned=False,
            output_unsigned=False)

    chip = host().get("targets", "ethos-u55-128")
    module = make([TensorType((1, SIZE, SIZE, CHANNELS), I8)], body)
    Pipeline.parse(chip.pipeline).run(module)
    assert clamps(module) == 0
    assert chip.emit(module, tmp_path, "net", {}).files
