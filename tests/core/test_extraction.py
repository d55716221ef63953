"""Parts of models between tensors, by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.cli import run
from transload.errors import UsageError
from transload.ir import Module
from transload.ir.verify import check

from tests.support.hub_text import one_op


@pytest.fixture(scope="module", params=["digits_float.onnx", "digits_int8.tflite"])
def model(request: pytest.FixtureRequest, examples: Path) -> Module:
    return transload.load(examples / "digits" / request.param)


@pytest.fixture(scope="module")
def image(model: Module) -> dict[str, np.ndarray]:
    from transload.verification.inputs import random_inputs

    return random_inputs(model, transload.legalize(model), 1)


@pytest.mark.parametrize("lowered", ["", "top", "tosa"])
def test_two_parts_compute_what_the_whole_does(model: Module, image: dict[str, np.ndarray], lowered: str) -> None:
    whole = transload.lower(model, lowered) if lowered else model
    expected = transload.run(whole, image)
    front = transload.extract(whole, outputs={"pooled": "features", "depthwise": "d"})
    back = transload.extract(whole, inputs={"pooled": "features"}, outputs={"probabilities": "y"})
    assert not check(front) and not check(back) and list(back.inputs) == ["features"] and list(front.outputs) == ["features", "d"]
    assert max(sum(1 for _ in part.ops()) for part in (front, back)) < sum(1 for _ in whole.ops())
    found = transload.run(back, {"features": transload.run(front, image)["features"]})
    np.testing.assert_allclose(found["y"].astype(float), expected["probabilities"].astype(float), atol=1e-6)
    assert front.source is None and transload.run(whole, image).keys() == expected.keys()


def test_names_alone(model: Module, image: dict[str, np.ndarray]) -> None:
    renamed = transload.extract(model, {"probabilities": "p"}, {"image": "x"})
    (expected,) = transload.run(model, image).values()
    np.testing.assert_array_equal(transload.run(renamed, {"x": image["image"]})["p"], expected)


def test_the_borders_know_what_they_knew(tmp_path: Path) -> None:
    """Unsigned bytes stay such, and states where both of their ends do."""
    text = """
      "func.func"() <{sym_name = "main", function_type = (tensor<2xi8>, tensor<2xi8>) -> (tensor<2xi8>, tensor<2xi8>),
        arg_attrs = [{ml_program.identifier = "x", transload.element = ui8}, {ml_program.identifier = "unused"}],
        res_attrs = [{ml_program.identifier = "y", transload.element = ui8}, {ml_program.identifier = "z"}]}> ({
      ^bb0(%x: tensor<2xi8>, %u: tensor<2xi8>):
        %y = "tosa.bitwise_not"(%x) : (tensor<2xi8>) -> tensor<2xi8> loc("inner")
        "func.return"(%y, %u) : (tensor<2xi8>, tensor<2xi8>) -> ()
      }) : () -> ()"""
    part = transload.extract(transload.load(text=text, format="mlir"), ["y"])
    assert {name: str(type_) for name, type_ in (part.inputs | part.outputs).items()} == {
        "x": "tensor<2xui8>", "y": "tensor<2xui8>"}
    assert transload.run(part, {"x": np.array([0, 255], np.uint8)})["y"].tolist() == [255, 0]


@pytest.mark.parametrize(("outputs", "inputs", "why"), [
    (["poled"], [], "no tensor 'poled' outside of loops"), ("pooled", [], "as a list"),
    (None, {"pooled": "image", "image": "image"}, None), (None, {"conv1": "a", "pooled": "a", "depthwise": "a"}, None),
    (["conv1"], ["logits"], "no output is computed from 'logits'"), (["image"], ["conv1", "pooled"], "from 'conv1', 'pooled'"),
    ({"pooled": "a", "probabilities": "a"}, [], "two outputs would be called 'a'")])
def test_what_cannot_be_cut(model: Module, outputs: object, inputs: object, why: str | None) -> None:
    if why is None:  # the other input is not needed any more
        assert len(transload.extract(model, outputs, inputs).inputs) == 1  # type: ignore[arg-type]
        return
    with pytest.raises(UsageError, match=why):
        transload.extract(model, outputs, inputs)  # type: ignore[arg-type]


def test_the_command(examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, part = examples / "digits" / "digits_float.onnx", tmp_path / "head.mlir"
    assert run(["extract", str(model), "--inputs", "pooled=features", "--outputs", "probabilities", "-o", str(part)]) == 0
    assert "features tensor<1x32x2x2xf32>; probabilities" in " ".join(capsys.readouterr().out.split())
    assert list(transload.load(part).inputs) == ["features"]
    assert run(["extract", str(model), "--outputs", "poled", "-o", str(part)]) == 2
    assert "did you mean 'pooled'?" in capsys.readouterr().err
    assert run(["extract", str(model), "--outputs", "pooled"]) == 2
    assert run(["extract", str(model), "--outputs", "pooled", "-o", str(tmp_path / "x.tosa")]) == 3  # not of that dialect
    assert run(["extract", str(model), "--outputs", "pooled=", "-o", str(part)]) == 2
    assert "does not say the new name" in capsys.readouterr().err


def test_a_model_that_is_cut_is_judged_by_its_file(examples: Path, tmp_path: Path) -> None:
    """By the runtime's own numbers of the tensors; what is behind them is neither converted nor asked for."""
    path = examples / "digits" / "digits_int8.tflite"
    made = transload.convert(path, out=tmp_path, outputs=["pooled,depthwise"], verify="require")
    assert list(made.module.outputs) == ["pooled", "depthwise"] and made.report.ops_in.keys() < transload.inspect(path).ops.keys()
    assert any("cut at 'pooled', 'depthwise'" in note for note in made.report.notes)
    assert [tensor.name for tensor in made.verification.tensors] == ["pooled", "depthwise"]
    again = transload.compare(path, tmp_path, outputs=["pooled", "depthwise"], per_layer=True)
    assert again.worst("max_abs") == 0 and len(again.tensors) > 2
    cut = transload.load(path, outputs=["pooled"])
    assert transload.convert(cut, out=tmp_path / "module", verify="require").verification.passed
    assert not any("is not what" in note for note in cut.notes)
    assert transload.inspect(path, outputs=["pooled"]).outputs.keys() == {"pooled"}


def test_a_cut_leaves_inputs_over_and_the_runtime_is_given_them(tmp_path: Path) -> None:
    from onnx import TensorProto, helper, save_model

    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["a,b"]), helper.make_node("Add", ["a,b", "y"], ["z"])], "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 3])])
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    made = transload.convert(tmp_path / "m.onnx", out=tmp_path / "out", outputs=["a,b"], verify="require")
    assert list(made.module.inputs) == ["x"] and list(made.module.outputs) == ["a,b"]


def test_where_a_runtime_does_not_give_the_tensor_nobody_judges(
    examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    from transload.plugin import Runtime

    opened = Runtime.opened

    def forgetful(self: Runtime, *given: object) -> object:
        run = opened(self, *given)
        return lambda arrays, keep=False: {name: array for name, array in run(arrays, keep).items() if name != "pooled"}

    monkeypatch.setattr(Runtime, "opened", forgetful)
    made = transload.convert(examples / "digits" / "digits_float.tflite", out=tmp_path, outputs=["pooled"])
    assert made.verification.status == "skipped" and "does not give the numbers of 'pooled'" in made.verification.why


def test_a_cut_at_no_tensor(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = examples / "digits" / "digits_float.onnx"
    assert run(["inspect", str(path), "--outputs", "depthwise,poold"]) == 2
    assert "did you mean 'pooled'" in " ".join(capsys.readouterr().err.split())
    assert run(["inspect", str(path), "--outputs", "depthwise,pooled"]) == 0
    assert "pooled" in capsys.readouterr().out
    with pytest.raises(UsageError, match="as a list"):
        transload.load(path, outputs="pooled")


def test_no_tensor_is_to_have_an_empty_name() -> None:
    """It was not heard."""
    module = one_op("top.Neg", "", {"x": "tensor<2xf32>"}, "tensor<2xf32>")
    for names in ({"inputs": {"x": ""}}, {"outputs": {"r": ""}}):
        with pytest.raises(UsageError, match=r"tensor '[xr]' is to have an empty name"):
            transload.extract(module, **names)


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Module:
    """Of x: a = -x, its copy b and its twin t, which end the model, d = relu(a), and x itself as c."""
    from onnx import TensorProto, helper, save_model

    nodes = [("Neg", "x", "a"), ("Identity", "a", "b"), ("Neg", "x", "t"), ("Relu", "a", "d"), ("Identity", "x", "c")]
    graph = helper.make_graph(
        [helper.make_node(kind, [given], [made]) for kind, given, made in nodes], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "btdc"])
    path = tmp_path_factory.mktemp("copies") / "m.onnx"
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return transload.load(path)


def test_tensors_that_are_one_value_of_a_lowered_model_are_no_inputs(copies: Module) -> None:
    """Another tensor was cut, too, or one of two inputs was dropped: other numbers than the file's."""
    wanted = transload.run(transload.extract(copies, ["b", "d"], {"x": "x", "b": "fb"}), {
        "x": -np.ones(2, np.float32), "fb": np.full(2, 5, np.float32)})
    assert [wanted[name].tolist() for name in "bd"] == [[5, 5], [1, 1]]
    without_file = transload.extract(copies)
    for lowered in (transload.legalize(copies), transload.lower(copies, "tosa"), transload.legalize(without_file)):
        for name in ("a", "b", "t", "c"):
            with pytest.raises(UsageError, match=f"'{name}' cannot be an input: in the lowered model") as refused:
                transload.extract(lowered, ["d", "c"], {name: "f"})
            assert "transload.load" in str(refused.value.hint)
        with pytest.raises(UsageError, match="'x' and 'c' are one value"):
            transload.extract(lowered, ["d", "c"], {"x": "p", "c": "q"})
        renamed = transload.extract(lowered, ["b", "t", "c"], {"x": "p"})  # outputs may share a value
        assert {name: made.tolist() for name, made in transload.run(renamed, {"p": np.ones(2, np.float32)}).items()} == {
            "b": [-1, -1], "t": [-1, -1], "c": [1, 1]}


def test_one_value_of_a_file_is_one_input() -> None:
    text = """
      "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>),
        arg_attrs = [{ml_program.identifier = "x"}],
        res_attrs = [{ml_program.identifier = "y"}, {ml_program.identifier = "z"}, {ml_program.identifier = "e"}]}> ({
      ^bb0(%x: tensor<2xf32>):
        %y = "tosa.abs"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("inner")
        %e = "tosa.exp"(%y) : (tensor<2xf32>) -> tensor<2xf32> loc("e")
        "func.return"(%y, %y, %e) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
      }) : () -> ()"""
    module = transload.load(text=text, format="mlir")
    assert list(transload.extract(module, ["e", "z"], {"y": "f"}).inputs) == ["f"]
    with pytest.raises(UsageError, match="'y' and 'z' are one value of the model"):
        transload.extract(module, ["e"], {"y": "f", "z": "g"})


def test_a_tensor_has_one_new_name(examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(examples / "digits" / "digits_float.onnx")
    given = ["--inputs", "pooled=a", "--inputs", "pooled=b", "-o", str(tmp_path / "part.mlir")]
    assert run(["extract", model, *given]) == 2
    assert "is to be called 'a' and 'b'" in capsys.readouterr().err


def test_a_copy_is_no_intermediate_that_is_kept_and_a_model_may_end_at_it(copies: Module) -> None:
    x = {"x": np.ones(2, np.float32)}
    inner = transload.extract(copies, ["d"])
    assert list(transload.run(inner, x, keep=True)) == ["a", "d"]
    assert transload.run(transload.extract(copies, ["b"]), x)["b"].tolist() == [-1, -1]


def test_a_name_that_is_asked_for_is_that_tensors_alone(examples: Path, tmp_path: Path) -> None:
    """What is within and was called so gets a number, in whatever file; an input and an output are not both called so."""
    model = transload.load(examples / "digits" / "digits_float.onnx")
    part = transload.extract(model, inputs={"conv1": "pooled"})
    within = {"pooled": np.ones((1, 16, 8, 8), np.float32)}
    kept = transload.run(part, within, keep=True)
    assert list(part.inputs) == ["pooled"] and "pooled_1" in kept and "pooled" not in kept
    assert list(transload.extract(part, ["pooled_1"]).outputs) == ["pooled_1"]
    for suffix in (".mlir", ".onnx"):
        file = transload.save(part, tmp_path / f"part{suffix}")
        assert transload.run(transload.load(file), within, keep=True).keys() == kept.keys()
    for outputs, inputs in ((None, {"conv1": "probabilities"}), ({"pooled": "image"}, ()), (["pooled"], {"conv1": "pooled"})):
        with pytest.raises(UsageError, match=r"an input and an output would both be called '\w+'"):
            transload.extract(model, outputs, inputs)
    assert list(transload.extract(model, {"image": "x"}, {"image": "x"}).outputs) == ["x"]  # one tensor
    swapped = transload.extract(model, {"pooled": "logits", "logits": "pooled"})
    assert {name: str(type_) for name, type_ in swapped.outputs.items()} == {
        "logits": "tensor<1x32x2x2xf32>", "pooled": "tensor<1x10xf32>"}


def test_one_of_several_results_is_called_otherwise() -> None:
    text = """
      "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xf32>)}> ({
      ^bb0(%x: tensor<2xf32> loc("x")):
        %0 = "onnx.Abs"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("m")
        %a, %b = "onnx.Split"(%0) {num_outputs = 2 : i64} : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xf32>) loc(fused["a", "b"])
        %1 = "onnx.Abs"(%a) : (tensor<1xf32>) -> tensor<1xf32> loc("y")
        "func.return"(%1, %b) : (tensor<1xf32>, tensor<1xf32>) -> ()
      }) : () -> ()"""
    module = transload.load(text=text, format="mlir")
    part = transload.extract(module, inputs={"m": "a"})
    assert list(part.inputs) == ["a"] and list(part.outputs) == ["y", "b"]
    assert [value.name for op in part.body_of_main for value in op.results] == ["a_1", "b", "y"]
