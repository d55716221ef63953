"""Options that could have no effect where they are given are refused, and say what they would need."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import transload
from transload import Calibrator, Quantizer, hookimpl
from transload.context import Context
from transload.errors import UsageError
from transload.options import need_options
from transload.plugin_host import Host
from transload.quantization import quantize_at_hub

pytest.importorskip("onnx")
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def model(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    file = tmp_path / "arrays.npz"
    np.savez(file, image=np.random.default_rng(0).random((4, 1, 8, 8), np.float32))
    return file


@pytest.fixture
def table(tmp_path: Path, model: Path, arrays: Path) -> Path:
    file = tmp_path / "model.table"
    module = transload.load(model)
    transload.calibrate(module, transload.open_samples(str(arrays), module)).save(file)
    return file


@pytest.mark.parametrize("asked", [["--mean", "2"], ["--resize", "0x0"], ["--scale", "1"], ["--preprocess", "{toml}"],
                                   ["--pixel-format", "bgr"], ["--crop", "4x4"], ["--keep-aspect-ratio"]])
@pytest.mark.parametrize("command", ["convert", "run", "compare", "eval", "calibrate", "quantize"])
def test_what_is_said_of_images_where_there_are_none(
    cli: Cli, model: Path, arrays: Path, tmp_path: Path, asked: list[str], command: str,
) -> None:
    """Arrays are given as they are: who says `--mean` beside them would get numbers that nobody took a mean of."""
    toml = transload.Preprocess(mean=(1.0,)).write(tmp_path / "preprocess.toml")
    given = {
        "convert": [model, "-o", tmp_path / "out", "--data", arrays], "run": [model, "-i", f"image={arrays}"],
        "compare": [model, tmp_path / "nothing"], "eval": [model, "--data", arrays, "--metric", "cos"],
        "calibrate": [model, "--data", arrays, "-o", tmp_path / "t"],
        "quantize": [model, "--data", arrays, "-o", tmp_path / "q.mlir"]}[command]
    code, _, error = cli(command, *given, *(text.format(toml=toml) for text in asked))
    assert code == 2 and ("nothing that is given is one" in error or "numbers of 1 to" in error)


@pytest.mark.parametrize(("asked", "said"), [
    (["-n", "3"], "--count is for samples"), (["--skip-damaged"], "--skip-damaged is for samples"),
    (["--workers", "2"], "--workers is for samples"), (["--data", ""], "--data '' names no samples"),
    (["--data", "image={arrays}", "--data", "image={arrays}"], "gives input 'image' twice"),
    (["--keep-ratio-mode", "letterbox"], "keep their shape"), (["--pad-value", "3"], "keep their shape"),
    (["--pad-type", "center"], "keep their shape"),
    (["--no-verify", "--tolerance", "cos=0.9"], "--tolerance is for verification"),
    (["--no-verify", "--engine", "nosuch"], "--engine is for verification"),
    (["--no-verify", "--excepts", "probabilities"], "--excepts is for verification"),
    (["--no-verify", "--data", "{arrays}"], "--data is for verification"),
    (["--excepts", ""], "no tensor that is compared is called ''"),
    (["--excepts", ","], "no tensor that is compared is called ''"),
    (["-o", ""], "the path is empty"), (["--cache", ""], "the path is empty"), (["--trace-rewrites", ""], "the path is empty"),
    (["-i", ""], "--input '' names no file"), (["-i", "image="], "--input 'image=' names no file"),
    (["--data", "image="], "--data 'image=' names no samples"),
    (["--effort", "best", "--quant-input", "--table", "t"], "--table, --effort, --quant-input: of which quantizer?"),
    (["--quantizer-option", "rounds=once"], "--quantizer-option rounds: of which quantizer?"),
    (["--weights", "{arrays}"], "leave out --weights"),
    (["--quantize", "int8", "--table", "{table}", "--method", "kl"], "and not chosen by 'kl'"),
    (["--quantize", "int8", "--table", "{table}", "--floats", ""], "no float tensor ''"),
    (["--quantize", "int8", "--table", "{table}", "--quantizer-option", "samples=x"], "no option samples"),
    (["--quantize", "int8", "--table", "{table}", "--quantizer-option", "module=x"], "no option module")])
def test_options_of_what_is_not_there(
    cli: Cli, model: Path, arrays: Path, table: Path, tmp_path: Path, asked: list[str], said: str,
) -> None:
    out = [] if asked[0] == "-o" else ["-o", tmp_path / "out"]
    code, _, error = cli("convert", model, *out, *(text.format(arrays=arrays, table=table) for text in asked))
    assert code == 2 and said in " ".join(error.split())


@pytest.mark.parametrize(("line", "said"), [
    ("convert {model} -o {out} --no-verify --seed 4", "--seed is for verification"),
    ("convert {model} -o {out} --input {one} --seed 4", "none is random"),
    ("convert {model} -o {out} --data {arrays} --seed 4", "none is random"),
    ("run {model} --input {one} --seed 4", "none is random"),
    ("opt ''", "the path is empty"), ("eval {model} --data {arrays} --labels ''", "the path is empty"),
    ("compare {model} {model} --input {one} --seed 4", "none is random"),
    ("gen-input {model} -o {out} --input {one} --seed 4", "none is random"),
    ("convert {model} --show-pipeline --dump {out}", "--show-pipeline makes none"),
    ("convert {model} --show-pipeline --trace-rewrites {out}", "--show-pipeline makes none"),
    ("convert {model} --show-pipeline --verify=require", "--show-pipeline makes none"),
    ("convert {model} --show-pipeline --quantize int8 --data {arrays} --report {out}", "--show-pipeline makes none"),
    ("convert {model} --show-pipeline --tolerance nosuch=1", "--tolerance is for a conversion"),
    ("convert {model} --show-pipeline --engine nosuch", "--engine is for a conversion"),
    ("convert {model} --show-pipeline --seed 3", "--seed is for a conversion"),
    ("compare {model} {model} --excepts probabilities --tolerance cos=0.9", "nothing is left to judge"),
    ("convert {model} --show-pipeline --excepts nosuch", "--excepts is for a conversion"),
    ("convert {model} --show-pipeline --mean 1", "nothing that is given is one"),
    ("convert {model} -o {out} --verify=require --no-verify", "say two things"),
    ("convert {model} -o {out} --no-verify --verify", "say two things"),
    ("convert {model} -o {out} --shape image:1x1x8x8 --shape image:2x1x8x8", "the shape of input 'image' is said already"),
    ("convert {model} -o {out} --tolerance cos=0.5 --tolerance cos=0.9", "tolerance cos is given twice"),
    ("convert {model} -o {out} -t stablehlo --option mlir=true --option mlir=false", "option 'mlir' is given already"),
    ("quantize {model} -o {out}.mlir --quantizer-option a=1 --quantizer-option a=2", "'a=2': option 'a' is given"),
    ("gen-input {model} -o {out} --range 0:1 --range image=0:2", "a range of input 'image' already"),
    ("npz compare {one} {one} --tolerance cos=0.9 --tolerance 0.5", "a limit of 'cos' is given already"),
    ("eval {model} {model} --data {arrays} --labels {labels} --metric sqnr", "labels are given, and no metric"),
    ("inspect {model} --input {arrays} --shape image:3x1x8x8", "is 4x1x8x8, and --shape says 3x1x8x8"),
    ("inspect {model} --input image={labels} --shape image:3x1x8x8", "input 'image' is 4, and --shape says 3x1x8x8"),
    ("tosa-requirements {model} --input {arrays} --shape image:3x1x8x8", "is 4x1x8x8, and --shape says 3x1x8x8")])
def test_what_has_no_effect_beside_what_else_is_asked(
    cli: Cli, model: Path, arrays: Path, tmp_path: Path, line: str, said: str,
) -> None:
    """None of it is told by the result: the last of two counts, a seed of nothing is none, what is to be written is not."""
    one, labels, out = tmp_path / "one.npz", tmp_path / "labels.npy", tmp_path / "out"
    np.savez(one, image=np.load(arrays)["image"][:1])
    np.save(labels, np.arange(4))
    code, _, error = cli(*shlex.split(line.format(model=model, arrays=arrays, one=one, labels=labels, out=out)))
    assert code == 2 and said in " ".join(error.split()) and not out.exists()


@pytest.mark.parametrize(("line", "said"), [
    ("convert {model} -t nosuch -t tosa -o {out}", "--target is given twice"),
    ("convert {model} -o {out} -o {out} --no-verify", "--out is given twice"),
    ("convert {model} -o {out} --verify --verify=no", "--verify is given twice"),
    ("opt - -p nosuch --passes cse", "--passes is given twice"),
    ("opt - --no-verify-each --verify-each", "--verify-each or --no-verify-each is given twice"),
    ("quantize {model} --scheme int8 --scheme uint8 -o {out}.mlir", "--scheme is given twice"),
    ("npz dump {model} --out", "No such option"), ("targets --json -q --json -q", "")])
def test_an_option_of_one_value_is_given_once(cli: Cli, model: Path, tmp_path: Path, line: str, said: str) -> None:
    """The last one counted, and nothing was said of the others, which were not even looked at. A flag says the same twice."""
    code, _, error = cli(*shlex.split(line.format(model=model, out=tmp_path / "out")))
    assert (code, error) == (0, "") if not said else (code == 2 and said in error) and not (tmp_path / "out").exists()


def test_a_hint_fits_what_it_is_given_for(cli: Cli, model: Path, table: Path, tmp_path: Path) -> None:
    other = model.with_name("digits_int8.tflite")
    for line, hint in (([model, "--show-pipeline", "--anew"], "→ leave out one of them"),
                       ([model, other, "--dump", "x"], "→ convert the one by itself"),
                       ([model, other, "--shape", "image:1x1x8x8"], "→ --dim and --batch give sizes to all of them")):
        code, _, error = cli("convert", *line)
        assert code == 2 and hint in error
    for scheme in ("f16", "dynamic", "w8a16"):
        code, _, error = cli("quantize", model, "--scheme", scheme, "--table", table, "-o", tmp_path / "q.mlir")
        assert code == 2 and f"the quantizer {scheme} has no option calibration (--table)" in error
    code, _, error = cli("gen-input", model, "-o", "/dev/null")
    assert code == 2 and "/dev/null is a device" in error and "remove" not in error
    code, _, error = cli("gen-input", model, "-o", "/dev/null/x")
    assert code == 2 and "/dev/null is a device" in error and "remove" not in error
    code, _, error = cli("convert", model, "-o", "/dev/null")
    assert code == 2 and "/dev/null is a device; give a directory" in error


def test_notes_are_no_errors(cli: Cli, model: Path, arrays: Path, tmp_path: Path) -> None:
    """`-q` prints nothing but these."""
    for line in (["run", model, "--input", "image:1x1x8x8"], ["eval", model, model, "--data", arrays, "--metric", "cos"],
                 ["convert", model, "-o", tmp_path / "out", "--no-verify"], ["run", tmp_path / "out"]):
        assert cli(*line, "-q") == (0, "", "")
    assert cli("run", tmp_path / "out")[2].startswith("note: ") and cli("run", model)[2].startswith("note: ")


def test_what_was_refused_beside_others_is_taken_alone(cli: Cli, model: Path, arrays: Path, tmp_path: Path) -> None:
    assert cli("run", model, "--seed", 4)[0] == 0
    assert cli("convert", model, "-o", tmp_path / "out", "--verify=no", "--no-verify")[0] == 0
    assert cli("convert", model, "-o", tmp_path / "out", "--tolerance", "cos=0.5", "--tolerance", "euclid=0.5")[0] == 0
    assert cli("inspect", model, "--input", arrays, "--shape", "image:4x1x8x8")[0] == 0
    assert cli("convert", model, "--show-pipeline", "-o", tmp_path / "none", "--data", arrays)[0] == 0


def test_workers_of_many_models(cli: Cli, model: Path, tmp_path: Path) -> None:
    assert cli("convert", model, model.with_name("digits_int8.tflite"), "-o", tmp_path, "--workers", 1, "--no-verify")[0] == 0


@pytest.mark.parametrize("asked", [["--classes", "nosuch"], ["--label-offset", "1"]])
def test_labels_that_no_metric_asks_for(cli: Cli, model: Path, arrays: Path, asked: list[str]) -> None:
    code, _, error = cli("eval", model, model, "--data", arrays, "--metric", "cos", *asked)
    assert code == 2 and "no metric that is asked for needs any" in error


def test_options_of_foreign_functions(model: Path, arrays: Path) -> None:
    """What is no option of a plugin's quantizer, or stands for what it is given anyway, is its user's mistake."""
    def rough(module, samples, step: float = 0.5):
        return module

    class Mine:
        @hookimpl
        def register_quantizers(self, register):
            register(Quantizer("rough", rough, "no integers"))

        @hookimpl
        def register_calibrators(self, register):
            register(Calibrator("rough", lambda module, samples, name, ends=1: {}, "no ranges"))

    own = Host()
    own.register(Mine(), "mine-of-options")
    with Context(own).bind():
        module = transload.load(model)
        for wrong in ("stp", "samples", "module"):
            with pytest.raises(UsageError, match=f"quantizer 'rough' has no option {wrong}"):
                quantize_at_hub(module, "rough", None, {wrong: 1})
        with pytest.raises(UsageError, match="method 'rough' has no option begins"):
            transload.calibrate(module, transload.open_samples(str(arrays), module), "rough", begins=2)
        assert transload.quantize(module, "rough", step=0.25) is not None


def test_options_are_compared_with_a_signature() -> None:
    need_options("it", lambda module, samples, **more: None, (1, 2), {"anything": 1})
    need_options("it", lambda a, /, b=1: None, (1,), {"b": 1})
    need_options("it", print, (1, 2), {"sep": ""})
    with pytest.raises(UsageError, match="it has no option a"):
        need_options("it", lambda a, **more: None, (1,), {"a": 1})


@pytest.mark.parametrize("line", ["image 1e39 0 1\n", "image 1 -1e300 1\n", "image 1 0 1e39\n"])
def test_a_table_of_numbers_beyond_floats(cli: Cli, model: Path, tmp_path: Path, line: str) -> None:
    """Their scales would be infinite, and the module that is written none that can be read."""
    (tmp_path / "t").write_text(line)
    code, _, error = cli("quantize", model, "--table", tmp_path / "t", "-o", tmp_path / "q.mlir")
    assert code == 3 and "is not finite, as a float of 32 bits" in error and not (tmp_path / "q.mlir").exists()


@pytest.mark.parametrize("option", ["--table", "--layers"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "bytes"])
def test_a_table_that_is_no_file(cli: Cli, model: Path, table: Path, tmp_path: Path, option: str, kind: str) -> None:
    """Reading a pipe would wait for ever, and a device never ends."""
    import os

    file = Path("/dev/zero") if kind == "device" else tmp_path / "odd"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "bytes":
        file.write_bytes(b"\xff\xfe")
    given = [option, file] if option == "--table" else ["--table", table, "--layers", file]
    code, _, error = cli("quantize", model, *given, "-o", tmp_path / "q.mlir")
    assert code == 3 and error.startswith(f"error: {file}: ")


@pytest.mark.parametrize("place", [".", "/", ".."])
def test_a_place_that_is_none_is_told_before_the_work(
    cli: Cli, model: Path, arrays: Path, monkeypatch: pytest.MonkeyPatch, place: str,
) -> None:
    """It was told after calibrating, where that had no name as a failure of the plugin."""
    def never(*_: object, **__: object) -> None:
        raise AssertionError("it began")

    monkeypatch.setattr("transload.api.calibrate", never)
    code, _, error = cli("calibrate", model, "--data", arrays, "-o", place)
    assert code == 2 and "is a directory, where a file is to be written" in error
    code, _, error = cli("run", model, "-o", place)
    assert code == 2 and "is a directory, where a file is to be written" in error


def test_coverage_of_what_there_is_not(cli: Cli) -> None:
    code, out, error = cli("coverage", "--to", "tsoa")
    assert (code, out) == (2, "") and "did you mean 'tosa'?" in error


def test_a_folder_for_an_input(cli: Cli, model: Path, tmp_path: Path) -> None:
    for command in (["run", model], ["inspect", model], ["gen-input", model, "-o", tmp_path / "x.npz"]):
        code, _, error = cli(*command, "--input", f"image={tmp_path}")
        assert code == 2 and "is a directory, and no array or image" in error
