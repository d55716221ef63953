"""What is printed for a user to type can be typed: commands in messages and pages are commands that there are."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import numpy as np
import onnx
import pytest

import transload
from transload.cli.app import app

from tests.support.graphs import Graph
from tests.support.small_onnx import saved

COMMAND = re.compile(r"`transload ([a-z][^`]*)`|^transload ([a-z].*)$", re.MULTILINE)
INSTALL = re.compile(r"transload\[([\w,]+)\]")


def sources(root: Path) -> Iterator[Path]:
    for folder in ("core", "converters", "plugins", "targets", "docs"):
        files = (root / folder).rglob("*")
        yield from (file for file in files if file.suffix in (".py", ".md") and "reference" not in file.parts)
    yield root / "README.md"


def test_commands_in_messages_and_pages_are_there(root: Path) -> None:
    """Each names a command of ours, and options that it has."""
    seen = 0
    for file in sources(root):
        for found in COMMAND.findall(file.read_text(encoding="utf-8").replace("\\\n", " ")):
            line = re.sub(r"#.*|\{[^}]*\}|\.\.\.|[\[\]|]", " ", found[0] or found[1])
            words = shlex.split(line.replace("'", " "))
            command = app.get_command(click.Context(app), words[0])
            if isinstance(command, click.Group) and len(words) > 1:  # the group alone is one, too
                words = words[1:]
                command = command.get_command(click.Context(command), words[0])
            assert command is not None, f"{file}: there is no command {words[0]!r}"
            known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
            options = {word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)}
            assert options <= known | {"--help", "-h", "--debug"}, f"{file}: {words[0]} has no {options - known}"
            seen += 1
    assert seen > 30


def test_extras_in_messages_and_pages_are_there(root: Path) -> None:
    declared = set(re.findall(r"^(\w+) = \[", (root / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE))
    for file in sources(root):
        for extras in INSTALL.findall(file.read_text(encoding="utf-8")):
            assert set(extras.split(",")) <= declared, f"{file}: pip install 'transload[{extras}]'"


@pytest.mark.parametrize("what", ["targets", "plugins", "passes"])
def test_listings_that_errors_name(what: str) -> None:
    from transload.cli import run

    assert run([what]) == 0


def test_where_it_starts_to_differ_can_be_typed(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from transload.cli import run

    model, out = tmp_path / "my digits.onnx", tmp_path / "my folder"
    model.write_bytes((root / "examples" / "digits" / "digits_float.onnx").read_bytes())
    assert run(["convert", str(model), "-o", str(out), "-q", "--tolerance", "sqnr=1e9"]) == 4
    command = re.search(r"`transload (.*)`", capsys.readouterr().err)
    assert command is not None and run(shlex.split(command[1])) == 0
    assert "pooled" in capsys.readouterr().out


def test_sizes_that_were_chosen_are_told_where_they_may_be_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A network that needs four images at once: the batch that is chosen is one."""
    import numpy as np
    import onnx

    from transload.cli import run

    from tests.support.onnx_models import make_model, node

    model = make_model([node("Reshape", ["x", "shape"], ["y"])], {"x": np.zeros((4, 3), np.float32)}, ["y"], {
        "shape": np.array([4, 3], np.int64)})
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    onnx.save(model, tmp_path / "four.onnx")
    assert run(["convert", str(tmp_path / "four.onnx"), "-t", "tosa", "-o", str(tmp_path / "out")]) == 3
    told = capsys.readouterr().err
    assert "made 1; --batch SIZE makes it another" in told.replace("\n", " ")
    assert run(["convert", str(tmp_path / "four.onnx"), "-t", "tosa", "-o", str(tmp_path / "out"), "--batch", "4"]) == 0


def test_where_a_quantized_result_differs_is_seen_beside_the_quantized_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., tuple[int, str, str]],
) -> None:
    """Beside the float model all layers differ; the commands are those of this conversion, and the right layers have no error."""
    graph, numbers = Graph((1, 6, 6, 3)), np.random.default_rng(0)
    how = {"kernel_shape": (1, 1), "layout": "NHWC"}
    unlike = np.abs(numbers.normal(0, [[[[1]]], [[[0.1]]], [[[4]]]], (3, 1, 1, 3))).astype(np.float32)
    inner = graph.Conv(graph.inputs[0], graph.constant(unlike), location="inner", **how)
    last = graph.Conv(graph.Relu(inner), graph.constant(numbers.normal(0, 1, (4, 1, 1, 3)).astype(np.float32)), **how)
    transload.save(graph.done(last), tmp_path / "a model.mlir")
    np.save(tmp_path / "x.npy", numbers.normal(0, 1, (8, 6, 6, 3)).astype(np.float32))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("transload.verification.quantized._is_same", lambda *_: False)
    code, _, said = cli("convert", "a model.mlir", "-t", "tosa", "--quantize=uint8", "--data", "x.npy", "-n", 6, "--quant-input",
                        "--method", "minmax", "-o", "made")
    commands = [shlex.split(line) for line in re.findall("`(transload [^`]*)`", " ".join(said.partition("error:")[2].split()))]
    assert code == 4 and [words[1] for words in commands] == ["quantize", "compare"]
    assert commands[0][2:] == [
        "a model.mlir", "--scheme", "uint8", "--data", "x.npy", "--count", "6", "--quant-input", "--method", "minmax",
        "--out", "quantized.mlir"]
    assert cli(*commands[0][1:])[0] == 0
    code, shown, _ = cli(*commands[1][1:], "--json")
    tensors = json.loads(shown)["tensors"]
    assert code == 0 and len(tensors) > 1 and {tensor["metrics"]["max_abs"] for tensor in tensors} == {0.0}
    assert json.loads((tmp_path / "made" / "report.json").read_text())["quantization"]["details"]["scaled"]


def test_what_a_target_wished_of_the_quantizer_is_asked_of_it_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., tuple[int, str, str]],
) -> None:
    """ONNX has other roundings and islands than a command that knows no target; what somebody said goes before them."""
    graph = Graph((1, 8))
    weights = np.random.default_rng(0).normal(0, 1, (8, 4)).astype(np.float32)
    transload.save(graph.done(graph.MatMul(graph.inputs[0], graph.constant(weights))), tmp_path / "m.mlir")
    np.save(tmp_path / "x.npy", np.random.default_rng(1).normal(0, 1, (8, 1, 8)).astype(np.float32))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("transload.verification.quantized._farther_than_quantizing", lambda *_: ["y: it is wrong"])
    code, _, said = cli("convert", "m.mlir", "-t", "onnx", "--quantize", "int8", "--data", "x.npy", "--quantizer-option",
                        "islands=none", "-o", "made")
    lines = re.findall("`(transload quantize [^`]*)`", " ".join(said.partition("error:")[2].split()))
    options = ["--data", "x.npy", "--quantizer-option", "islands=none", "--quantizer-option", "rounds=once"]
    assert code == 4 and [shlex.split(line)[3:] for line in lines] == [["--scheme", "int8", *options, "--out", "quantized.mlir"]]
    assert cli(*shlex.split(lines[0])[1:])[0] == 0
    texts = [(tmp_path / "quantized.mlir").read_text(), json.dumps(json.loads((tmp_path / "made/report.json").read_text()))]
    assert 'rounding = "once"' in texts[0] and '"rounds": "once"' in texts[1]


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., tuple[int, str, str]]) -> Callable[..., list[str]]:
    """The commands that a command prints, which runs, as they can be typed with samples and a target: each has to succeed."""
    monkeypatch.chdir(tmp_path)

    def printed(*words: str, code: int = 0) -> list[str]:
        found, *said = cli(*words)
        assert found == code, said
        commands = [line.replace("NAME", "tosa").replace("SAMPLES", "x.npy").replace("...", "x.npy").replace("DIR", "steps")
                    .replace("STAGE", "hub") for line in re.findall("transload ((?:convert|eval|compare) [^`]*)", " ".join(
                        "\n".join(said).split()))]
        for line in commands:
            assert cli(*shlex.split(line))[0] == 0, line
        return commands

    return printed


def test_commands_of_a_model_with_functions_and_open_sizes(lines: Callable[..., list[str]], tmp_path: Path) -> None:
    """They say which function it is, and of what sizes: without, each is an error."""
    from transload.read_again import quantizing

    function = ("func.func @{0}(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {{\n"
                "  %0 = stablehlo.{1} %x, %x : tensor<?x?xf32>\n  return %0 : tensor<?x?xf32>\n}}\n")
    Path("m.mlir").write_text(function.format("f", "add") + function.format("g", "multiply"))
    np.save("x.npy", np.random.default_rng(0).normal(0, 1, (8, 2, 4)).astype(np.float32))
    which = "--shape arg0:2x4 --function g"
    asked = ("m.mlir", *shlex.split(which))
    quantized = ("--quantize", "int8", "--data", "x.npy")
    assert lines("convert", *asked, *quantized, "-o", "made") == [f"eval m.mlir made {which} --data x.npy --metric sqnr"]
    assert lines("convert", *asked, "-o", "made", "--dump", "steps") == []
    dumped = lines("inspect", *(str(path.relative_to(tmp_path)) for path in tmp_path.glob("steps/*plain-biases.mlir")))
    assert dumped == [f"convert m.mlir {which} --dump steps --from hub"]
    assert lines("quantize", *asked, "--data", "x.npy", "-o", "q.mlir") == [
        "convert q.mlir --target tosa", f"eval m.mlir q.mlir {which} --data x.npy --metric sqnr"]
    assert lines("search", *asked, "--data", "x.npy", "--min-cos", "0.1", "-o", "mixed.txt") == [
        f"convert m.mlir {which} --data x.npy --quantize int8 --layers mixed.txt --target tosa"]
    module = transload.load("m.mlir", inputs={"arg0": (2, 4)}, function="g")
    advice = f": transload convert m.mlir {which} --target tosa --quantize int8 --data SAMPLES"
    assert quantizing(module, "tosa", ["int8"]) == advice


def test_commands_of_a_model_that_is_cut_and_has_sizes_by_name(lines: Callable[..., list[str]]) -> None:
    import onnx

    from tests.support.onnx_models import make_model, node

    model = make_model([node("Relu", ["x"], ["y"]), node("Tanh", ["x"], ["z"])], {"x": np.zeros((2, 3), np.float32)}, ["y", "z"])
    for place, name in enumerate(("N", "k")):
        model.graph.input[0].type.tensor_type.shape.dim[place].dim_param = name
    onnx.save(model, "m.onnx")
    np.save("x.npy", np.random.default_rng(0).normal(0, 1, (8, 2, 3)).astype(np.float32))
    which = "--dim k=3 --batch 2 --outputs z"
    asked = ("m.onnx", *shlex.split(which), "-o", "made", "--dump", "steps")
    assert lines("convert", *asked, "--tolerance", "sqnr=1e9", code=4) == [f"compare m.onnx made/m.tosa {which} --per-layer"]
    assert lines("quantize", *asked[:-4], "--data", "x.npy", "-o", "q.mlir") == ["convert q.mlir --target tosa"]
    model.graph.name = "another"
    onnx.save(model, "m.onnx")
    assert lines("convert", *asked, "--from", "hub", code=2) == [f"convert m.onnx {which} --out made --dump steps"]


def test_commands_say_what_was_asked_of_samples_images_and_options(
    lines: Callable[..., list[str]], cli: Callable[..., tuple[int, str, str]],
) -> None:
    """Read by other numbers the images are others; what a command writes, and how it tells it, is its own."""
    from PIL import Image

    graph, numbers = Graph((1, 6, 6, 3)), np.random.default_rng(0)
    made = graph.Conv(graph.inputs[0], graph.constant(numbers.normal(0, 1, (2, 1, 1, 3)).astype(np.float32)),
                      kernel_shape=(1, 1), layout="NHWC")
    transload.save(graph.done(made), "m.mlir")
    Path("x").mkdir()
    for index in range(8):
        Image.fromarray(numbers.integers(0, 255, (6, 6, 3), np.uint8)).save(f"x/{index}.png")
    images = ["--mean", "127.5", "--scale", "0.0078"]
    asked = ["m.mlir", "--data", "x", "-n", "8", *images]
    said = "--mean 127.5 --scale 0.0078"
    assert lines("search", *asked, "--min-cos", "0.1", "--method", "minmax", "--excepts", "x0", "-o", "mixed.txt", "-v") == [
        f"convert m.mlir --data x --count 8 {said} --method minmax --quantize int8 --layers mixed.txt --target tosa"]
    for name, more, line in (
            ("quantize", ["-o", "q.mlir", "--report", "page.html"], f"eval m.mlir q.mlir {said}"),
            ("convert", ["-t", "tosa", "--quantize", "int8", "-o", "made"], f"eval m.mlir made {said}")):
        code, shown, error = cli(name, *asked, *more)
        printed = re.findall("`transload (eval [^`]*)`", " ".join(shown.split()))
        assert code == 0 and printed == [f"{line} --data SAMPLES --metric sqnr"], shown + error
        assert cli(*shlex.split(printed[0].replace("SAMPLES", "x")))[0] == 0
    code, shown, error = cli("convert", "m.mlir", "-t", "ethos-u55-128", "--option", "optimise=Size", "-o", "chip", "-q", *images,
                             "--input", "x/0.png")
    assert code == 3 and (f"transload convert m.mlir --option optimise=Size --out chip {said} --target ethos-u55-128 --quantize "
                          "int8-asym --data SAMPLES") in " ".join(error.split()), error


def test_a_command_behind_a_colon_is_one_line_however_narrow_the_terminal_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., tuple[int, str, str]],
) -> None:
    graph = Graph((1, 6))
    transload.save(graph.done(graph.Abs(graph.inputs[0])), tmp_path / "a model.mlir")
    monkeypatch.chdir(tmp_path)
    code, shown, _ = cli("inspect", "a model.mlir", "--target", "ethos-u55-128")
    (line,) = [line for line in shown.splitlines() if "transload convert" in line]
    assert code == 3 and line.endswith(
        ": transload convert 'a model.mlir' --target ethos-u55-128 --quantize int8-asym --data SAMPLES")


def test_where_quantizing_quantized_nothing_the_target_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., tuple[int, str, str]],
) -> None:
    """A ReLU alone picks floats: to quantize was the hint, and the same was said of what came of it, without one."""
    graph = Graph((1, 6))
    transload.save(graph.done(graph.Relu(graph.inputs[0])), tmp_path / "m.mlir")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(0, 1, (8, 1, 6)).astype(np.float32))
    monkeypatch.chdir(tmp_path)
    asked = ("convert", "m.mlir", "-t", "ethos-u55-128", "--quantize", "int8", "--data", "x.npy")
    code, _, said = cli(*asked)
    assert code == 3 and "nothing is quantized" in said and "--quant-input --quant-output" in said
    assert cli(*asked, "--quant-input", "--quant-output")[0] == 0


def test_a_folder_without_a_dump_says_how_this_model_is_dumped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., tuple[int, str, str]],
) -> None:
    Path(tmp_path, "m.mlir").write_text(
        "func.func @f(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {\n  return %x : tensor<?x?xf32>\n}\n")
    monkeypatch.chdir(tmp_path)
    code, _, said = cli("convert", "m.mlir", "--shape", "arg0:2x4", "--dump", "my steps", "--from", "hub")
    command = re.search(r"`transload (.*)`", said)
    assert code == 3 and command is not None
    assert shlex.split(command[1]) == ["convert", "m.mlir", "--shape", "arg0:2x4", "--dump", "my steps"]
    assert cli(*shlex.split(command[1]))[0] == 0


def test_a_float_is_what_onnx_and_pytorch_call_one(tmp_path: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    graph = Graph((1, 6))
    transload.save(graph.done(graph.Relu(graph.inputs[0])), tmp_path / "m.mlir")
    name = graph.inputs[0].name
    assert cli("inspect", tmp_path / "m.mlir", "--shape", f"{name}:1x6:float")[0] == 0
    code, _, said = cli("inspect", tmp_path / "m.mlir", "--shape", f"{name}:1x6:double")
    assert code == 2 and "f64" in said


def test_a_file_for_no_input_by_name_may_be_said_of_one(tmp_path: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    graph = Graph((1, 6))
    transload.save(graph.done(graph.Relu(graph.inputs[0])), tmp_path / "m.mlir")
    code, _, said = cli("inspect", tmp_path / "m.mlir", "--input", tmp_path / "x.npy", "--shape", "other:1x6")
    assert code == 2 and "or say whose the file is: --input NAME=FILE" in said


def test_a_search_of_a_model_of_integers_says_that_there_is_nothing_to_search(
    tmp_path: Path, cli: Callable[..., tuple[int, str, str]],
) -> None:
    import onnx

    from tests.support.onnx_models import make_model, node

    onnx.save(make_model([node("Add", ["x", "x"], ["y"])], {"x": np.zeros((1, 3), np.int64)}, ["y"]), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.ones((8, 1, 3), np.int64))
    code, _, said = cli("search", tmp_path / "m.onnx", "--data", tmp_path / "x.npy", "--min-cos", "0.5")
    assert code == 2 and "nothing to search" in said


def test_an_options_value_that_is_misspelt(cli: Callable[..., tuple[int, str, str]]) -> None:
    code, _, error = cli("quantize", "m.onnx", "-o", "q.mlir", "--effort", "beste")
    assert code == 2 and "is not one of" in error and "Did you mean 'best'?" in " ".join(error.split())
    assert "Did you mean" not in cli("quantize", "m.onnx", "-o", "q.mlir", "--effort", "xyz")[2]


def test_samples_of_a_batch_where_it_was_made_one(tmp_path: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    model = saved(tmp_path / "m.onnx", [("Relu", "x", "y")], ["n", 4], {})
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "0.npy", np.ones((4, 4), np.float32))
    line = ("quantize", model, "-o", tmp_path / "q.mlir", "--data", tmp_path / "data")
    code, _, error = cli(*line)
    assert code == 2 and "--batch 4, where the model leaves" in " ".join(error.split())
    assert cli(*line, "--batch", 4)[0] == 0


def test_sizes_of_a_model_that_a_cache_converts(tmp_path: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    model = saved(tmp_path / "m.onnx", [("Relu", "x", "y")], ["n", 4, "m"], {})
    line = ("convert", model, "-t", "tosa", "-o", tmp_path / "out", "--verify=no")
    code, _, error = cli(*line, "--cache", tmp_path / "cache")
    assert code == 3 and "without --cache" in " ".join(error.split())
    assert "without --cache" not in cli(*line)[2]


def test_samples_for_an_input_of_texts(tmp_path: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    values = [onnx.helper.make_tensor_value_info(name, kind, [2]) for name, kind in (("s", 8), ("x", 1), ("t", 8), ("y", 1))]
    nodes = [onnx.helper.make_node("Identity", ["s"], ["t"]), onnx.helper.make_node("Relu", ["x"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "g", values[:2], values[2:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    np.savez(tmp_path / "s.npz", x=np.ones((3, 2), np.float32), s=np.array([["a", "b"]] * 3))
    code, _, error = cli("quantize", tmp_path / "m.onnx", "-o", tmp_path / "q.mlir", "--data", tmp_path / "s.npz")
    assert code == 2 and "of which samples have no numbers" in " ".join(error.split())


def test_an_artifact_of_the_whole_model_needs_no_outputs(cli: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """No shape makes a part of the model take what only the whole needs."""
    g = Graph((2, 3), (2, 5))
    first = g.Relu(g.inputs[0], location="first")
    model = transload.save(g.done(first, g.Sigmoid(g.inputs[1], location="second")), tmp_path / "two.mlir")
    assert cli("convert", model, "-t", "tosa", "-o", tmp_path / "made", "-q")[0] == 0
    code, _, error = cli("compare", model, tmp_path / "made", "--outputs", "first")
    assert code == 2 and "say no --outputs" in " ".join(error.split()) and "--shape" not in error, error


def test_opt_says_how_pretty_text_becomes_generic(
    cli: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has no `--format`, by which other commands read such text."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "pretty.mlir"
    file.write_text("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                    "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n")
    code, _, err = cli("opt", file, "-p", "canonicalize")
    line = re.search(r"`transload (extract [^`]+)`", " ".join(err.split()))
    assert code == 3 and line is not None, err
    assert cli(*shlex.split(line[1]))[0] == 0
    assert cli("opt", "generic.mlir", "-p", "canonicalize", "-o", "canonical.mlir")[0] == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(file.read_text()))
    assert "--format" not in cli("opt", "-")[2]
