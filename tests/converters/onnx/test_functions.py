"""Functions that a model has of its own: defaults of their attributes, calls in calls and in subgraphs, other opsets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

import transload
from transload.budget import allowed
from transload.errors import ReadError
from transload_converters.onnx import process

from tests.support.onnx_models import read_model

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def leaky(slope: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.where(x < 0, np.float32(slope) * x, x)


def model_of(text: str) -> onnx.ModelProto:
    return parser.parse_model('<ir_version: 9, opset_import: ["": 19, "my": 1]>\n' + text)


def runs_as(text: str, *wanted: np.ndarray) -> None:
    """A model gives what is wanted."""
    got = list(transload.run(read_model(model_of(text)), {"x": X}).values())
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


ACT = '<domain: "my", opset_import: ["": 19, "my": 1]> act <{}> (a) => (b) {{ {} }}'
INNER = '''<domain: "my", opset_import: ["": 19]> inner <beta: float = 0.7> (a) => (b)
           { b = LeakyRelu <alpha: float = @beta> (a) }'''


@pytest.mark.parametrize("body", [
    "b = LeakyRelu <alpha: float = @alpha> (a)",
    "k = Constant <value_float: float = @alpha> () l = Mul(a, k) b = Max(a, l)",
    "b = my.inner <beta: float = @alpha> (a)"])
def test_defaults_of_attributes_are_where_a_call_gives_none(body: str) -> None:
    runs_as("g (float[3,4] x) => (float[3,4] y, float[3,4] z) { y = my.act(x) z = my.act <alpha = 0.25> (x) }"
            + ACT.format("alpha: float = 0.5", body) + INNER, leaky(0.5)(X), leaky(0.25)(X))


def test_a_default_holds_where_the_function_around_was_given_nothing() -> None:
    act = ACT.format("alpha", "b = my.inner <beta: float = @alpha> (a)")
    runs_as("g (float[3,4] x) => (float[3,4] y) { y = my.act(x) }" + act + INNER, leaky(0.7)(X))


def test_a_default_decides_the_shape() -> None:
    body = "k = Constant <value = int64[1] {1}> () b = ReduceSum <keepdims: int = @keep> (a, k)"
    runs_as("g (float[3,4] x) => (float[3] y) { y = my.act(x) }" + ACT.format("keep: int = 0", body), X.sum(1))


def in_branches(opset: int) -> str:
    return (
        "g (float[3,4] x) => (float[3,4] y) { z = ReduceMax <keepdims = 0> (x) k = Constant <value_float: float = 9.0> ()"
        " c = Less(z, k)"
        " y = If(c) <then_branch = t () => (float[3,4] o) { u = Neg(x) o = my.act(u) },"
        " else_branch = e () => (float[3,4] o) { o = my.act(x) }> }"
        f'<domain: "my", opset_import: ["": {opset}, "my": 1]> act <alpha: float = 0.1> (a) => (b) '
        "{ q = LeakyRelu <alpha: float = @alpha> (a) b = my.inner(q) }"
        f'<domain: "my", opset_import: ["": {opset}]> inner <axis: int = 1> (a) => (b) {{ b = Softmax <axis: int = @axis> (a) }}')


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("opset", [19, 18, 11])
def test_calls_in_subgraphs_of_any_opset(opset: int) -> None:
    runs_as(in_branches(opset), softmax(leaky(0.1)(-X)))


def test_functions_of_several_opsets_call_each_other_and_are_called_twice() -> None:
    def act(x: np.ndarray) -> np.ndarray:
        slope = leaky(0.1)(x)
        return softmax(slope - slope.mean(1, keepdims=True))

    between = act(X) - act(X).max(1, keepdims=True)
    runs_as("""g (float[3,4] x) => (float[3,4] y) { a = my.act(x) b = my.largest(a) y = my.act(b) }
        <domain: "my", opset_import: ["": 11, "my": 1]> act <alpha: float = 0.1> (x) => (y)
        { l = LeakyRelu <alpha: float = @alpha> (x) q = my.mean(l) r = my.largest(q) y = Softmax <axis = 1> (r) }
        <domain: "my", opset_import: ["": 13]> mean (x) => (y) { m = ReduceMean <axes = [1], keepdims = 1> (x) y = Sub(x, m) }
        <domain: "my", opset_import: ["": 17]> largest (x) => (y) { m = ReduceMax <axes = [1], keepdims = 1> (x) y = Sub(x, m) }
        """, act(between))


def test_a_function_of_an_opset_that_is_not_read_is_refused_in_words() -> None:
    text = ('g (float[3,4] x) => (float[3,4] y) { y = my.act(x) } <domain: "my", opset_import: ["": 6]> act (a) => (b) '
            "{ b = Add <broadcast = 1> (a, a) }")
    with pytest.raises(ReadError, match="function 'act' is written in opset 6, older than 7"):
        read_model(model_of(text))


def test_a_call_that_gives_more_than_a_function_takes_is_refused() -> None:
    text = ('g (float[3,4] x) => (float[3,4] y) { y = my.act(x, x) } <domain: "my", opset_import: ["": 11]> act (a) => (b) '
            "{ b = Softmax(a) }")
    with pytest.raises(ReadError) as caught:
        read_model(model_of(text))
    assert "takes 1 values and gives 1, and is called with 2 for 1" in str(caught.value.findings[0])


@pytest.mark.parametrize("versions", ['"my": 2, "other": 1', '"my": 1, "other": 2', '"my": 1'])
def test_versions_of_other_domains_do_not_matter(versions: str) -> None:
    """onnx's inliner leaves such a call where it is: inlining had no end."""
    text = """g (float[3,4] x) => (float[3,4] y) { y = my.act(x) }
        <domain: "my", opset_import: ["": 19, "my": 1, "other": 1]> act <alpha: float = 0.5> (a) => (b)
        { c = Neg(a) b = my.inner <beta: float = @alpha> (c) }""" + INNER
    model = parser.parse_model(f'<ir_version: 9, opset_import: ["": 19, {versions}]>' + text)
    np.testing.assert_allclose(transload.run(read_model(model), {"x": X})["y"], leaky(0.5)(-X), rtol=1e-5)


@pytest.mark.parametrize("last", ["one", "two"])
@pytest.mark.parametrize("called", ["one", "two"])
def test_overloads_are_functions_of_their_own(called: str, last: str) -> None:
    """One that calls itself was not seen where another came after it, and one that calls the other was said to call itself."""
    model = model_of("g (float[3,4] x) => (float[3,4] y) { y = my.act(x) }"
                     '<domain: "my", opset_import: ["": 19, "my": 1]> act (a) => (b) { c = Neg(a) b = my.act(c) }'
                     '<domain: "my", opset_import: ["": 19]> act (a) => (b) { b = Relu(a) }')
    model.ir_version = 10
    for function, overload in zip(model.functions, ("one", "two"), strict=True):
        function.overload = overload
    model.graph.node[0].overload, model.functions[0].node[1].overload = "one", called
    if last == "one":
        model.functions.reverse()
    if called == "two":
        np.testing.assert_allclose(transload.run(read_model(model), {"x": X})["y"], np.maximum(-X, 0))
        return
    with pytest.raises(ReadError, match="function 'act' calls itself"):
        read_model(model)


def test_long_names_in_functions_are_counted_before_they_are_inlined() -> None:
    """A value of a long name in a function became as many copies of it as there are calls: 3.4 GB of a file of 228 KB."""
    chain = " ".join(f"v{number + 1} = my.two(v{number})" for number in range(50))
    model = model_of("g (float[3,4] v0) => (float[3,4] v50) { " + chain + " }" + f"""
        <domain: "my", opset_import: ["": 19, "my": 1]> two (a) => (b) {{ c = my.act(a) b = my.act(c) }}
        <domain: "my", opset_import: ["": 19]> act (a) => (b) {{ {"n" * 1000} = Neg(a) b = Neg({"n" * 1000}) }}""")
    with allowed(text=1000), pytest.raises(ReadError, match=r"with its functions inlined, the names .* 2[01][0-9],[0-9]* char"):
        read_model(model)
    with allowed(text=300_000):
        assert transload.run(read_model(model), {"v0": X})["v50"].tolist() == X.tolist()


def test_constants_in_functions_are_no_names() -> None:
    """A mask in the block of a transformer, 4 MB in each of 24 calls, was taken for 100 million characters of names."""
    chain = " ".join(f"v{number + 1} = my.block(v{number})" for number in range(20))
    model = model_of("g (float[3,4] v0) => (float[3,4] v20) { " + chain + " }" + """
        <domain: "my", opset_import: ["": 19]> block (a) => (b) { m = Constant() t = Constant() b = Add(a, m) }""")
    for node, size in zip(model.functions[0].node[:2], (12, 3000), strict=True):
        shape = (3, 4) if size == 12 else (size,)
        node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.ones(shape, np.float32))))
    with allowed(text=10_000):
        assert transload.run(read_model(model), {"v0": X})["v20"] == pytest.approx(X + 20)
    refused = pytest.raises(ReadError, match=r"their constants are 24[0-9],[0-9]{3} bytes, and 100,000")
    with allowed(grown=100_000), refused as caught:
        read_model(model)
    assert "TRANSLOAD_BUDGET=grown=24" in caught.value.hint


def test_what_protobuf_cannot_write_is_no_model_without_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx's inliner gives an empty model in place of one of more than 2 GB."""
    monkeypatch.setattr("onnx.inliner.inline_local_functions", lambda model: onnx.ModelProto())
    model = model_of("g (float[3,4] x) => (float[3,4] y) { y = my.act(x) }" + ACT.format("", "b = Neg(a)").replace("<>", ""))
    with pytest.raises(ValueError, match="exceed the 2 GB"):
        process.inlined(model.SerializeToString())


@pytest.mark.parametrize("opset", [11, 19])
def test_tensors_are_called_as_calls_call_them(opset: int) -> None:
    """Of functions of another opset they had the names within, which several tensors had: a model was cut at another tensor."""
    model = model_of("""g (float[3,4] x) => (float[3,4] y) { c = Neg(x) b = my.act(c) a = my.act(b) y = Add(a, c) }
        <domain: "my", opset_import: ["": OPSET, "my": 1]> act (a) => (b)
        { c = Softmax <axis = 1> (a) x = my.two(c) b = Mul(x, a) }
        <domain: "my", opset_import: ["": OPSET]> two (b) => (a) { c = Softmax <axis = 1> (b) a = Neg(c) }
        """.replace("OPSET", str(opset)))

    def act(x: np.ndarray) -> np.ndarray:
        return -softmax(softmax(x)) * x

    found = transload.run(read_model(model), {"x": X}, keep=True)
    assert len(found) == 10
    for name, wanted in {"c": -X, "b": act(-X), "a": act(act(-X)), "y": act(act(-X)) - X}.items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-5, atol=1e-6)


def test_a_function_with_the_name_of_an_operator_is_not_called(tmp_path: Path) -> None:
    """onnxruntime computes the operator; the function's body was computed here."""
    onnxruntime = pytest.importorskip("onnxruntime")
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[3, 4] x) => (float[3, 4] y) { y = Relu(x) }
        <domain: "", opset_import: ["" : 17]> Relu (a) => (b) { b = Neg(a) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    (wanted,) = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, {"x": X})
    (made,) = transload.run(tmp_path / "m.onnx", {"x": X}).values()
    np.testing.assert_array_equal(made, wanted)
