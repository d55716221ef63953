"""Masks of attentions: what is all but infinitely far needs no range, and what is masked stays masked. onnxruntime judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.metrics import sqnr
from transload.quantization import floats_in
from transload_plugins.quantize.masks import has_masks, without_far_masks

from tests.converters.pytorch.cases.run import module_of
from tests.converters.pytorch.cases.spec import Cases, t
from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
LEAST = float(np.finfo(np.float32).min)
LENGTH, WIDTH = 6, 16
CAUSAL = np.triu(np.ones((LENGTH, LENGTH), bool), 1)
Arrays = dict[str, np.ndarray]


def attention(*mask: Any, constants: Arrays, given: bool = False, layers: int = 1) -> bytes:
    """Attentions one after the other over `x`; `mask` are the nodes that make `masked` of `scores`, in each."""
    rng, node = np.random.default_rng(7), onnx.helper.make_node
    nodes, weights, x = [each for each in mask if "scores" not in each.input], dict(constants), "x"
    for layer in range(layers):
        for name in "qkv":
            weights[f"w{name}{layer}"] = (rng.normal(size=(WIDTH, WIDTH)) / WIDTH ** 0.5).astype(np.float32)
            nodes.append(node("MatMul", [x, f"w{name}{layer}"], [f"{name}{layer}"]))
        own = {"scores": f"scores{layer}", "masked": f"masked{layer}"}
        nodes += [node("Transpose", [f"k{layer}"], [f"t{layer}"], perm=[0, 2, 1]),
                  node("MatMul", [f"q{layer}", f"t{layer}"], [own["scores"]])]
        for each in (each for each in mask if "scores" in each.input):
            takes, gives = ([own.get(name, name) for name in names] for names in (each.input, each.output))
            nodes.append(node(each.op_type, takes, gives))
        x = f"y{layer}"
        nodes += [node("Softmax", [own["masked"]], [f"shares{layer}"], axis=-1),
                  node("MatMul", [f"shares{layer}", f"v{layer}"], [x])]
    tensor = onnx.helper.make_tensor_value_info
    inputs = [tensor("x", 1, [1, LENGTH, WIDTH])] + ([tensor("seen", 7, [1, LENGTH])] if given else [])
    graph = onnx.helper.make_graph(
        nodes, "attention", inputs, [tensor(x, 1, [1, LENGTH, WIDTH])],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def added(number: float) -> dict[str, Any]:
    return {"mask": [onnx.helper.make_node("Add", ["scores", "far"], ["masked"])],
            "constants": {"far": np.where(CAUSAL, np.float32(number), np.float32(0))}}


def chosen(number: float) -> dict[str, Any]:
    return {"mask": [onnx.helper.make_node("Where", ["causal", "far", "scores"], ["masked"])],
            "constants": {"far": np.float32(number), "causal": CAUSAL}}


def computed(number: float, layers: int = 1) -> dict[str, Any]:
    """As BERT has it: an input says what is seen, `(1 - seen) * number` is added, by all layers the same tensor."""
    node = onnx.helper.make_node
    return {
        "mask": [node("Cast", ["seen"], ["float"], to=1), node("Sub", ["one", "float"], ["hidden"]),
                 node("Mul", ["hidden", "far"], ["product"]), node("Unsqueeze", ["product", "axis"], ["row"]),
                 node("Add", ["scores", "row"], ["masked"])],
        "constants": {"far": np.float32(number), "one": np.float32(1), "axis": np.array([1])}, "given": True, "layers": layers}


def samples(given: bool, count: int) -> list[Arrays]:
    rng = np.random.default_rng(count)
    found = [{"x": rng.normal(size=(1, LENGTH, WIDTH)).astype(np.float32)} for _ in range(count)]
    for sample in found if given else ():
        sample["seen"] = (np.arange(LENGTH) < rng.integers(1, LENGTH + 1))[None].astype(np.int64)
    return found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", [
    added(-np.inf), added(-1e4), chosen(LEAST), computed(-1e4), computed(LEAST, 2)],
    ids=["add infinity", "add 10,000", "choose the least", "computed", "computed for two layers"])
def test_scores_keep_their_steps_beside_what_is_masked(tmp_path: Any, form: dict[str, Any]) -> None:
    """Infinite ones were refused; of others one scale reached over scores and mask, and all scores were one number."""
    path = tmp_path / "attention.onnx"
    path.write_bytes(attention(*form.pop("mask"), **form))
    given = form.get("given", False)
    made = transload.quantize(transload.load(path), "int8", samples(given, 8), islands="none")
    assert not floats_in(made)
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    others = samples(given, 6)
    wanted = np.stack([session.run(None, sample)[0] for sample in others])
    lowered = transload.lower(made, "tosa")
    for module in (made, lowered):
        (actual,) = zip(*(transload.run(module, sample, engine="reference").values() for sample in others), strict=True)
        assert sqnr(wanted, np.stack(actual)) > 24.0


def test_a_table_says_where_masks_end(tmp_path: Any) -> None:
    """A table says where masks were cut off, and the greatest float in nine digits was refused as infinite."""
    form = computed(LEAST, 2)
    path = tmp_path / "attention.onnx"
    path.write_bytes(attention(*form.pop("mask"), **form))
    model, given = transload.load(path), samples(True, 8)
    table = transload.calibrate(model, given, method="minmax").save(tmp_path / "table")
    made = transload.quantize(model, "int8", calibration=str(table))
    (sample,) = samples(True, 1)
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    (wanted,), (actual,) = session.run(None, sample), transload.run(made, sample).values()
    assert sqnr(wanted, actual) > 20.0  # without rounding and biases


def test_what_is_no_mask_stays() -> None:
    """A bias of like size, a tensor that others take too, and rows of which nothing is seen."""
    g = Graph((2, 8))
    (x,) = g.inputs
    bias = g.Softmax(g.Add(x, g.random(8)), axis=-1)
    far = g.Add(x, -1e4 * np.eye(2, 8))
    both = g.Add(g.Softmax(far, axis=-1), far)
    unseen = g.Softmax(g.Add(x, np.full((2, 8), LEAST)), axis=-1)
    module = g.done(bias, both, unseen)
    assert has_masks(module)
    assert without_far_masks(module, [{"x0": np.zeros((2, 8), np.float32)}]) is module


def test_only_a_joining_is_looked_at() -> None:
    """Scores that are concatenated, as detectors do, mask nothing."""
    g = Graph((2, 8))
    module = g.done(g.Softmax(g.Concat(g.Relu(g.inputs[0]), g.Neg(g.inputs[0]), axis=0), axis=-1))
    assert not has_masks(module)


def unseen(*shape: int) -> np.ndarray:
    """Truths that say which keys queries see: each itself, and one of them none."""
    seen = (np.random.default_rng(3).random(shape) > 0.4) | np.eye(shape[-1], dtype=bool)
    seen[..., 2, :] = False
    return seen


def seen_by(maker: str, path: Any) -> transload.Module:
    """Attention of PyTorch, or of ONNX, over queries, keys and values, with a mask of truths, or of numbers made of these."""
    shapes, size = [(1, 2, LENGTH, WIDTH)] * 3, (1, 1, LENGTH, LENGTH)
    if maker == "PyTorch":
        cases = Cases()
        cases.add("scaled_dot_product_attention.default", *(t(*shape) for shape in shapes), t(*size, d="i1"))
        return module_of(cases.all[0], [np.zeros(shapes[0], np.float32)])
    node, tensor = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    mask = "seen" if maker == "ONNX" else "mask"
    nodes = [node("Where", ["seen", "none", "far"], ["mask"])] * (mask == "mask")
    nodes.append(node("Attention", ["q", "k", "v", mask], ["y"]))
    inputs = [tensor(name, 1, shape) for name, shape in zip("qkv", shapes, strict=True)] + [tensor("seen", 9, size)]
    constants = [onnx.numpy_helper.from_array(np.float32(number), name) for name, number in (("none", 0), ("far", -np.inf))]
    graph = onnx.helper.make_graph(nodes, "attention", inputs, [tensor("y", 1, shapes[0])], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=10), path)
    return transload.load(path)


@pytest.mark.parametrize("maker", ["PyTorch", "ONNX", "ONNX with numbers"])
def test_queries_that_see_nothing_have_no_infinity(tmp_path: Any, maker: str) -> None:
    """Which see nothing was asked of what has minus infinity in it: "has numbers that are not finite"."""
    module, rng = seen_by(maker, tmp_path / "m.onnx"), np.random.default_rng(1)
    q, k, v = (rng.normal(size=(1, 2, LENGTH, WIDTH)).astype(np.float32) for _ in range(3))
    seen = unseen(1, 1, LENGTH, LENGTH)
    shares = np.where(seen, np.exp(q @ k.swapaxes(-1, -2) / WIDTH ** 0.5), 0)
    wanted = shares / np.maximum(shares.sum(-1, keepdims=True), 1e-9) @ v
    sample = dict(zip(module.inputs, (q, k, v, seen), strict=True))
    (exact,) = transload.run(transload.lower(module, "tosa"), sample).values()
    np.testing.assert_allclose(exact, wanted, atol=1e-5)
    for scheme, least in (("int8", 24.0), ("int16x8", 40.0)):
        made = transload.quantize(module, scheme, [sample], islands="none")
        (actual,) = transload.run(made, sample).values()
        assert sqnr(wanted, actual) > least and not actual[..., 2, :].any()


def test_running_sums_of_exponentials_have_no_infinity() -> None:
    """What lies behind an element was masked with it."""
    cases = Cases()
    cases.add("logcumsumexp.default", t(3, 7), 1)
    x = np.random.default_rng(1).normal(size=(3, 7)).astype(np.float32)
    made = transload.quantize(module_of(cases.all[0], [x]), "int8", [{"x0": x}])
    assert sqnr(np.logaddexp.accumulate(x, axis=1), *transload.run(made, {"x0": x}).values()) > 24.0


@pytest.mark.parametrize(("operator", "options"), [("Add", {}), ("Sub", {}), ("Add", {"islands": "none"})])
def test_masks_before_the_last_softmax_are_seen(operator: str, options: dict[str, str], tmp_path: Path) -> None:
    """Noise was looked for in front of it, where all is small beside -1e9, and nothing was left float: 2 dB. A mask that is an
    input is cut off as one that is computed."""
    drawn = np.random.default_rng(8)
    nodes = [node("MatMul", ["x", "w"], ["l"]), node(operator, ["l", "m"], ["t"]), node("Softmax", ["t"], ["y"])]
    weights = drawn.normal(size=(16, 10)).astype(np.float32)
    zeros = {"x": np.zeros((1, 16), np.float32), "m": np.zeros((1, 10), np.float32)}
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, zeros, ["y"], {"w": weights}).SerializeToString())
    far = np.float32(-1e9 if operator == "Add" else 1e9)
    samples = [{"x": drawn.normal(size=(1, 16)).astype(np.float32), "m": far * (drawn.random((1, 10)) < 0.4).astype(np.float32)}
               for _ in range(16)]
    floats = transload.load(file)
    made = transload.quantize(floats, "int8", samples, **options)
    noise = [sqnr(*(next(iter(transload.run(module, each).values())) for module in (floats, made))) for each in samples]
    assert np.mean(noise) > 20


@pytest.mark.parametrize("factor", [None, 0.3])
def test_a_mask_that_became_the_bias_of_a_layer(factor: float | None, tmp_path: Path) -> None:
    """Constant masks of actions are added to a layer's bias, and multiplied with its weights, before anything is quantized."""
    drawn = np.random.default_rng(8)
    mask = np.where(np.arange(16) % 3 > 0, 0.0, -1e9).astype(np.float32)
    held = {"w": drawn.normal(size=(32, 16)).astype(np.float32), "m": mask, "f": np.float32(factor or 1.0)}
    nodes = [node("MatMul", ["x", "w"], ["l"]), node("Add", ["l", "m"], ["t"]), node("Mul", ["t", "f"], ["s"]),
             node("Softmax", ["s"], ["y"], axis=1)]
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {"x": np.zeros((4, 32), np.float32)}, ["y"], held).SerializeToString())
    samples = [{"x": drawn.normal(size=(4, 32)).astype(np.float32)} for _ in range(8)]
    floats = transload.load(file)
    made = transload.quantize(floats, "int8", samples, islands="none")
    noise = [sqnr(*(next(iter(transload.run(module, each).values())) for module in (floats, made))) for each in samples]
    assert np.mean(noise) > 20
