"""Arguments of the library that are none end in errors that say what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, UsageError
from transload.testing import build_op

IMAGE = {"image": np.zeros((1, 1, 8, 8), np.float32)}


@pytest.mark.parametrize("shape", ["1x1x8x8", (None, 1, 8, 8), (1.5, 1, 8, 8), (-1, 1, 8, 8), 5, None])
def test_shapes(shape: Any, examples: Path) -> None:
    with pytest.raises(UsageError, match="the shape of input 'image' must be whole numbers from 0 on"):
        transload.load(examples / "digits" / "digits_float.onnx", inputs={"image": shape})


@pytest.mark.parametrize(("call", "why"), [
    (lambda file, module: transload.load(file, inputs=[("image", (1, 1, 8, 8))]), "takes a dictionary by names as inputs"),
    (lambda file, module: transload.run(module, [IMAGE["image"]]), "takes a dictionary by names as inputs, and was given list"),
    (lambda file, module: transload.run(module, IMAGE, engine=3), "takes a text as engine, and was given int"),
    (lambda file, module: transload.convert(module, target=3), "takes a text as target, and was given int"),
    (lambda file, module: transload.convert(3), "takes a path or a Module as model, and was given int"),
    (lambda file, module: transload.convert(None), "takes a path or a Module as model"),
    (lambda file, module: transload.extract(module, []), "needs an output"),
    (lambda file, module: transload.load(text=3, format="onnx"), r"load\(\) takes a text as text, and was given int"),
    (lambda file, module: transload.load(text=Path("x"), format="onnx"), r"takes a text as text, and was given PosixPath\('x'\)"),
    (lambda file, module: transload.load(file, weights=3), "takes a path as weights, and was given int"),
    (lambda file, module: transload.load(file, outputs=None), "takes a list of texts as outputs, and was given NoneType"),
    (lambda file, module: transload.load(file, outputs=[3]), "takes a list of texts as outputs"),
    (lambda file, module: transload.lower(module, []), r"lower\(\) takes a text as to, and was given list"),
    (lambda file, module: transload.legalize(module, []), r"legalize\(\) takes a text as to, and was given list"),
    (lambda file, module: transload.evaluate([None], [IMAGE]), "a model is a path or a Module, and this is a NoneType"),
    (lambda file, module: transload.inspect(3), "takes a path or a Module as model, and was given int"),
    (lambda file, module: transload.plan(b"x"), "takes a path or a Module as model, and was given bytes"),
    (lambda file, module: transload.run(3, IMAGE), "takes a path or a Module as module, and was given int"),
    (lambda file, module: transload.compare(file, None), "takes a path or a Module as artifact, and was"),
    (lambda file, module: transload.convert_all([None], "tosa"), "takes paths of models, and was given NoneType"),
    (lambda file, module: transload.convert_all([file], "tosa", seed="x"), r"convert_all\(\) takes a whole number as seed"),
    (lambda file, module: transload.convert_all([file], "tosa", options=[]), r"convert_all\(\) takes a dictionary by names"),
    (lambda file, module: transload.convert(file, "tosa", tolerance="cos=0.9"), r"give tolerances as a list, \['cos=0.9'\]"),
    (lambda file, module: transload.compare(file, module, tolerance="cos=0.9"), "give tolerances as a list"),
    (lambda file, module: transload.convert(file, "tosa", "out", input_data={"image": [[1], [1, 2]]}), "does not fit the model"),
    (lambda file, module: transload.compare(file, module, {"image": [[1], [1, 2]]}), "does not fit the model"),
])
def test_other_arguments(
    call: Callable[..., Any], why: str, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = examples / "digits" / "digits_float.onnx"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=why):
        call(file, transload.load(file))
    assert not [*tmp_path.iterdir()]


class Place:
    """A path of somebody else's."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


def test_paths_of_all_kinds(examples: Path, tmp_path: Path) -> None:
    file, out = examples / "digits" / "digits_float.onnx", tmp_path / "out"
    np.save(tmp_path / "x.npy", IMAGE["image"])
    transload.convert(Place(file), "tosa", Place(out), verify=False)
    from_file, from_folder = (transload.run(Place(each), {"image": Place(tmp_path / "x.npy")}) for each in (file, out))
    assert from_file.keys() == from_folder.keys()
    assert transload.inspect(Place(file)).format == transload.load(Place(file)).source_format == "onnx"
    assert transload.compare(Place(file), Place(out), IMAGE).worst("cos") > 0.999
    assert transload.evaluate([Place(file), Place(out)], [IMAGE], metrics=["agreement"]).samples == 1
    assert transload.plan(Place(file), "tosa").stages
    assert [each.exit_code for each in transload.convert_all(Place(file), "tosa", Place(tmp_path / "all"), workers=1)] == [0]
    with pytest.raises(UsageError, match="is an artifact, and has no function 'other'"):
        transload.run(out, IMAGE, function="other")


@pytest.mark.parametrize(("what", "use"), [
    ("run()", lambda module, out: transload.run(module, {"x0": np.zeros(3, np.float32)})),
    ("convert()", lambda module, out: transload.convert(module, "tosa", out)),
])
def test_modules_that_are_not_valid(what: str, use: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    """What broke its declaration went on to rewrites and kernels that rely on it: numbers of no meaning, and no word."""
    module = build_op("top.Pad", np.zeros(3, np.float32), paddings=(1, 1), mode="edge")
    next(iter(module.body_of_main)).attributes["mode"] = "wrap"
    with pytest.raises(ConversionError) as raised:
        use(module, tmp_path / "out")
    assert raised.value.message.startswith(f"{what} was given a module that is not valid")
    (finding,) = raised.value.findings
    assert finding.what == "top.Pad" and "'mode' must be" in finding.why
    assert not (tmp_path / "out/model.tosa").exists()


@pytest.mark.parametrize("said", [
    {"inputs": {"image": (4, 1, 8, 8)}}, {"format": "zz"}, {"weights": "nope"}, {"format": "onnx", "weights": "nope"}])
@pytest.mark.parametrize("use", [
    lambda module, said, out: transload.convert(module, "tosa", out, **said),
    lambda module, said, out: transload.plan(module, "tosa", **said),
    lambda module, said, out: transload.inspect(module, **said),
    lambda module, said, out: transload.evaluate([module], [IMAGE], metrics=["agreement"], **{
        {"inputs": "shapes"}.get(name, name): value for name, value in said.items()}),
])
def test_what_says_how_files_are_read_is_not_for_modules(
    use: Callable[..., Any], said: dict[str, Any], examples: Path, tmp_path: Path,
) -> None:
    """It was ignored: a batch of 4 was asked for, and one of 1 came."""
    module = transload.load(examples / "digits" / "digits_float.onnx")
    with pytest.raises(UsageError, match=r"how a file is read, and this is a module, which is read already") as raised:
        use(module, said, tmp_path / "out")
    assert "transload.load(path, " in raised.value.hint
    assert not (tmp_path / "out").exists()


TWO = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "top.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func @other(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = "top.Abs"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
"""


def test_the_function_of_a_module_that_is_the_model(tmp_path: Path) -> None:
    """As of a file: it was ignored, and `main` was converted."""
    module = transload.load(text=TWO, format="mlir")
    before = str(module)
    assert transload.inspect(module, function="other").ops == {"top.Abs": 1}
    made = transload.convert(module, "tosa", tmp_path / "out", function="other", verify=False)
    assert [str(type_) for type_ in made.module.inputs.values()] == ["tensor<3xf32>"]
    assert {stage.name for stage in transload.plan(module, "tosa", function="other").stages}
    samples = [np.float32([-1, 2, -3])]
    assert transload.evaluate([module, made.directory], samples, metrics=["agreement"], function="other").samples == 1
    for use in (transload.inspect, lambda *given, **how: transload.convert(*given, "tosa", tmp_path / "none", **how)):
        with pytest.raises(UsageError, match="no function 'nope'"):
            use(module, function="nope")
    assert str(module) == before and not (tmp_path / "none").exists()


@pytest.mark.parametrize("use", [
    lambda file, module, how: transload.run(module, IMAGE, preprocess=how),
    lambda file, module, how: transload.run(file, IMAGE, preprocess=how),
    lambda file, module, how: transload.compare(file, module, IMAGE, preprocess=how),
    lambda file, module, how: transload.compare(file, module, preprocess=how),
])
def test_preprocessing_without_images(use: Callable[..., Any], examples: Path) -> None:
    file = examples / "digits" / "digits_float.onnx"
    module = transload.load(file)
    with pytest.raises(UsageError, match="nothing that is given is one"):
        use(file, module, transload.Preprocess(mean=(3.0,)))
    with pytest.raises(UsageError, match="takes a Preprocess as preprocess, and was given 'anything'"):
        use(file, module, "anything")
