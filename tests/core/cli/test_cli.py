"""The command line: what a person types, sees and gets as exit code."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import transload.text
from transload.cli import run
from transload.contents import op_counts
from transload.context import Context
from transload.plugin_host import Host


@pytest.fixture
def cli(capsys):
    """Runs a command and gives (exit code, output, errors)."""

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="session")
def digits(examples):
    return examples / "digits" / "digits_int8.tflite"


@pytest.fixture(scope="session")
def digits_onnx(examples):
    return examples / "digits" / "digits_float.onnx"


def test_help_names_every_command(cli):
    code, out, _ = cli("--help")
    assert code == 0
    for command in (
        "convert",
        "run",
        "compare",
        "inspect",
        "opt",
        "plugins",
        "targets",
        "passes",
        "ops",
        "coverage",
        "new-plugin",
    ):
        assert command in out


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(cli, option):
    code, out, _ = cli(option)
    assert code == 0
    assert re.fullmatch(r"transload \d+\.\d+\.\d+\S*\n", out)


def test_help_is_short_and_what_comes_of_nothing(cli):
    assert cli("-h") == cli("--help") == cli()
    assert cli("convert", "-h") == cli("convert", "--help")
    assert cli()[0] == 0


def test_quiet_and_verbose_stand_anywhere(cli, digits, digits_onnx, tmp_path):
    target = "ethos-u85-256"
    if cli("inspect", digits, "--target", target)[0] == 2:
        pytest.skip("Vela is not installed")
    for arguments in (("-q", "inspect", digits), ("inspect", digits, "-q"), ("-q", "targets")):
        assert cli(*arguments) == (0, "", "")
    for arguments in (("-v", "convert", digits_onnx), ("convert", digits_onnx, "--verbose")):
        code, _, err = cli(*arguments, "-t", target, "-o", tmp_path)
        assert code == 3 and err.count("computes with integers only") == 1
        assert "tosa.conv2d (3 times) at 'conv1', 'pointwise', 'logits'" in err
    code, _, err = cli("convert", digits_onnx, "-t", target, "-o", tmp_path)
    assert code == 3 and "tosa.conv2d (3 times), " in err and "pointwise" not in err
    advice = f"transload convert {digits_onnx} --out {tmp_path} --target ethos-u85-256 --quantize int8-asym --data SAMPLES"
    assert advice in err.replace("\n", ""), err


def test_convert_writes_artifacts_and_a_report(cli, digits, tmp_path):
    code, out, err = cli("convert", digits, "-o", tmp_path)
    assert code == 0, err
    assert "verification against litert: passed" in " ".join(out.split())
    report = json.loads((tmp_path / "report.json").read_text())
    assert set(report["files"]) == {"digits_int8.tosa"}
    assert {path.name for path in tmp_path.iterdir()} == {*report["files"], "report.json"}
    assert report["verification"]["status"] == "passed"
    assert report["inputs"] == [{
        "name": "image", "type": "tensor<1x8x8x1xi8>", "quantization": "!quant.uniform<i8:f32, 0.003921568859368563:-128>",
        "taken_as": None}]
    assert all(seconds >= 0 for seconds in report["seconds"].values())


def test_the_summary_is_of_what_was_written_whatever_lies_there_by_now(cli, digits, tmp_path, monkeypatch):
    """Another process may have put another model into the same folder meanwhile."""
    from transload import convert_model

    def replaced(*files):
        for file in files:
            file.unlink()

    monkeypatch.setattr(convert_model, "note_written", replaced)
    code, out, err = cli("convert", digits, "-t", "tosa", "-o", tmp_path / "o", "--no-verify")
    assert code == 0 and err == "" and list((tmp_path / "o").iterdir()) == []
    assert re.search(r"o/digits_\w+\.tosa \(\d[\d.]* KiB\)", out.replace("\n", "").replace(" " * 18, "")), out


def test_convert_takes_a_shape_for_a_dynamic_batch(cli, digits_onnx, tmp_path):
    code, _, err = cli("convert", digits_onnx, "-o", tmp_path, "--shape", "image:3x1x8x8")
    assert code == 0, err
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["inputs"][0]["type"] == "tensor<3x1x8x8xf32>"
    assert report["outputs"][0]["type"].startswith("tensor<3x10x")


def test_progress_is_told_with_its_share(digits, tmp_path):
    told = []
    transload.convert(digits, "tosa", tmp_path, tell=lambda stage, share: told.append((stage, share)))
    names, shares = [name for name, _ in told], [share for _, share in told]
    assert names[0] == "read" and names[-1] == "verify" and {"tfl-to-top", "top-to-tosa", "emit"} <= set(names)
    assert shares[0] is None and shares[1:] == sorted(shares[1:]) and 0.5 < shares[-1] < 1


def test_json_and_quiet(cli, digits, tmp_path):
    code, out, _ = cli("convert", digits, "-o", tmp_path, "--json", "--no-verify")
    assert code == 0
    assert json.loads(out)["verification"]["status"] == "not asked for"
    code, out, _ = cli("convert", digits, "-o", tmp_path, "--quiet")
    assert (code, out) == (0, "")


def test_a_tolerance_that_cannot_be_kept_is_exit_code_4(cli, digits_onnx, tmp_path):
    code, _, err = cli("convert", digits_onnx, "-o", tmp_path, "--tolerance", "max_abs=0", "--tolerance", "floor=0")
    assert code == 4
    assert "max_abs" in err and "allowed 0" in err
    assert (tmp_path / "digits_float.tosa").exists()
    assert json.loads((tmp_path / "report.json").read_text())["verification"]["status"] == "failed"


def test_the_pipeline_that_is_shown_is_one_that_opt_runs(cli, digits, tmp_path):
    """What `--show-pipeline` prints, pasted, makes of a module what `lower` makes of it."""
    code, out, err = cli("convert", digits, "--show-pipeline", "--json")
    told = json.loads(out)
    assert code == 0 and not err and told["certain"] is True
    assert told["pipeline"] == [each for stage in told["stages"] for each in stage["passes"]] == transload.plan(digits).passes
    code, out, err = cli("convert", digits, "--show-pipeline", "--option", "int64=assumed", "-o", tmp_path / "out")
    assert code == 0, err
    assert "# top-to-tosa: top → tosa\n" in out
    assert "\ntop-to-tosa.rewrites{int64=assumed f64=narrowed int4=true bias=fine rounding=kept},\n" in out
    assert not (tmp_path / "out").exists()
    module = transload.load(digits)
    transload.save(module, tmp_path / "read.mlir")
    code, _, err = cli("opt", tmp_path / "read.mlir", "-p", out, "-o", tmp_path / "piped.mlir")
    assert code == 0, err
    assert transload.text.print_module(transload.load(tmp_path / "piped.mlir")) == transload.text.print_module(
        transload.lower(module, int64="assumed"))


def test_run_and_compare_an_artifact(cli, digits, tmp_path):
    assert cli("convert", digits, "-o", tmp_path, "-q", "--option", "mlir=true")[0] == 0
    images = np.random.default_rng(0).integers(-128, 127, (1, 8, 8, 1)).astype(np.int8)
    np.savez(tmp_path / "in.npz", image=images)
    for artifact in ("digits_int8.tosa", "digits_int8.mlir"):
        code, out, err = cli("run", tmp_path / artifact, "--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
        assert code == 0, err
        assert "probabilities" in out
        with np.load(tmp_path / "out.npz") as arrays:
            assert arrays["probabilities"].shape == (1, 10)
        code, out, err = cli("compare", digits, tmp_path / artifact, "--input", tmp_path / "in.npz", "--json")
        assert code == 0, err
        assert json.loads(out)["tensors"][-1]["metrics"]["max_abs"] <= 1


def test_run_says_what_it_computes_by_dequantizing(cli, digits, tmp_path):
    """Without TOSA nobody knows which integers the hub's quantized ops give."""
    assert cli("convert", digits, "-o", tmp_path, "-q")[0] == 0
    assert "dequantizing" not in cli("run", digits)[1]
    with Context(Host(only="-tosa")).bind():
        transload.save(transload.legalize(transload.load(digits)), tmp_path / "hub.mlir")
        code, out, err = cli("run", tmp_path / "hub.mlir")
    assert code == 0, err
    assert "note: computed by dequantizing and quantizing" in out and "top.Conv" in out


def test_run_gives_intermediates_by_original_name(cli, digits, tmp_path):
    assert cli("convert", digits, "-o", tmp_path, "-q")[0] == 0
    code, _, err = cli("run", tmp_path / "digits_int8.tosa", "--all", "-o", tmp_path / "all.npz")
    assert code == 0, err
    with np.load(tmp_path / "all.npz") as arrays:
        assert "conv1" in arrays.files
        assert arrays.files[-1] == "probabilities"


def test_trace_prints_every_value_by_name(cli, digits, tmp_path):
    assert cli("convert", digits, "-o", tmp_path, "-q")[0] == 0
    code, out, err = cli("run", tmp_path / "digits_int8.tosa", "--trace")
    assert code == 0, err
    module = transload.load(tmp_path / "digits_int8.tosa")
    lines = [line for line in out.splitlines() if ": tosa." in line and " -> tensor<" in line]
    assert len(lines) == sum(op_counts(module).values())
    names = [line.partition(": ")[0] for line in lines]
    assert len(set(names)) == len(names)
    assert "conv1" in names and "residual" in names
    code, _, err = cli("run", tmp_path / "digits_int8.tosa", "--trace", "--engine", "nobodys")
    assert code == 2
    assert "nobodys" in err


def test_compare_per_layer(cli, digits, tmp_path):
    assert cli("convert", digits, "-o", tmp_path, "-q")[0] == 0
    code, out, err = cli("compare", digits, tmp_path / "digits_int8.tosa", "--per-layer", "--json")
    assert code == 0, err
    layers = {tensor["name"]: tensor["metrics"] for tensor in json.loads(out)["tensors"]}
    assert "conv1" in layers
    assert all(metrics["max_abs"] <= 1 for metrics in layers.values())


def test_inspect(cli, digits):
    code, out, err = cli("inspect", digits)
    assert code == 0, err
    assert "image" in out
    assert "tfl.conv_2d" in out
    code, out, _ = cli("inspect", digits, "--json")
    assert json.loads(out)["inputs"][0]["name"] == "image"


def test_inspect_what_convert_wrote(cli, digits, tmp_path):
    assert cli("convert", digits, "-o", tmp_path, "--no-verify")[0] == 0
    code, out, _ = cli("inspect", tmp_path)
    assert code == 0 and "tosa.conv2d" in out and "probabilities" in out
    (tmp_path / "report.json").unlink()
    code, _, err = cli("inspect", tmp_path)
    assert code == 3 and "directory" in err


def test_inspect_says_what_a_target_cannot_take(cli, digits_onnx):
    code, out, _ = cli("inspect", digits_onnx, "--target", "ethos-u85-256")
    if "cannot be used" in out:
        pytest.skip("Vela is not installed")
    assert code == 3
    assert "f32" in out or "float" in out


def test_opt_runs_passes_on_text(cli, tmp_path):
    file = tmp_path / "m.mlir"
    file.write_text("""
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<2x3xf32>):
    %0 = "top.Permute"(%x) {order = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %1 = "top.Permute"(%0) {order = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
""")
    code, out, err = cli("opt", file, "-p", "canonicalize", "--timing")
    assert code == 0, err
    assert "top.Permute" not in out
    assert "canonicalize" in err
    code, out, err = cli("opt", file, "-p", "canonicalise")
    assert code == 2
    assert "canonicalize" in err


def test_listings(cli):
    for arguments in (
        ("plugins",),
        ("targets",),
        ("passes",),
        ("ops", "top"),
        ("ops", "top.Conv"),
        ("coverage", "--from", "tfl", "--to", "tosa"),
    ):
        code, out, err = cli(*arguments)
        assert code == 0, err
        assert out
    for arguments in (("plugins",), ("targets",), ("passes",), ("ops", "top"), ("coverage",)):
        code, out, _ = cli(*arguments, "--json")
        assert code == 0
        assert json.loads(out)


def test_options_of_passes_without_a_default_are_required(cli):
    told = {each["name"]: each["options"] for each in json.loads(cli("passes", "--json")[1])["passes"]}
    assert told["add-postprocess"]["type"] == {"type": "str", "required": True}
    assert told["add-postprocess"]["score"]["default"] == -1.0
    out = cli("passes")[1]
    assert "type=(required)" in out and "_empty" not in out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("convert",), 2, "MODEL"),
        (("convert", "nosuch.tflite"), 3, "no such file"),
        (("convert", "{digits}", "--target", "ethos-u99"), 2, "ethos-u"),
        (("convert", "{digits}", "--option", "no=1"), 2, "has no option no"),
        (("convert", "{digits}", "--option", "no"), 2, "KEY=VALUE"),
        (("convert", "{digits}", "--option", "tosa_version=7"), 2, "7"),
        (("convert", "{digits}", "--shape", "image"), 2, "NAME:SHAPE"),
        (("convert", "{digits}", "--shape", "nosuch:1x8x8x1"), 2, "nosuch"),
        (("convert", "{digits}", "--shape", "image:1x8x8x1:complexity"), 2, "element type"),
        (("convert", "{digits}", "--tolerance", "nearness=1"), 2, "nearness"),
        (("convert", "{digits}", "--engine", "warp"), 2, "warp"),
        (("convert", "{digits}", "--no-such-flag"), 2, "no-such-flag"),
        (("run", "{digits}", "--input", "nosuch.npz"), 3, "no such file"),
        (("ops", "nosuch"), 2, "dialects"),
        (("ops", "top.Konv"), 2, "top.Conv"),
        (("opt", "nosuch.mlir"), 3, "no such file"),
        (("nosuch",), 2, "nosuch"),
        (("coverage", "--from", "nosuch"), 2, "nosuch"),
    ],
)
def test_mistakes_are_answered_in_words(cli, digits, tmp_path, monkeypatch, arguments, code, says):
    monkeypatch.chdir(tmp_path)
    got, out, err = cli(*[argument.format(digits=digits) for argument in arguments])
    assert got == code, out + err
    assert says in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "build").exists(), "a mistake leaves nothing behind"


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"not a model", b"\x1c\0\0\0TFL3" + b"\xff" * 64])
@pytest.mark.parametrize("suffix", [".tflite", ".onnx", ".tosa", ".mlir", ".xyz"])
def test_files_that_are_no_models(cli, tmp_path, content, suffix):
    file = tmp_path / f"bad{suffix}"
    file.write_bytes(content)
    code, out, err = cli("convert", file, "-o", tmp_path / "out")
    assert code == 3, out + err
    assert str(file) in err
    assert "Traceback" not in out + err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.json"]


def test_a_directory_is_no_model(cli, tmp_path):
    assert cli("convert", tmp_path)[0] == 3


def test_an_output_directory_that_is_a_file(cli, digits, tmp_path):
    (tmp_path / "out").write_text("here")
    code, _, err = cli("convert", digits, "-o", tmp_path / "out")
    assert code == 2
    assert "is a file" in err


def test_a_full_disk_leaves_nothing_behind(cli, digits, tmp_path, monkeypatch):
    import os
    from pathlib import Path

    def full(*arguments, **more):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "replace", full)
    code, _, err = cli("convert", digits, "-o", tmp_path / "out", "--no-verify")
    assert code == 1
    assert "No space left" in err
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("command", [("run", "{digits}"), ("compare", "{digits}", "{digits}"), ("convert", "{digits}")])
def test_a_negative_seed_is_refused(cli, digits, command):
    code, _, err = cli(*[word.format(digits=digits) for word in command], "--seed", "-1")
    assert code == 2
    assert "-1 is not in the range" in err


@pytest.mark.parametrize("arrays", [
    {"image": np.zeros((1, 9, 8, 1), np.float32)}, {"image": np.zeros((1, 8, 8), np.float32)},
    {"picture": np.zeros((1, 8, 8, 1))},
    {"image": np.zeros((1, 8, 8, 1), np.complex64)}, {}])
@pytest.mark.parametrize("verify", ["yes", "require"])
def test_data_to_verify_with_that_does_not_fit_is_refused(cli, digits_onnx, tmp_path, arrays, verify):
    np.savez(tmp_path / "x.npz", **arrays)
    code, _, err = cli(
        "convert", digits_onnx, "-o", tmp_path / "out", "--input", tmp_path / "x.npz", f"--verify={verify}")
    assert code == 2
    assert "input 'image'" in err or "has no input 'picture'" in err
    assert cli("compare", digits_onnx, digits_onnx, "-i", tmp_path / "x.npz")[0] == 2


def test_packages_that_are_not_there_are_named(cli, monkeypatch):
    from transload_converters.onnx import dialect

    monkeypatch.setitem(sys.modules, "onnx", None)
    dialect._schemas.cache_clear()
    monkeypatch.setattr(dialect.ONNX, "ops", dialect._SchemaOps())
    for arguments in (("ops", "onnx"), ("ops", "onnx.Conv"), ("coverage", "--from", "onnx"), ("ops", "onnx", "--json")):
        code, out, err = cli(*arguments)
        assert code == 2, out + err
        assert "pip install 'transload[onnx]'" in err


def test_input_arguments_are_read_from_the_right():
    from transload.cli.arguments import parse_given
    from transload.ir import NONE, element_type_of

    parsed = parse_given(["a:1x2", "serving:b:0:3x4:uint8", "s:scalar", "x:scalar:int64"], [])[0]
    assert parsed["a"].shape == (1, 2)
    assert parsed["a"].element == NONE
    assert parsed["serving:b:0"].shape == (3, 4)
    assert parsed["serving:b:0"].element == element_type_of("uint8")
    assert parsed["s"].shape == ()
    assert parsed["x"].element == element_type_of("int64")


def test_help_needs_no_numpy():
    """What registers the plugins is imported by every command: it stays light."""
    program = "import sys; from transload.cli import run; run(['--help']); sys.exit(int('numpy' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "convert" in done.stdout


def test_names_of_files_do_not_look_like_lines_of_ours(cli, examples, tmp_path):
    model = tmp_path / "a\nerror: forged.onnx"
    model.write_bytes((examples / "digits" / "digits_float.onnx").read_bytes())
    for arguments in (("convert", str(model), "--target", "tosa", "-o", str(tmp_path / "out")),
                      ("convert", str(tmp_path / "b\nerror: forged.onnx")), ("convert", str(model), "--shape", "q:3"),
                      ("inspect", str(model))):
        _, out, err = cli(*arguments)
        lines = [*out.splitlines(), *err.splitlines()]
        unwrapped = "".join((out + err).split())  # a title is wrapped wherever its path ends a line
        assert r"\nerror:" in unwrapped and not any(line.strip().startswith("error: forged") for line in lines)


def test_what_a_message_quotes_stays_below_it(cli, tmp_path):
    (tmp_path / "m.mlir").write_text("module {\n  nonsense here\n}")
    assert "\n    " in cli("opt", str(tmp_path / "m.mlir"))[2]


def test_traced_rewrites_say_names_in_a_line_without_control_characters(cli, tmp_path):
    """A file is shown on terminals, too, and a line of it is a rewrite."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    name = "\x1b[31mred\nforged.rewrites  x: y\r"
    info = [helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, [2]) for each in ("x", "y")]
    nodes = [helper.make_node("Relu", ["x"], [name]), helper.make_node("Neg", [name], ["y"])]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    traced = tmp_path / "traced.txt"
    assert cli("convert", tmp_path / "m.onnx", "-o", tmp_path / "o", "--verify=no", "--trace-rewrites", traced)[0] == 0
    text = traced.read_bytes().decode()
    assert r"\x1b[31mred\nforged.rewrites  x: y\r: onnx.Relu → " in text
    assert "\x1b" not in text and "\r" not in text and not any(line.startswith("forged") for line in text.split("\n"))
