"""What `requirements` says op by op, and the target's text of TOSA 0.30."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.engine import run_function
from transload.ir import BF16, F32, I4, I8, I16, I32, I48, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.plugin_host import host
from transload_plugins.tosa import build
from transload_plugins.tosa.v030.text import parse_030
from transload_targets.tosa.requirements import requirements, requirements_of


@pytest.fixture
def graph() -> tuple[Module, Builder, Any]:
    """A module, a builder in its function, and a function that makes arguments."""
    module = new_module()
    function = module.add_function("main", [])
    block = function.regions[0].block

    def value(*shape: int, element: Any = F32, name: str = "x") -> Any:
        return block.add_argument(TensorType(shape, element), name)

    return module, Builder(block), value


def finished(module: Module, *values: Any) -> Module:
    set_results(module.main, values)
    return module


def test_each_op_says_what_it_needs(graph: Any) -> None:
    module, builder, value = graph
    number = value(4, element=I32)
    zero8, zero16 = build.zero_point(builder, 0, I8), build.zero_point(builder, 0, I16)
    weight = build.const(builder, np.zeros((2, 1, 1, 3), np.int8), I4)
    zero4 = build.const(builder, np.zeros(1, np.int8), I4)
    window = {"pad": (0,) * 4, "stride": (1, 1), "dilation": (1, 1)}
    values = [
        builder.emit("tosa.add", number, number, location="sum"),
        builder.emit("tosa.abs", number, location="size"),
        builder.emit("tosa.exp", value(4), location="power"),
        builder.emit("tosa.exp", value(4, element=BF16), location="small power"),
        builder.emit(
            "tosa.conv2d", value(1, 5, 5, 3, element=I8), weight, build.const(builder, np.zeros(2, np.int32)), zero8, zero4,
            acc_type=I32, location="four bits", **window),
        builder.emit(
            "tosa.conv2d", value(1, 5, 5, 3, element=I16), build.const(builder, np.zeros((2, 1, 1, 3), np.int8)),
            build.const(builder, np.zeros(2, np.int64), I48), zero16, zero8, acc_type=I48, location="wide", **window),
        builder.emit("tosa.fft2d", value(1, 4, 4), value(1, 4, 4), inverse=False, location="spectrum")[0],
        build.rescale(builder, number, [1 << 30], [31], 0, 0, I8, rounding="DOUBLE_ROUND"),
    ]
    module = finished(module, *values)
    found = {r.name: r for r in requirements(module) if r.op != "tosa.const"}
    said = {name: (r.profiles, r.extensions) for name, r in found.items()}
    assert said["sum"] == (("pro_int", "pro_fp"), ())
    assert said["size"] == (("pro_int",), ())
    assert said["power"] == (("pro_fp",), ())
    assert said["small power"] == (("pro_int", "pro_fp"), ("bf16",))
    assert said["four bits"][1] == ("int4",)
    assert said["wide"][1] == ("int16",)
    assert said["spectrum"] == (("pro_int", "pro_fp"), ("fft",))
    assert not any(r.violations or r.level != "8k" for r in found.values())
    assert requirements_of(module) == {
        "profiles": ["pro_fp", "pro_int"], "extensions": ["bf16", "doubleround", "fft", "int16", "int4"], "level": "8k"}


def test_limits_of_the_level(graph: Any) -> None:
    module, builder, value = graph
    wide = builder.emit(
        "tosa.max_pool2d", value(1, 9000, 1, 1), kernel=(9000, 1), stride=(1, 1), pad=(0,) * 4, location="wide window")
    deep = builder.emit("tosa.abs", value(*(1,) * 7), location="deep")
    many = builder.emit("tosa.concat", *[value(1)] * 65, axis=0, location="many")
    grown = builder.emit(
        "tosa.resize", value(1, 1, 1, 1), *(build.shape_const(builder, sizes) for sizes in ((600, 2, 600, 2), (0, 0), (0, 0))),
        mode="BILINEAR", location="grown")
    module = finished(module, wide, deep, many, grown)
    listed = {r.name: r for r in requirements(module) if r.level == "none"}
    assert set(listed) == {"wide window", "deep", "many", "grown"}
    reasons = {name: str(r.violations[0]) for name, r in listed.items()}
    assert "a window of 9000" in reasons["wide window"] and "rank 7" in reasons["deep"]
    assert "65 tensors" in reasons["many"] and "a scale of 600/2" in reasons["grown"]
    assert requirements_of(module)["level"] == "none"
    assert not any(r.violations for r in requirements(module, level="none"))


def test_violations_carry_the_tensor_s_name(graph: Any) -> None:
    module, builder, value = graph
    good = builder.emit("tosa.reduce_sum", value(2, 3), axis=0, location="fine")
    bad = builder.emit("tosa.reduce_sum", value(2, 3), axis=0, location="sum over nothing")
    bad.op.attributes["axis"] = 5
    small = builder.emit("tosa.add", value(2, element=I16), value(2, element=I16), location="small")
    found = {r.name: [str(v) for v in r.violations] for r in requirements(finished(module, good, bad, small))}
    assert not found["fine"]
    assert any("axis 5 of a tensor of rank 2" in text for text in found["sum over nothing"])
    assert any("no mode of the operator" in text for text in found["small"])


def settings(**given: Any) -> dict[str, Any]:
    return {**{name: default for name, (_, default, _) in host().targets["tosa"].options().items()}, **given}


@pytest.mark.parametrize("constants", ["inline", "resource"])
def test_the_target_writes_0_30(graph: Any, constants: str, tmp_path: Path) -> None:
    module, builder, value = graph
    image = value(1, 8, 8, 3, element=I8, name="image")
    weight = build.const(builder, np.random.default_rng(0).integers(-127, 127, (4, 3, 3, 3)).astype(np.int8))
    out = builder.emit(
        "tosa.conv2d", image, weight, build.const(builder, np.arange(1, dtype=np.int32)), build.zero_point(builder, 3, I8),
        build.zero_point(builder, 0, I8), pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=I32, location="conv")
    out = build.rescale(builder, out, [1 << 30] * 4, [36] * 4, 0, -5, I8, per_channel=True, rounding="DOUBLE_ROUND")
    module = finished(module, build.transpose(builder, build.clamp(builder, out, -100, 100), (0, 3, 1, 2)))
    target, options = host().targets["tosa"], settings(tosa_version="0.30", constants=constants)
    assert not target.check(module, options)
    emitted = target.emit(module, tmp_path, "net", options)
    assert [path.name for path in emitted.files] == ["net.mlir"] and emitted.report["profiles"] == ["BI"]
    text = (tmp_path / "net.mlir").read_text()
    assert "<{" not in text and "#tosa.conv_quant<input_zp = 3, weight_zp = 0>" in text and "tosa.const_shape" not in text
    x = np.random.default_rng(1).integers(-128, 127, (1, 8, 8, 3)).astype(np.int8)
    (ours,) = run_function(module, {"image": x}).values()
    (older,) = run_function(parse_030(text), {"image": x}).values()
    np.testing.assert_array_equal(older, ours)


def test_what_0_30_cannot_say_is_named_by_the_target(graph: Any) -> None:
    module, builder, value = graph
    module = finished(module, builder.emit("tosa.erf", value(4), location="bell"))
    (finding,) = host().targets["tosa"].check(module, settings(tosa_version="0.30"))
    assert finding.what == "tosa.erf" and finding.names == ("bell",)


def test_command(graph: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from transload.cli import run
    from transload_plugins.tosa.flatbuffer.writer import write

    module, builder, value = graph
    path = tmp_path / "m.tosa"
    write(finished(module, builder.emit("tosa.exp", value(4), location="power")), path)
    assert run(["tosa-requirements", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "tosa.exp" in shown and "power" in shown and "profiles pro_fp" in shown
    assert run(["tosa-requirements", str(path), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["profiles"] == ["pro_fp"] and listed["ops"][0]["name"] == "power"
