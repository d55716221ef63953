"""From TOSA to a compiled model and its report."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.chosen_target import target_options
from transload.emission import check_for, emit_for
from transload.errors import ConversionError, TargetError, TransloadError, UsageError
from transload.hosting import cut_for
from transload.ir import F32, I8, I16, I32, Module, QuantType, TensorType, new_module
from transload.ir.build import Builder
from transload.ir.module import set_results
from transload.plugin import Quantized, Source
from transload.plugin_host import host
from transload_targets.ethosu import compiler
from transload_targets.ethosu.accelerators import ACCELERATORS
from transload_targets.ethosu.check import HOST, check_module

from tests.support.graphs import Graph

RESCALE: dict[str, Any] = {
    "scale32": True, "rounding_mode": "SINGLE_ROUND", "per_channel": False, "input_unsigned": False, "output_unsigned": False}
NAMES = [accelerator.name for accelerator in ACCELERATORS]


def target(name: str = "ethos-u85-256") -> Any:
    return host().get("targets", name)


def layer(m: Any, x: Any, name: str = "layer") -> Any:
    """A 1x1 convolution of int8, rescaled to int8."""
    channels = x.shape[-1]
    weight = m.array(np.arange(4 * channels).reshape(4, 1, 1, channels) - 8, I8)
    zeros = m.array([0], I8), m.array([0], I8)
    sums = m.emit("tosa.conv2d", x, weight, m.array(np.arange(4), I32), *zeros, location=f"{name}/sums", pad=(0, 0, 0, 0),
                  stride=(1, 1), dilation=(1, 1), acc_type=I32)
    return m.emit(
        "tosa.rescale", sums, m.array([1 << 30], I32), m.array([35], I8), m.array([0], I32), m.array([3], I8), location=name,
        element=I8, **RESCALE)


@pytest.fixture
def network(make: Callable[..., Module]) -> Module:
    return make([TensorType((1, 6, 5, 3), I8)], layer)


def quantized_edges(m: Any, x: Any) -> Any:
    """Floats quantized to scale 0.5, the layer, and floats again: 0.25 * (q - 3)."""
    scaled = m.emit("tosa.mul", x, m.array([[[[2.0]]]], F32), m.array([0], I8), location="quantized")
    wide = m.emit("tosa.cast", scaled, element=I16, location="quantized")
    q = m.emit(
        "tosa.rescale", wide, m.array([1 << 30], I32), m.array([30], I8), m.array([0], I16), m.array([7], I8),
        location="quantized", element=I8, **RESCALE)
    floats = m.emit("tosa.cast", layer(m, q), element=F32, location="dequantized")
    moved = m.emit("tosa.sub", floats, m.array([[[[3.0]]]], F32), location="dequantized")
    return m.emit("tosa.mul", moved, m.array([[[[0.25]]]], F32), m.array([0], I8), location="dequantized")


def test_all_configurations_are_registered_and_import_nothing() -> None:
    code = ("import sys; from transload.plugin_host import host; print(*sorted(n for n in host().targets if 'ethos-u' in n));"
            "assert not {'ethosu', 'transload_targets.ethosu.check'} & set(sys.modules)")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == sorted(NAMES)


def test_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "vela_version", lambda: None)
    assert "pip install 'transload[ethosu]'" in target().available()
    monkeypatch.setattr(compiler, "vela_version", lambda: "4.2.0")
    assert "TOSA 1.0" in target().available()
    monkeypatch.setattr(compiler, "vela_version", lambda: "5.2.0")
    assert target().available() is None


@pytest.mark.parametrize(("options", "said"), [
    ({"system_config": "Ethos_U55_Deep_Embedded"}, "Ethos_U85_SYS_DRAM_Mid"), ({"memory_mode": "Nowhere"}, "Shared_Sram"),
    ({"optimise": "Speed"}, "Performance, Size"), ({"output_format": "elf"}, "raw, tflite"), ({"float_ops": "all"}, "edges"),
    ({"timeout": 0}, "timeout must be at least 1 second, not 0"), ({"config": "/there/is/no.ini"}, "no file"),
    ({"arena_cache_size": -1}, "arena_cache_size must be a number of bytes, not -1")])
def test_wrong_options_are_said_before_anything_runs(options: dict[str, Any], said: str, network: Module) -> None:
    with pytest.raises(UsageError, match=said):
        target().check(network, options)


def test_tensors_do_not_lie_in_flash() -> None:
    u85 = ACCELERATORS[-1]
    assert compiler.Settings.of({}, u85).memory_mode == "Dedicated_Sram_384KB"
    assert compiler.Settings.of({"system_config": "Ethos_U85_SYS_Flash_Low"}, u85).memory_mode == "Shared_Sram"


@pytest.mark.parametrize("name", NAMES)
def test_compiles_for_every_configuration(vela: None, name: str, network: Module, tmp_path: Path) -> None:
    assert not target(name).check(network, {})
    emitted = target(name).emit(network, tmp_path, "net", {})
    assert [file.name for file in emitted.files] == [f"net_{name}.npz", "net.tosa"]
    assert sorted(emitted.files) == sorted(tmp_path.iterdir())
    assert "cmd_data.npy" in zipfile.ZipFile(emitted.files[0]).namelist()
    report = emitted.report
    assert report["accelerator"] == name
    assert report["npu_percent"] == 100.0
    assert report["cpu_ops"] == 0
    assert report["total_cycles"] == report["cycles"]["total"] >= report["cycles"]["npu"] > 0
    assert report["inference_ms"] == pytest.approx(report["total_cycles"] / report["clock_mhz"] / 1e3)
    assert report["inferences_per_second"] == pytest.approx(1e3 / report["inference_ms"])
    assert report["macs"] >= 6 * 5 * 3 * 4 and "Vela" in report["macs_are"] and "Vela" in report["cycles_are"]
    assert sum(report["memory_kib"].values()) > 0
    assert {op["tensor"] for op in report["ops"]} <= {"layer", "layer/sums"}
    assert report["vela"] == compiler.vela_version()


def test_a_tflite_for_tflm(vela: None, network: Module, tmp_path: Path) -> None:
    emitted = target("ethos-u55-64").emit(network, tmp_path, "net", {"output_format": "tflite", "optimise": "Size"})
    assert emitted.files[0].read_bytes()[4:8] == b"TFL3"


def test_a_refusal_of_velas_own_names_the_op(vela: None, make: Callable[..., Module], tmp_path: Path) -> None:
    def body(m: Any, x: Any) -> Any:
        return m.emit("tosa.reduce_max", x, axis=1, location="the greatest")

    module = make([TensorType((2, 3), I32)], body)
    with pytest.raises(TargetError) as raised:
        target("ethos-u55-128").emit(module, tmp_path, "net", {})
    assert [(f.what, f.names) for f in raised.value.findings] == [("tosa.reduce_max", ("the greatest",))]
    assert "Traceback" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_tensor_without_elements_never_reaches_vela(vela: None, make: Callable[..., Module], tmp_path: Path) -> None:
    module = make([TensorType((0, 3), I32)], lambda m, x: m.emit("tosa.abs", x, location="nothing"))
    with pytest.raises(ConversionError, match="no tensor without elements"):
        target().emit(module, tmp_path, "net", {})


@pytest.mark.parametrize(("ending", "kind", "said"), [
    ("raise OSError(28, 'No space left on device')", TransloadError, "cannot write to .*: Vela: No space left on device"),
    ("raise OSError('262144 requested and 0 written')", TransloadError, "Vela: No space left on device"),
    ("raise PermissionError(13, 'Permission denied', 'x')", TransloadError, "Vela: Permission denied"),
    ("raise MemoryError", TargetError, "Vela ran out of memory"),
])
def test_what_the_machine_lacks_is_no_refusal_of_the_model(
    monkeypatch: pytest.MonkeyPatch, vela: None, network: Module, tmp_path: Path, ending: str, kind: type, said: str,
) -> None:
    monkeypatch.setattr(compiler, "_RUN_VELA", ending)
    with pytest.raises(kind, match=said) as caught:
        transload.convert(network, "ethos-u85-256", tmp_path / "out")
    assert "refused" not in str(caught.value)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("*.tosa"))


def test_vela_may_not_take_forever(vela: None, network: Module, tmp_path: Path) -> None:
    host().get("writers", "tosa")
    accelerator = target().accelerator
    settings = compiler.Settings.of({}, accelerator)
    slow = compiler.Settings(**{**vars(settings), "timeout": 0.001})
    with pytest.raises(TargetError, match="did not finish"):
        compiler.compile_file(tmp_path / "net.tosa", accelerator, slow, tmp_path)


@pytest.mark.parametrize(("said", "complaints"), [
    ("RuntimeError: Non-passthrough operation (SHL) could not run on NPU", [("SHL", "Vela could not place it on the NPU")]),
    ("RuntimeError: Compilation failed: Validation error:\nSlice:\n - ERROR_IF(size[index] <= 0)\n - Size too small\n"
     "Slice:\n - ERROR_IF(size[index] <= 0)\n - Size too small\n", [("Slice", "ERROR_IF(size[index] <= 0); Size too small")]),
    ("ethosu.vela.errors.CliOptionError: 'Error: Incorrect argument'", [("", "Error: Incorrect argument")]),
    ("", [("", "exit status 1")])])
def test_velas_messages_are_taken_apart(said: str, complaints: list[tuple[str, str]]) -> None:
    traceback = f'Traceback (most recent call last):\n  File "x.py", line 1\n{said}' if said else ""
    assert list(compiler._refusal(1, "", traceback).complaints) == complaints


def test_quantizing_at_the_edges_is_left_to_the_host(vela: None, make: Callable[..., Module], tmp_path: Path) -> None:
    module = make([TensorType((1, 6, 5, 3), F32)], quantized_edges)
    emitted = emitted_of(module, tmp_path)
    assert [str(file.relative_to(tmp_path)) for file in emitted.files] == [
        "1-host/net.tosa", "2-target/net_ethos-u85-256.npz", "2-target/net.tosa", "3-host/net.tosa"]
    assert emitted.report["inputs"] == [{"name": "quantized", "type": "tensor<1x6x5x3xi8>", "scale": 0.5, "zero_point": 7}]
    assert emitted.report["outputs"] == [{"name": "layer", "type": "tensor<1x6x5x4xi8>", "scale": 0.25, "zero_point": 3}]
    assert [op["op"] for op in emitted.report["ops"] if op["on"] == "host"] == [
        "tosa.mul", "tosa.cast", "tosa.rescale", "tosa.cast", "tosa.sub", "tosa.mul"]
    assert emitted.report["npu_percent"] < 100

    found = target().check(module, {"float_ops": "refuse"})
    assert {name for finding in found for name in finding.names} == {"quantized", "dequantized"}
    assert all("float_ops=host" in finding.hint and "float_ops=refuse" in finding.hint for finding in found)


def emitted_of(module: Module, folder: Path, **options: Any) -> Any:
    """What is written of a module, with the host's parts."""
    settings = target_options(target(), options)
    return emit_for(target(), module, check_for(target(), module, settings), folder, "net", settings)


def rounded_away_from_zero(m: Any, x: Any) -> Any:
    """Floats quantized to scale 0.5 by doubling their absolute values, cutting and halving them; then the layer."""
    rank = (1,) * 4
    doubled = m.emit("tosa.mul", x, m.array(np.full(rank, 4.0), F32), m.array([0], I8), location="quantized")
    cut = m.emit("tosa.floor", m.emit("tosa.abs", doubled, location="quantized"), location="quantized")
    cut = m.emit("tosa.cast", cut, element=I16, location="quantized")
    size = m.emit("tosa.arithmetic_right_shift", cut, m.array(np.full(rank, 1), I16), round=True, location="quantized")
    positive = m.emit("tosa.greater_equal", x, m.array(np.full(rank, 0.0), F32), location="quantized")
    negated = m.emit("tosa.negate", size, m.array([0], I16), m.array([0], I16), location="quantized")
    whole = m.emit("tosa.select", positive, size, negated, location="quantized")
    return layer(m, m.emit(
        "tosa.rescale", whole, m.array([1 << 30], I32), m.array([30], I8), m.array([0], I16), m.array([7], I8),
        location="quantized", element=I8, **RESCALE))


def test_quantizing_with_halves_away_from_zero_is_left_to_the_host(
    vela: None, make: Callable[..., Module], tmp_path: Path,
) -> None:
    emitted = emitted_of(make([TensorType((1, 6, 5, 3), F32)], rounded_away_from_zero), tmp_path)
    assert emitted.report["inputs"] == [{"name": "quantized", "type": "tensor<1x6x5x3xi8>", "scale": 0.5, "zero_point": 7}]
    assert sum(op["on"] == "host" for op in emitted.report["ops"]) == 9


def test_the_parts_compute_what_the_whole_does(make: Callable[..., Module], tmp_path: Path) -> None:
    module = make([TensorType((1, 6, 5, 3), F32)], quantized_edges)
    data = np.random.default_rng(0).normal(0, 20, (1, 6, 5, 3)).astype(np.float32)
    whole = transload.run(module, {"in0": data})
    cut = cut_for(target(), module, target_options(target(), {}))
    assert cut is not None and [part.place for part in cut.parts] == ["host", "target", "host"]
    values: dict[str, Any] = {"in0": data}
    for part in cut.parts:
        values = transload.run(part.module, values)
    np.testing.assert_array_equal(values["dequantized"], whole["dequantized"])


def test_floats_inside_are_refused_or_left_to_the_host_on_request(make: Callable[..., Module]) -> None:
    def body(m: Any, x: Any) -> Any:
        floats = m.emit("tosa.exp", m.emit("tosa.cast", layer(m, x), element=F32, location="wide"), location="power")
        return m.emit("tosa.cast", floats, element=I8, location="back")

    module = make([TensorType((1, 6, 5, 3), I8)], body)
    with pytest.raises(TargetError) as raised:
        check_for(target(), module, target_options(target(), {}))
    assert {finding.what for finding in raised.value.findings} == {"tosa.cast", "tosa.exp"}
    cut = check_for(target(), module, target_options(target(), {"float_ops": "host"}))
    assert cut is not None and [part.place for part in cut.parts] == ["target", "host"]
    assert [op.origin for op in cut.on_host] == ["wide", "power", "back"]


def test_all_that_the_npu_does_not_take_is_left_on_request_and_it_goes_on_behind(
    vela: None, make: Callable[..., Module], tmp_path: Path,
) -> None:
    """Integers that it has no operation for, between two layers; cycles and ops of both of its parts are told as one."""
    def body(m: Any, x: Any) -> Any:
        wide = m.emit("tosa.cast", layer(m, x, "one"), element=I32, location="wide")
        counted = m.emit("tosa.cast", m.emit("tosa.clz", wide, location="zeros"), element=I8, location="narrow")
        return layer(m, m.emit("tosa.cast", m.emit("tosa.exp", m.emit(
            "tosa.cast", counted, element=F32, location="f"), location="e"), element=I8, location="g"), "two")

    module = make([TensorType((1, 6, 5, 3), I8)], body)
    with pytest.raises(TargetError) as raised:
        check_for(target(), module, target_options(target(), {}))
    assert all("--host TARGET" in finding.hint for finding in raised.value.findings)
    emitted = emitted_of(module, tmp_path, float_ops="host")
    assert [part.place for part in emitted.parts] == ["target", "host", "target"]
    first, _, last = (part.report for part in emitted.parts)
    report = emitted.report
    assert report["total_cycles"] == first["total_cycles"] + last["total_cycles"]
    assert report["npu_ops"] == first["npu_ops"] + last["npu_ops"] and 0 < report["npu_percent"] < 100
    assert report["sram_kib"] == max(first["sram_kib"], last["sram_kib"])
    assert {"tosa.exp"} <= {op["op"] for op in report["ops"] if op["on"] == "host"}


def test_a_float_model_is_told_to_be_quantized(make: Callable[..., Module]) -> None:
    module = make([TensorType((2, 3), F32)], lambda m, x: m.emit("tosa.exp", x, location="power"))
    for mode in ("edges", "host", "refuse"):
        (finding,) = target().check(module, {"float_ops": mode})
        assert finding.hint == "quantize the model first (int8, or int16 activations)"


@pytest.mark.one_in(3)
@pytest.mark.models
@pytest.mark.parametrize("model", ["mlperf_kws_int8", "mlperf_vww_int8", "mlperf_resnet8_int8", "mlperf_ad_int8"])
def test_real_models_run_on_the_npu_alone(vela: None, models: Path, model: str, tmp_path: Path) -> None:
    file = next((models / "tflite" / model).glob("*.tflite"), None)
    if file is None:
        pytest.skip(f"TRANSLOAD_MODELS holds no tflite/{model}/*.tflite")
    for name in ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256"):
        artifact = transload.convert(file, name, tmp_path / name, verify=False)
        assert artifact.report.target_report["npu_percent"] == 100.0


def test_the_written_tosa_is_what_was_compiled(vela: None, network: Module, tmp_path: Path) -> None:
    emitted = target().emit(network, tmp_path, "net", {})
    module = host().get("readers", "tosa")(Source(emitted.files[1]))
    data = np.random.default_rng(1).integers(-128, 128, (1, 6, 5, 3), np.int8)
    np.testing.assert_array_equal(transload.run(module, {"in0": data})["layer"], transload.run(network, {"in0": data})["layer"])


def test_elementwise_operators_alone_are_for_the_npu(vela: None, tmp_path: Path) -> None:
    """They are lowered to the ops that quantizing is lowered to, and were taken for it, whole, with nothing left for the NPU."""
    graph = Graph((1, 4, 4, 8), (1, 4, 4, 8))
    module = graph.done(graph.Add(*graph.inputs))
    numbers = np.random.default_rng(0)
    samples = [{name: numbers.standard_normal((1, 4, 4, 8)).astype(np.float32) for name in module.inputs} for _ in range(3)]
    artifact = transload.convert(module, "ethos-u85-256", tmp_path, quantize="int8", data=samples)
    assert artifact.verification is not None and artifact.verification.passed
    assert artifact.report.partition is not None
    assert [part.place for part in artifact.report.partition.parts] == ["host", "target", "host"]


INI = """[System_Config.Mine]
core_clock=200e6
axi0_port=Sram
axi1_port=OffChipFlash
Sram_clock_scale=1.0
Sram_burst_length=32
Sram_read_latency=32
Sram_write_latency=32
OffChipFlash_clock_scale=0.125
OffChipFlash_burst_length=128
OffChipFlash_read_latency=64
OffChipFlash_write_latency=64
[Memory_Mode.MyMode]
const_mem_area=Axi1
arena_mem_area=Axi0
cache_mem_area=Axi0
"""
OWN = {"system_config": "Mine", "memory_mode": "MyMode"}


@pytest.mark.parametrize(("text", "name", "options", "said"), [
    (INI, "my.ini", {"memory_mode": "MyMode"}, r"has no section \[System_Config.Ethos_U55_High_End_Embedded\]\n.*=NAME, of Mine"),
    (INI, "my.ini", {"system_config": "Mine"}, r"has no section \[Memory_Mode.Shared_Sram\]\n.*=NAME, of MyMode"),
    (INI, "my.cfg", OWN, "which are .ini files"), ("TFL3\xff", "my.ini", OWN, "is no .ini file"),
    (INI * 2, "my.ini", OWN, "is no .ini file"), ("", "my.ini", OWN, r"a section \[System_Config.NAME\]"),
    (INI.replace("Axi0", "Nowhere"), "my.ini", OWN, "Vela does not take .*my.ini: "),
    (INI.replace("200e6", "fast"), "my.ini", OWN, "Vela does not take .*my.ini: "),
    (INI + "arena_cache_size=-5", "my.ini", OWN, "Vela does not take .*my.ini: ")])
def test_a_configuration_that_vela_does_not_take_is_no_fault_of_the_model(
    vela: None, text: str, name: str, options: dict[str, str], said: str, network: Module, tmp_path: Path,
) -> None:
    chip, folder = target("ethos-u55-128"), tmp_path / "out"
    folder.mkdir()
    (tmp_path / "good.ini").write_text(INI, encoding="utf-8")
    assert chip.emit(network, folder, "good", {"config": str(tmp_path / "good.ini"), **OWN}).report["system_config"] == "Mine"
    (tmp_path / name).write_text(text, encoding="latin-1")
    with pytest.raises(UsageError) as caught:
        chip.emit(network, folder, "net", {"config": str(tmp_path / name), **options})
    assert re.search(said, f"{caught.value.message}\n{caught.value.hint}"), caught.value


def test_an_arena_that_is_too_small_is_said_to_be(vela: None, network: Module, tmp_path: Path) -> None:
    for size, beyond in ((0, False), (16, True), (1 << 16, False)):
        report = target("ethos-u55-128").emit(network, tmp_path, "net", {"arena_cache_size": size}).report
        assert ("arena_cache_is" in report) == beyond == bool(size and report["sram_kib"] > report["arena_cache_kib"])


def test_a_model_that_was_quantized_is_told_what_stayed_float_and_not_to_quantize_it(make: Callable[..., Module]) -> None:
    module = make([TensorType((2, 3), F32)], lambda m, x: m.emit("tosa.exp", x, location="power"))
    module.quantization = Quantized(None, {"power": "it has no form in integers", **{f"t{number}": "so" for number in range(5)}})
    (finding,) = check_module(module, ACCELERATORS[0], host=HOST)
    assert finding.why.endswith("; quantizing left float 'power' (it has no form in integers), 't0' (so), 't1' (so), 3 more")
    assert finding.hint == HOST


@pytest.mark.parametrize(("name", "rounding"), [("Tanh", "once"), ("Softmax", "once"), ("Sqrt", "truncate"), ("Sqrt", "once")])
def test_functions_of_int16_are_for_all_of_the_family(name: str, rounding: str) -> None:
    """ONNX's were floats, and LiteRT's square root a gather, which the smaller ones do not have."""
    types = [QuantType(I16, F32, (scale,), (0,)) for scale in (2e-4, 2.0**-15)]
    module = new_module()
    module.add_function("main", [TensorType((1, 4, 8), types[0])], ["x"])
    block = module.body_of_main
    attributes = {"axis": 2} if name == "Softmax" else {"rounding": rounding}
    made = Builder(block, None, "y").emit(f"top.{name}", *block.arguments, element=types[1], **attributes)
    set_results(module.main, [made], ["y"])
    for accelerator in ACCELERATORS[0], ACCELERATORS[-1]:
        assert not check_module(transload.lower(module, **target(accelerator.name).converting), accelerator)
