"""Modules of the `onnx` dialect as files: names, constants, subgraphs, and what cannot be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import transload
from transload.errors import ConversionError, TransloadError
from transload.text import parse_module
from transload_converters.onnx import writer
from transload_converters.onnx.runtime import open_model
from transload_converters.onnx.writer import model_of

from tests.support.onnx_out.roundtrip import run_model


def made(text: str) -> onnx.ModelProto:
    """A module of the hub, written and checked."""
    model = model_of(transload.lower(parse_module(text), "onnx"))
    onnx.checker.check_model(model, full_check=True)
    return model


def test_an_input_that_is_an_output_keeps_its_name_and_a_constant_and_a_repeated_one_get_theirs() -> None:
    model = made("""
        "func.func"() ({
        ^bb0(%a: tensor<2xf32> loc("a")):
          %c = "top.Weight"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
          %b = "top.Relu"(%a) : (tensor<2xf32>) -> tensor<2xf32> loc("b")
          "func.return"(%a, %c, %b, %b) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
        }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>),
          sym_name = "main"} : () -> ()""")
    names = [info.name for info in model.graph.output]
    assert len(set(names)) == 4 and names[0] == "a"
    x = np.array([-1, 3], np.float32)
    outputs = run_model(model, {"a": x})
    assert [list(each) for each in outputs] == [[-1, 3], [1, 2], [0, 3], [0, 3]]


def test_an_output_of_an_inputs_name_is_that_input(tmp_path: Path) -> None:
    given = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 19]> g (float[3] x) => (float[3] x, float[3] y) { y = Relu (x) }'), given)
    x = np.array([-1, 0, 2], np.float32)
    for options in ({}, {"opset": 17}):
        converted = transload.convert(given, "onnx", tmp_path / "out", options=options)
        written = next(file for file in converted.files if file.suffix == ".onnx")
        assert [info.name for info in onnx.load(written).graph.output] == ["x", "y"]
        wanted, made = open_model(given)({"x": x}), open_model(written)({"x": x})
        assert list(made) == list(wanted) and all(np.array_equal(made[name], wanted[name]) for name in wanted)


def test_another_value_of_an_inputs_name_gets_a_number() -> None:
    model = made("""
        "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>) -> (tensor<2xf32>),
            res_attrs = [{ml_program.identifier = "a"}]}> ({
        ^bb0(%a: tensor<2xf32> loc("a")):
          %b = "top.Relu"(%a) : (tensor<2xf32>) -> tensor<2xf32>
          "func.return"(%b) : (tensor<2xf32>) -> ()
        }) : () -> ()""")
    assert [info.name for info in model.graph.output] == ["a_1"]


def test_names_that_are_taken_get_a_number() -> None:
    model = made("""
        "func.func"() ({
        ^bb0(%a: tensor<2xf32> loc("x")):
          %0 = "top.Exp"(%a) : (tensor<2xf32>) -> tensor<2xf32> loc("y")
          %1 = "top.Abs"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc("y")
          %2 = "top.Sin"(%1) : (tensor<2xf32>) -> tensor<2xf32> loc("x")
          "func.return"(%2) : (tensor<2xf32>) -> ()
        }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>),
          sym_name = "main"} : () -> ()""")
    values = [info.name for info in model.graph.input] + [name for node in model.graph.node for name in node.output]
    assert len(set(values)) == len(values)


def test_a_loop_runs_until_its_condition_is_false() -> None:
    model = made("""
        "func.func"() ({
        ^bb0(%n: tensor<i32> loc("n"), %x: tensor<2xf32> loc("x")):
          %r:2 = "top.While"(%n, %x) ({
          ^bb0(%i: tensor<i32>, %s: tensor<2xf32>):
            %zero = "top.Weight"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
            %go = "top.Compare"(%i, %zero) {mode = "Greater"} : (tensor<i32>, tensor<i32>) -> tensor<i1>
            "top.Yield"(%go) : (tensor<i1>) -> ()
          }, {
          ^bb0(%i: tensor<i32>, %s: tensor<2xf32>):
            %one = "top.Weight"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
            %j = "top.Sub"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
            %t = "top.Add"(%s, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
            "top.Yield"(%j, %t) : (tensor<i32>, tensor<2xf32>) -> ()
          }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
          "func.return"(%r#0, %r#1) : (tensor<i32>, tensor<2xf32>) -> ()
        }) {function_type = (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>),
          sym_name = "main"} : () -> ()""")
    for n in (0, 3):
        left, total = run_model(model, {"n": np.array(n, np.int32), "x": np.array([1, 2], np.float32)})
        assert int(left) == 0 and list(total) == [n + 1, 2 * (n + 1)]


def test_a_branch_gives_values_from_around_it() -> None:
    model = made("""
        "func.func"() ({
        ^bb0(%c: tensor<1xi1> loc("c"), %x: tensor<2xf32> loc("x")):
          %r = "top.If"(%c) ({
            "top.Yield"(%x) : (tensor<2xf32>) -> ()
          }, {
            %n = "top.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
            "top.Yield"(%n) : (tensor<2xf32>) -> ()
          }) : (tensor<1xi1>) -> tensor<2xf32>
          "func.return"(%r) : (tensor<2xf32>) -> ()
        }) {function_type = (tensor<1xi1>, tensor<2xf32>) -> (tensor<2xf32>),
          sym_name = "main"} : () -> ()""")
    x = np.array([1, 2], np.float32)
    assert list(run_model(model, {"c": np.array([True]), "x": x})[0]) == [1, 2]
    assert list(run_model(model, {"c": np.array([False]), "x": x})[0]) == [-1, -2]


def test_large_constants_lie_in_a_file_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "EXTERNAL_FROM", 4096)
    weights = np.arange(2048, dtype=np.float32).reshape(2, 1024)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 2))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1024))], [onnx.numpy_helper.from_array(weights, "w")])
    source = tmp_path / "in.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), source)
    transload.save(transload.load(source), tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx.data").stat().st_size == weights.nbytes
    back = transload.load(tmp_path / "out.onnx")
    x = np.array([[1, 2]], np.float32)
    assert np.array_equal(transload.run(transload.legalize(back), {"x": x})["y"], x @ weights)


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (5, 3), (33, 33)])
@pytest.mark.parametrize("element, bits", [
    ("INT2", 2), ("UINT2", 2), ("INT4", 4), ("UINT4", 4), ("FLOAT4E2M1", 4)])
def test_numbers_of_few_bits_are_packed(
        element: str, bits: int, shape: tuple[int, ...], external: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of 2 bits, and floats of 4, took a byte each, which onnxruntime does not load."""
    code = getattr(TensorProto, element, None)
    if code is None:
        pytest.skip(f"the installed onnx has no {element}")
    if external:
        monkeypatch.setattr(writer, "EXTERNAL_FROM", 0)
        monkeypatch.setattr(writer, "_INLINE", -1)
    codes = np.random.default_rng(0).integers(0, 1 << bits, shape).astype(np.uint8)
    stream = np.unpackbits(codes.reshape(-1, 1), axis=1, bitorder="little")[:, :bits].reshape(-1)
    weights = helper.make_tensor("w", code, shape, np.packbits(stream, bitorder="little").tobytes(), raw=True)
    graph = helper.make_graph(
        [helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)], "g", [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], [weights])
    source, again = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]), source)
    transload.save(transload.load(source), again)
    (back,) = onnx.load(again).graph.initializer  # with what lies in another file
    assert back.raw_data == weights.raw_data and list(back.dims) == list(shape)
    numbers = onnx.numpy_helper.to_array(weights)
    assert np.array_equal(onnx.numpy_helper.to_array(back).astype(np.float32), numbers.astype(np.float32))
    (op,) = [op for op in transload.load(again).ops() if op.name == "onnx.Constant"]
    assert np.array_equal(op.attributes["value"].numpy().astype(np.float32), numbers.astype(np.float32))
    assert writer.constant_bytes(transload.load(again)) == len(weights.raw_data)


@pytest.mark.parametrize("element", ["INT2", "UINT2", "INT4", "UINT4"])
def test_what_was_packed_runs(element: str, tmp_path: Path) -> None:
    code = getattr(TensorProto, element, None)
    if code is None:
        pytest.skip(f"the installed onnx has no {element}")
    first, last = (-2, 1) if element.startswith("I") else (0, 3)
    weights = helper.make_tensor("w", code, (5, 7), np.random.default_rng(0).integers(first, last + 1, 35).tolist())
    scales = onnx.numpy_helper.from_array(np.linspace(0.5, 1, 7, dtype=np.float32), "s")
    graph = helper.make_graph(
        [helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=1), helper.make_node("MatMul", ["x", "f"], ["y"])],
        "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 5))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 7))], [weights, scales])
    source = tmp_path / "in.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13), source)
    converted = transload.convert(source, "onnx", tmp_path / "out")
    assert converted.verification is not None and converted.verification.status == "passed"


def test_a_model_that_has_no_room_leaves_no_constants_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "EXTERNAL_FROM", 0)
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 2))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 2))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), tmp_path / "in.onnx")
    module = transload.load(tmp_path / "in.onnx")
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(TransloadError, match=r"out\.onnx: No space left"):
        transload.save(module, tmp_path / "new" / "out.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["in.onnx"]


def test_what_cannot_be_written_is_told_at_once() -> None:
    module = transload.lower(parse_module("""
        "func.func"() ({
        ^bb0(%a: tensor<2xi48> loc("a"), %b: tensor<2xi48> loc("b")):
          %0 = "top.Add"(%a, %b) : (tensor<2xi48>, tensor<2xi48>) -> tensor<2xi48> loc("sum")
          "func.return"(%0) : (tensor<2xi48>) -> ()
        }) {function_type = (tensor<2xi48>, tensor<2xi48>) -> (tensor<2xi48>),
          sym_name = "main"} : () -> ()"""), "onnx")
    with pytest.raises(ConversionError, match="cannot be written as ONNX") as caught:
        transload.save(module, "never.onnx")
    assert "i48" in str(caught.value) and not Path("never.onnx").exists()


def _branches(depth: int) -> str:
    """Conditionals in the first branches of each other, as text of the hub."""
    of = "tensor<2xf32>"
    lines = [f'%r{depth} = "top.Relu"(%x) : ({of}) -> {of}']
    for level in range(depth - 1, -1, -1):
        lines = [f'%r{level} = "top.If"(%c) ({{', *lines, f'"top.Yield"(%r{level + 1}) : ({of}) -> ()',
                 f'}}, {{\n"top.Yield"(%x) : ({of}) -> ()\n}}) : (tensor<i1>) -> {of}']
    body = "\n".join(lines)
    return (f'"func.func"() ({{\n^bb0(%c: tensor<i1> loc("c"), %x: {of} loc("x")):\n{body}\n'
            f'"func.return"(%r0) : ({of}) -> ()\n}}) {{function_type = (tensor<i1>, {of}) -> {of}, sym_name = "main"}} '
            ": () -> ()")


def test_what_is_written_is_no_deeper_than_is_read(tmp_path: Path) -> None:
    """Protocol buffers are read 100 messages deep, by us and by onnxruntime, and written, too, only a little deeper."""
    file = tmp_path / "model.onnx"
    transload.save(transload.lower(parse_module(_branches(31)), "onnx"), file)
    transload.load(file)
    x = np.array([-1, 3], np.float32)
    assert [list(made) for made in open_model(file)({"c": np.array(True), "x": x}).values()] == [[0, 3]]
    file.unlink()
    for depth in (32, 33, 45):
        with pytest.raises(ConversionError, match="lies in graphs 31 deep in each other") as caught:
            transload.save(transload.lower(parse_module(_branches(depth)), "onnx"), file)
        assert [finding.count for finding in caught.value.findings] == [1] and not file.exists()


BODIES = {
    "Loop": ("""g (float[3] x) => (float[3] y) { c = Constant <value = bool {1}> () n = Constant <value = int64 {4}> ()
        y = Loop (n, c, x) <body = b (int64 i, bool ci, float[3] a) => (bool co, float[3] ao)
        { k = Cast <to = 1> (i) ao = Add (a, k) co = Identity (ci) }> }""", {}),
    "Scan": ("""g (float[3] h, float[5,3] x) => (float[3] z, float[5,3] y) { z, y = Scan <num_scan_inputs = 1, body = b
        (float[3] s, float[3] e) => (float[3] t, float[3] r) { u = Mul (s, e) t = Tanh (u) r = Neg (t) }> (h, x) }""", {}),
    "a sequence given": ("g (float[4,6] x) => (seq(float[N,6]) s) { s = SplitToSequence <axis = 0> (x) }", {}),
    "a sequence between": ("""g (seq(float[N,6]) s, float[2,6] x) => (float[M,6] y, int64 n) { t = SequenceInsert (s, x)
        y = ConcatFromSequence <axis = 0> (t) n = SequenceLength (t) }""", {"s[0]": (1, 6)}),
    "an optional": ("g (optional(float[3]) o, float[3] x) => (float[3] y, bool h) { h = OptionalHasElement (o) y = Neg (x) }",
                    {}),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_was_read_is_written_back(name: str, tmp_path: Path) -> None:
    """Types of what lies in bodies, and of sequences, follow from the operators: they were needed, and not there."""
    text, shapes = BODIES[name]
    given, again = tmp_path / "given.onnx", tmp_path / "again.onnx"
    onnx.save(onnx.parser.parse_model('<ir_version: 9, opset_import: ["": 19]>\n' + text), given)
    module = transload.load(given, inputs=shapes)
    numbers = np.random.default_rng(0)
    inputs = {key: numbers.standard_normal(type_.shape).astype(np.float32) for key, type_ in module.inputs.items()}
    transload.save(module, again)
    onnx.checker.check_model(onnx.load(again), full_check=True)
    wanted, made = open_model(given)(inputs), open_model(again)(inputs)
    assert list(wanted) == list(made)
    converted = transload.convert(given, "onnx", tmp_path / "out", inputs=shapes)
    assert converted.verification.status == "passed"
    for key, array in wanted.items():
        np.testing.assert_array_equal(made[key], array)


def test_operators_of_another_opset_are_written_by_the_hub(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 19, "my": 1]> g (float[2,3,4] x) => (float[2,3,4] y) { y = my.f (x) }'
        '<domain: "my", opset_import: ["": 11]> f (a) => (b) { b = Softmax <axis = 1> (a) }'), file)
    module = transload.load(file)
    with pytest.raises(ConversionError, match="meant as opset 11 has it, in a model of opset 19"):
        transload.save(module, tmp_path / "again.onnx")
    converted = transload.convert(file, "onnx", tmp_path / "out", verify=False)
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    powers = np.exp(x - x.max((1, 2), keepdims=True))
    made = open_model(next(file for file in converted.files if file.suffix == ".onnx"))({"x": x})["y"]
    np.testing.assert_allclose(made, powers / powers.sum((1, 2), keepdims=True), rtol=1e-5)


def test_names_that_are_no_text_are_spelt_out() -> None:
    """As in a FlatBuffer: strings of a protobuf are UTF-8, and names of a StableHLO file may be any bytes."""
    text = """
        "func.func"() ({
        ^bb0(%a: tensor<2xf32> loc("a\\\\FF")):
          %b = "top.Relu"(%a) : (tensor<2xf32>) -> tensor<2xf32> loc("b\\\\FE")
          %c = "top.Neg"(%b) : (tensor<2xf32>) -> tensor<2xf32> loc("c\\\\FF")
          "func.return"(%c) : (tensor<2xf32>) -> ()
        }) {function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"} : () -> ()""".replace("\\\\", "\\")
    model = made(text)
    assert [info.name for info in (*model.graph.input, *model.graph.output)] == ["a\\udcff", "c\\udcff"]
    assert [list(node.output) for node in model.graph.node] == [["b\\udcfe"], ["c\\udcff"]]
    (outputs,) = run_model(model, {"a\\udcff": np.array([-1, 3], np.float32)})
    assert list(outputs) == [0, -3]
