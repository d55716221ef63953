"""The target `sophgo`: text that holds to the grammar of TPU-MLIR's Top dialect, weights by name, programs that are run."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, ReadError, RunError, TargetError, TransloadError, UsageError
from transload.ir import BOOL, F16, F32, I8, QuantType, Type, Value
from transload.ir.build import Builder
from transload_targets.sophgo.environment import absent
from transload_targets.sophgo.operators import ABSENT, OPERATORS
from transload_targets.sophgo.text import calibration_text, findings_of, precision_text, written

from tests.targets.sophgo.cases import CASES, RNG, SHAPE, made

ENVIRONMENT = os.environ.get("TRANSLOAD_TPU_MLIR", "")
"""Where TPU-MLIR is, for the tests that run it."""
LINE = re.compile(
    r'(%\w+) = "top\.(\w+)"\(([^)]*)\)(?: \{(.*)\})? : \(([^)]*)\) -> (none|tensor<(?:\d+x)+f32>) loc\((unknown|"[^"]+")\)')
KINDS = {
    "ints": r"\[(?:-?\d+ : i64(?:, )?)*\]", "f64s": r"\[(?:-?[\d.E+-]+ : f64(?:, )?)*\]", "i64": r"-?\d+ : i64",
    "si32": r"-?\d+ : si32",
    "f64": r"-?\d\.\d+E[+-]\d+ : f64", "bool": "true|false", "str": r'"\w+"'}


@pytest.mark.parametrize("name", CASES)
def test_text_holds_to_the_grammar_of_top(name: str) -> None:
    """Each line: operands that are there, of the types that it says, attributes of the kinds that TPU-MLIR asks for."""
    module = made(SHAPE, CASES[name])
    assert not findings_of(module)
    found = written(module, "net", "net.npz")
    head, declared, *lines, end, _, _, _ = found.text.split("\n")
    assert 'module.weight_file = "net.npz"' in head and 'module.state = "TOP_F32"' in head
    assert declared.startswith("  func.func @main(%args0: tensor<1x4x9x8xf32> loc(unknown)) -> (tensor<")
    types, names = {"%args0": "tensor<1x4x9x8xf32>"}, []
    for line in lines:
        match = LINE.fullmatch(line.strip())
        assert match is not None, line
        result, operator, operands, attributes, taken, type_, location = match.groups()
        assert [types[operand] for operand in filter(None, operands.split(", "))] == list(filter(None, taken.split(", ")))
        types[result] = type_
        for attribute in re.split(r", (?=\w+ = )", attributes or ""):
            value = attribute.partition(" = ")[2]
            assert not attribute or any(re.fullmatch(kind, value) for kind in KINDS.values()), attribute
        if operator in ABSENT:
            assert len(operands.split(", ")) == ABSENT[operator]
        names.append(location)
        if operator == "Weight":
            held = found.weights[location.strip('"')]
            assert type_ == f"tensor<{'x'.join(map(str, held.shape))}xf32>" and held.dtype == np.float32
    named = [location for location in names if location != "unknown"]
    assert len(set(named)) == len(named) and end.strip().startswith("return %")


def quantized(build: Builder, x: Value) -> Value:
    q = QuantType(I8, F32, (0.05,), (-20,))
    made_: Value = build.emit("top.Relu", x, element=q)
    return made_


def test_quantized_tensors_are_rounded_to_their_steps_or_ranges_of_a_table() -> None:
    module = made((2, 4), quantized, QuantType(I8, F32, (0.02,), (3,)))
    stepped, plain = written(module, "net", "w"), written(module, "net", "w", rounds=False)
    assert [name in stepped.text for name in ("top.Round", "top.Clip")] == [True, True] and "top.Round" not in plain.text
    table = calibration_text(plain).splitlines()
    assert table[0].startswith("#") and table[1].split() == ["x", "2.6200000", "-2.6200000", "2.4800000"] and len(table) == 3


def test_floats_that_are_quantized_are_rounded_or_have_their_range_in_the_table() -> None:
    q = QuantType(I8, F32, (0.02,), (3,))
    module = made((2, 4), lambda build, x: build.emit("top.Abs", build.emit("top.Cast", x, element=q)))
    stepped, plain = written(module, "net", "w"), written(module, "net", "w", rounds=False)
    assert stepped.text.index("top.Round") < stepped.text.index("top.Abs") and "top.Round" not in plain.text
    assert plain.ranges["x"] == (-131 * 0.02, 124 * 0.02)


def test_halves_go_up_by_twice_the_steps() -> None:
    q = QuantType(I8, F32, (0.5,), (3,))
    module = made((2, 4), lambda build, x: build.emit("top.Abs", build.emit("top.Cast", x, element=q, round_mode="HalfUp")))
    text = written(module, "net", "w").text
    assert re.findall(r'"top\.(\w+)"', text)[2:10] == [
        "AddConst", "MulConst", "Clip", "Floor", "AddConst", "MulConst", "Floor", "MulConst"]
    numbers = [float(number) for number in re.findall(r"const_val = ([-+0-9.E]+)", text)]
    x = np.float32([-100, -1.25, -0.75, -0.25, 0.25, 0.75, 100])
    halves = np.floor(np.clip((x + numbers[0]) * numbers[1], 0, 510))
    np.testing.assert_array_equal(
        np.floor((halves + numbers[2]) * numbers[3]) * numbers[4], np.clip(np.floor(x / 0.5 + 0.5), -131, 124) * 0.5)


def test_names_are_one_word_in_tables() -> None:
    q = QuantType(I8, F32, (0.02,), (3,))
    module = made((2, 4), quantized, q)
    module.main.attributes["arg_attrs"] = [{"ml_program.identifier": "an input\t of mine"}]
    plain = written(module, "net", "w", rounds=False)
    assert all(len(line.split()) == 4 for line in calibration_text(plain).splitlines()[1:])
    assert 'loc("an_input_of_mine")' in plain.text and "an_input_of_mine" in plain.ranges


def test_floats_between_integers_stay_float() -> None:
    """The operator that makes a float, and the one that reads it; a table has a line for each, as TPU-MLIR wants."""
    q = QuantType(I8, F32, (0.02,), (3,))

    def build(to: Builder, x: Value) -> Value:
        first = to.emit("top.Relu", x, element=q)
        between = to.emit("top.Abs", to.emit("top.Cast", first, element=F32))
        return to.emit("top.Relu", to.emit("top.Cast", to.emit("top.Exp", between), element=q), element=q)

    plain = written(made((2, 4), build, q), "net", "w", rounds=False)
    assert len(plain.floats) == 2 and len(precision_text(plain).splitlines()) == 3
    assert {line.split()[0] for line in calibration_text(plain).splitlines()[1:]} >= set(plain.floats)


@pytest.mark.parametrize(("element", "attributes", "operators"), [
    (I8, {}, ["Abs", "Floor", "Sign", "Mul"]), (I8, {"round_mode": "HalfAwayFromZero", "saturate": True}, ["Clip", "Round"]),
    (BOOL, {}, ["CompareConst"]), (F16, {}, [])])
def test_casts(element: Type, attributes: dict[str, Any], operators: list[str]) -> None:
    module = made((2, 4), lambda build, x: build.emit("top.Cast", x, element=element, **attributes))
    assert re.findall(r'"top\.(\w+)"', written(module, "net", "w").text)[2:] == operators


def test_what_top_has_no_operator_for_is_told_at_once(tmp_path: Path) -> None:
    module = made((4, 4), lambda build, x: build.emit("top.Erf", build.emit("top.CumSum", build.emit(
        "top.Reverse", x, axes=(0,)), axis=0)))
    assert "top.CumSum" not in OPERATORS
    with pytest.raises(ConversionError) as caught:
        transload.convert(module, "sophgo", tmp_path / "out")
    assert {finding.what for finding in caught.value.findings} >= {"top.CumSum", "top.Reverse"}
    assert not list((tmp_path / "out").glob("*.mlir"))


def programs(folder: Path, deploy: str, runner: str) -> str:
    """An environment whose programs are shell scripts."""
    (folder / "bin").mkdir()
    for name, script in (("model_deploy", deploy), ("model_runner", runner)):
        path = folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    return str(folder)


def test_programs_of_the_environment_make_and_run_the_bmodel(tmp_path: Path) -> None:
    """The model is a ReLU, and a window of one, of an input that is not negative, so its simulator may copy it."""
    pool = {"kernel_shape": (1, 1), "strides": (1, 1)}
    module = made((1, 1, 2, 4), lambda build, x: build.emit("top.Relu", build.emit("top.MaxPool", x, **pool)))
    copy = f"{sys.executable} -c \"import numpy; numpy.savez('outputs.npz', y=numpy.load('inputs.npz')['x'])\""
    folder = programs(tmp_path, "echo $@ > model_top.bmodel; ls >> model_top.bmodel", copy)
    artifact = transload.convert(module, "sophgo", tmp_path / "out", options={"environment": folder, "precision": "F16"})
    said = (tmp_path / "out" / "model_top.bmodel").read_text()
    asked = "--mlir model_top.mlir --quantize F16 --processor bm1684x --model model_top.bmodel"
    assert asked in said and "model_top_weights.npz" in said
    from transload.written import written_at

    x = RNG.uniform(size=(1, 1, 2, 4)).astype(np.float32)
    found = written_at(tmp_path / "out")
    assert found is not None and found.run is not None and artifact.files
    np.testing.assert_array_equal(found.run({"x": x})["y"], x)


def test_an_environment_that_only_a_report_names_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Artifacts come from anybody; whose programs are run, the user says."""
    from transload.written import written_at

    monkeypatch.delenv("TRANSLOAD_TPU_MLIR", raising=False)
    module = made((1, 4), lambda build, x: build.emit("top.Relu", x))
    planted, mark = tmp_path / "planted", tmp_path / "mark"
    planted.mkdir()
    folder = programs(planted, "echo > model_top.bmodel", f"touch {mark}; exit 1")
    transload.convert(module, "sophgo", tmp_path / "out", options={"environment": folder}, verify=False)
    report = tmp_path / "out" / "report.json"
    report.write_text(report.read_text().replace(folder, f"{folder}/../planted"))
    x = {"x": np.zeros((1, 4), np.float32)}
    monkeypatch.setenv("TRANSLOAD_TPU_MLIR", "")
    found = written_at(tmp_path / "out")
    assert found is not None and found.run is None and found.execute(x)["y"].shape == (1, 4)
    assert "no environment with TPU-MLIR is named: TRANSLOAD_TPU_MLIR=PATH says" in found.said()
    monkeypatch.setenv("TRANSLOAD_TPU_MLIR", str(tmp_path / "nowhere"))
    found = written_at(tmp_path / "out")
    assert found is not None and found.run is not None
    with pytest.raises(RunError, match="has no model_deploy"):
        found.run(x)
    assert not mark.exists()


@pytest.mark.parametrize("option", ["table", "qtable"])
def test_tables_that_are_not_there_are_said(option: str, tmp_path: Path) -> None:
    module = made((1, 4), quantized, QuantType(I8, F32, (0.02,), (3,)))
    with pytest.raises(ReadError, match="there is no such file"):
        transload.convert(module, "sophgo", tmp_path / "out", options={
            option: str(tmp_path / "none.table"), "precision": "INT8"})


@pytest.mark.parametrize(("options", "said"), [
    ({"chip": "bm1690"}, "chip=bm1690 is about the bmodel, and none is made"),
    ({"precision": "F16"}, "precision=F16 is about the bmodel"), ({"precision": "BF16"}, "precision=BF16 is about the bmodel"),
    ({"precision": "INT8"}, "precision=INT8 takes the ranges of a quantized model, and this one has none"),
    ({"asymmetric": True}, "asymmetric=true is about INT8, and precision=F32"),
    ({"asymmetric": True, "precision": "INT8", "table": "right"}, "asymmetric=true is about the bmodel"),
    ({"table": "right"}, "table=right is about INT8, and precision=F32"),
    ({"table": "right", "precision": "F16", "environment": "tpu-mlir"}, "table=right is about INT8, and precision=F16"),
    ({"precision": "INT8", "environment": "tpu-mlir"}, "precision=INT8 takes the ranges"),
    ({"table": "wrong", "precision": "INT8"}, "says nothing of the model's tensors, only of others, as 'zzz'"),
    ({"table": "empty", "precision": "INT8"}, "says nothing of the model's tensors, of none"),
    ({"qtable": "wrong"}, "says nothing of the model's tensors, only of others, as 'zzz'")])
def test_options_without_effect_are_refused(
    options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mistake in the call, before anything is written, whether TPU-MLIR is there or not."""
    monkeypatch.chdir(tmp_path)
    for name, line in {"right": "x 1.0 -1.0 1.0", "wrong": "zzz 1.0 -1.0 1.0", "empty": ""}.items():
        Path(name).write_text(f"# name threshold min max\n{line}\n")
    module = made((1, 4), lambda build, x: build.emit("top.Relu", x))
    with pytest.raises(UsageError, match=re.escape(said)):
        transload.convert(module, "sophgo", tmp_path / "out", options=options)
    assert not (tmp_path / "out").exists()


def test_tables_are_copied_where_they_are_of_the_model(tmp_path: Path) -> None:
    """Lines about tensors that tools made of it are left as they are."""
    table, module = tmp_path / "some.table", made((1, 4), lambda build, x: build.emit("top.Relu", x))
    table.write_text("# op_name threshold min max\nx 1.0 -1.0 1.0\nx_Relu 1.0 -1.0 1.0\n")
    for option, more in (("table", {"precision": "INT8"}), ("qtable", {})):
        transload.convert(module, "sophgo", tmp_path / option, options={option: str(table), **more}, verify=False)
        assert (tmp_path / option / f"model_top.{option}").read_bytes() == table.read_bytes()


def test_names_are_escaped_as_mlir_reads_them() -> None:
    module = made((1, 4), lambda build, x: build.emit("top.Relu", x, location='a"b\\c\nd\u00fc'))
    lines = written(module, "model", "weights.npz").text.splitlines()
    assert sum("top.Relu" in line for line in lines) == 1
    assert any(r'loc("a\22b\5Cc\0Ad\C3\BC")' in line for line in lines)


def test_words_of_a_refusal_are_passed_on(tmp_path: Path) -> None:
    module = made((2, 4), lambda build, x: build.emit("top.Relu", x))
    folder = programs(tmp_path, "echo 'top.Relu: not supported on this chip' >&2; exit 1", "exit 1")
    with pytest.raises((TargetError, TransloadError), match=r"refuses the model: top\.Relu: not supported on this chip"):
        transload.convert(module, "sophgo", tmp_path / "out", options={"environment": folder})
    with pytest.raises((TargetError, TransloadError), match="has no model_deploy, model_runner"):
        transload.convert(module, "sophgo", tmp_path / "out", options={"environment": str(tmp_path / "nowhere")})


def test_without_an_environment_text_is_written_and_what_lies_beside_it_runs(tmp_path: Path) -> None:
    from transload.written import written_at

    transload.convert(made((2, 4), lambda build, x: build.emit("top.Relu", x)), "sophgo", tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"model.mlir", "model_top.mlir", "model_top_weights.npz", "report.json"}
    found, x = written_at(tmp_path), {"x": np.array([[1, -2, 3, -4]] * 2, np.float32)}
    assert found is not None
    assert "model.mlir is run, not by sophgo: no bmodel was made: `--option environment=PATH` makes" in found.said()
    np.testing.assert_array_equal(transload.run(tmp_path, x)["y"], np.maximum(x["x"], 0))


@pytest.mark.parametrize("stem", ["model", "net_top"])
def test_its_text_stands_for_the_model_beside_it_and_is_told_as_what_it_is_elsewhere(stem: str, tmp_path: Path) -> None:
    """Its operators have names of the hub's, and are no ops of the hub."""
    model = tmp_path / f"{stem}.mlir"
    transload.save(made((2, 4), lambda build, x: build.emit("top.Relu", x)), model)
    transload.convert(model, "sophgo", tmp_path / "out")
    x = {"x": np.array([[1, -2, 3, -4]] * 2, np.float32)}
    text = tmp_path / "out" / f"{stem}_top.mlir"
    for each in (tmp_path / "out").glob("*.mlir"):
        np.testing.assert_array_equal(transload.run(each, x)["y"], np.maximum(x["x"], 0))
    alone = tmp_path / "alone.mlir"
    alone.write_bytes(text.read_bytes())
    with pytest.raises(ReadError, match=r"TPU-MLIR's Top text .* which is not read here") as raised:
        transload.load(alone)
    assert f"`transload run {tmp_path}`" in raised.value.hint


@pytest.mark.skipif(bool(absent(ENVIRONMENT)), reason="TPU-MLIR is not here: TRANSLOAD_TPU_MLIR names an environment with it")
@pytest.mark.parametrize("name", CASES)
def test_its_simulator_gives_what_the_hub_computes(name: str, tmp_path: Path) -> None:
    from transload.written import written_at

    module = made(SHAPE, CASES[name])
    transload.convert(module, "sophgo", tmp_path, options={"environment": ENVIRONMENT})
    found = written_at(tmp_path)
    x = RNG.normal(size=SHAPE).astype(np.float32)
    assert found is not None and found.run is not None
    np.testing.assert_allclose(found.run({"x": x})["y"], transload.run(module, {"x": x})["y"], rtol=1e-4, atol=1e-4)
