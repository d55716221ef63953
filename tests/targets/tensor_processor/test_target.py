"""The targets `tp-*`: converted, cut between chip and host, and verified against the source's own runtime."""

from __future__ import annotations

import json
import shlex
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.cli import run as main
from transload.errors import ArtifactError, ConversionError
from transload.ir import F32, I8, QuantType, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.written import written_at
from transload_targets.tensor_processor.instructions import Program, assemble, read, write
from transload_targets.tensor_processor.simulator import Simulator


@pytest.mark.parametrize("chip", ["tp-large", "tp-small"])
@pytest.mark.models
def test_a_network_is_as_its_own_runtime_computes_it(chip: str, models: Path, tmp_path: Path) -> None:
    made = transload.convert(models / "tflite/mlperf_resnet8_int8/pretrainedResnet_quant.tflite", chip, tmp_path / "out")
    assert made.verification is not None and made.verification.passed, made.verification
    assert made.report.target_report["operators"]["tpu.conv2d"] == 9


def test_floats_of_16_bits_are_judged_by_what_64_roundings_come_to(tmp_path: Path) -> None:
    from transload_targets.tensor_processor.target import TensorProcessor

    target = TensorProcessor("tp-large", "tp")
    assert target.near_enough({"floats": "float32"}) == ()
    assert target.near_enough({"floats": "float16"}) == ("cos=0.99951", "euclid=0.96875")
    assert target.near_enough({"floats": "bfloat16"}) == ("cos=0.96825", "euclid=0.75000")


def test_layers_in_line_are_those_of_the_longest_way_that_round() -> None:
    from transload_targets.tensor_processor.target import layers_in_line

    module = new_module()
    main = module.add_function("main", [TensorType((1, 4, 6, 6), I8)], ["x"])
    build = Builder(main.regions[0].block)
    x = build.block.arguments[0]
    long = short = x
    for _ in range(3):
        long = build.emit("tpu.requantize", long, multiplier=1, shift=1)
        long = build.emit("tpu.reshape", build.emit("tpu.reshape", long, shape=(1, 144)), shape=(1, 4, 6, 6))
    assert layers_in_line(module) == 3
    short = build.emit("tpu.requantize", short, multiplier=1, shift=1)
    set_results(main, [build.emit("tpu.add", long, short)], ["y"])
    assert layers_in_line(module) == 4


@pytest.mark.models
def test_a_network_in_bfloat16_is_near_enough_by_its_own_limits_alone(models: Path, tmp_path: Path) -> None:
    model = models / "tflite/support_mobilenet_v1_0.25_224_float/mobilenet_v1_0.25_224_1_default_1.tflite"
    made = transload.convert(model, "tp-large", tmp_path / "out", options={"floats": "bfloat16"})
    assert made.verification is not None and made.verification.passed and made.report.tolerance["cos"] == 0.96825
    (tensor,) = made.verification.tensors
    assert tensor.metrics["cos"] < 0.9999  # what float32 is held to


def test_what_the_chip_lacks_runs_on_the_host_between_two_parts(tmp_path: Path) -> None:
    """tp-tiny has no floats: an exponential of floats between two layers."""
    q = QuantType(I8, F32, (0.05,), (0,))
    module = new_module()
    main = module.add_function("main", [TensorType((2, 4, 6, 6), q)], ["x"])
    build = Builder(main.regions[0].block)
    pool = {"kernel_shape": (2, 2), "strides": (1, 1), "element": q}
    x = build.emit("top.MaxPool", build.block.arguments[0], **pool)
    x = build.emit("top.Cast", build.emit("top.Erf", build.emit("top.Cast", x, element=F32)), element=q)
    set_results(main, [build.emit("top.MaxPool", x, **pool)], ["y"])
    inputs = {"x": np.random.default_rng(0).integers(-128, 128, (2, 4, 6, 6)).astype(np.int8)}
    wanted = transload.run(module, inputs)["y"]
    made = transload.convert(module, "tp-tiny", tmp_path / "out")
    places = [part.place for part in made.report.partition.parts]  # type: ignore[union-attr]
    assert places == ["target", "host", "target"]
    assert any("top.Erf is not for tp-tiny" in note for note in made.report.notes)
    written = written_at(tmp_path / "out")
    assert written is not None and written.run is not None
    np.testing.assert_array_equal(written.run(inputs)["y"], wanted)


def test_a_model_of_which_the_chip_has_nothing_is_refused(tmp_path: Path) -> None:
    module = new_module()
    main = module.add_function("main", [TensorType((2,), F32)], ["x"])
    build = Builder(main.regions[0].block)
    set_results(main, [build.emit("top.Erf", build.block.arguments[0])], ["y"])
    with pytest.raises(ConversionError, match="takes no op"):
        transload.convert(module, "tp-tiny", tmp_path / "out")


def pooled(tmp_path: Path, **options: object) -> tuple[object, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A small network converted for tp-tiny; its inputs, and what the module computes."""
    q = QuantType(I8, F32, (0.05,), (0,))
    module = new_module()
    main = module.add_function("main", [TensorType((2, 4, 6, 6), q)], ["x"])
    build = Builder(main.regions[0].block, location="pool")
    x = build.emit("top.MaxPool", build.block.arguments[0], kernel_shape=(2, 2), strides=(1, 1), element=q)
    set_results(main, [x], ["the result"])
    inputs = {"x": np.random.default_rng(0).integers(-128, 128, (2, 4, 6, 6)).astype(np.int8)}
    return transload.convert(module, "tp-tiny", tmp_path / "out", options=options), inputs, transload.run(module, inputs)


def test_the_binary_is_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, inputs, wanted = pooled(tmp_path)
    assert {"model.tpu", "model.mlir"} <= {file.name for file in (tmp_path / "out").iterdir()}
    written = written_at(tmp_path / "out")
    assert written is not None and written.run is not None and written.said() == "run by tp-tiny"
    np.testing.assert_array_equal(written.run(inputs)["the result"], wanted["the result"])
    binary = tmp_path / "out" / "model.tpu"
    program = read(binary)
    assert [port.name for port in (*program.inputs, *program.outputs)] == ["x", "the result"]
    assert made.report.target_report["instructions"] == len(program.instructions)  # type: ignore[attr-defined]
    write(replace(program, instructions=program.instructions[:-1]), binary)
    with pytest.raises(ArtifactError, match="breaks the rules of tp-tiny"):  # what changed is read again
        written.run(inputs)


@pytest.mark.parametrize("model", ["digits_int8.tflite", "digits_float.tflite"])
def test_a_program_that_breaks_a_rule_is_no_result(
    model: str, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    from transload_targets.tensor_processor import instructions

    def wrong(program: Program, file: Path) -> None:
        write(replace(program, instructions=tuple(replace(one, wait=0) for one in program.instructions)), file)

    monkeypatch.setattr(instructions, "write", wrong)
    with pytest.raises(ArtifactError, match="breaks the rules of tp-small") as caught:
        transload.convert(root / "examples" / "digits" / model, "tp-small", tmp_path / "out")
    assert any("nothing says which is first" in finding.why for finding in caught.value.findings)
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["report.json"]


def test_the_program_is_written_as_text_where_that_is_asked_for(tmp_path: Path) -> None:
    pooled(tmp_path, text=True, groups="layers")
    assert assemble((tmp_path / "out" / "model.tptxt").read_text()) == read(tmp_path / "out" / "model.tpu")


def test_tensors_within_the_binary_are_compared(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = root / "examples" / "digits" / "digits_int8.tflite"
    transload.convert(model, "tp-small", tmp_path / "out", verify="no")
    ran: list[int] = []
    run = Simulator.run
    monkeypatch.setattr(Simulator, "run", lambda self, *given, **how: (ran.append(1), run(self, *given, **how))[1])
    transload.compare(model, tmp_path / "out")
    judged = len(ran)
    ran.clear()
    comparison = transload.compare(model, tmp_path / "out", per_layer=True)
    assert comparison.reference and len(comparison.tensors) > 4
    assert len(ran) == judged + 1, "all that is within it, in one run"
    ran.clear()
    off = [(tensor.name, tensor.metrics) for tensor in comparison.tensors if tensor.metrics["max_abs"]]
    assert not off
    assert main(["run", str(tmp_path / "out"), "--all"]) == 0 and len(ran) == 1


def test_pictures_and_what_layers_and_groups_cost_are_written_where_that_is_asked_for(tmp_path: Path) -> None:
    made, _, _ = pooled(tmp_path, pictures=True)
    told = json.loads((tmp_path / "out" / "model.cycles.json").read_text())
    assert told["cycles"] == made.report.target_report["cycles"]  # type: ignore[attr-defined]
    assert len(told["groups"]) == 1 and [row["name"] for row in told["layers"]][-1] == "pool"
    for picture in ("time", "roofline", "memory"):
        assert ElementTree.parse(tmp_path / "out" / f"model.{picture}.svg").getroot().tag.endswith("svg")
    assert json.loads((tmp_path / "out" / "model.trace.json").read_text())["traceEvents"]


def test_local_memory_is_filled_densely_where_that_is_asked_for(tmp_path: Path) -> None:
    made, inputs, wanted = pooled(tmp_path, local="dense")
    report = made.report.target_report  # type: ignore[attr-defined]
    assert report["local_bytes"] == report["local_bytes_at_once"]
    written = written_at(tmp_path / "out")
    assert written is not None and written.run is not None
    np.testing.assert_array_equal(written.run(inputs)["the result"], wanted["the result"])


def test_eight_bits_are_judged_by_what_they_can_keep_and_a_wrong_program_fails(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    from transload.errors import VerificationError
    from transload_targets.tensor_processor.lowering import scaling

    model = root / "examples" / "digits" / "digits_int8.tflite"
    made = transload.convert(model, "tp-tiny", tmp_path / "right")
    assert made.verification is not None and made.verification.passed
    assert made.report.tolerance["integer"] == 80
    nearest = scaling.eight_bits
    monkeypatch.setattr(scaling, "eight_bits", lambda real, most: (nearest(real, most)[0], max(nearest(real, most)[1] - 2, 0)))
    try:
        wrong = transload.convert(model, "tp-tiny", tmp_path / "wrong").verification
    except VerificationError:
        return
    assert wrong is not None and wrong.failed


def test_a_model_of_which_a_chip_takes_nothing_is_refused_with_the_reason_and_the_way(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    model = root / "examples" / "digits" / "digits_float.tflite"
    with pytest.raises(ConversionError, match="takes no op") as refused:
        transload.convert(model, "tp-tiny", "out")
    (why,) = {finding.why for finding in refused.value.findings}
    assert why == "tp-tiny computes with integers only, and this works on floats"
    (hint,) = {finding.hint for finding in refused.value.findings}
    np.save("samples.npy", np.load(root / "examples" / "digits" / "test_images.npz")["images"][:16])
    command = shlex.split(hint.partition(": ")[2].replace("SAMPLES", "samples.npy"))
    assert command[0] == "transload" and main([*command[1:], "-o", "out"]) == 0
