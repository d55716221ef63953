"""Control flow, variables, custom operators, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.api import legalize, load, run, save
from transload.budget import allowed
from transload.errors import ConversionError, ReadError
from transload.ir import Module
from transload_converters.tflite.runtime import open_model
from transload_converters.tflite.writer import ModelWriter

F = "float32"


def branches(constant_condition: bool | None, shape: tuple[int, ...] = ()) -> ModelWriter:
    """`c ? x + y : x * y`, each in a subgraph of its own."""
    model = ModelWriter()
    condition = model.add_tensor("c", shape, "bool", None if constant_condition is None else np.array(constant_condition))
    x, y, out = (model.add_tensor(name, (3,), F) for name in ("x", "y", "out"))
    for name, operator in (("plus", "ADD"), ("times", "MUL")):
        graph = model.add_subgraph(name)
        a, b, result = (graph.add_tensor(tensor, (3,), F) for tensor in ("a", "b", "r"))
        graph.add_operator(operator, [a, b], [result])
        graph.inputs, graph.outputs = [a, b], [result]
    model.add_operator("IF", [condition, x, y], [out], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    model.inputs = [x, y] if constant_condition is not None else [condition, x, y]
    model.outputs = [out]
    return model


@pytest.mark.parametrize("condition", [True, False])
def test_if(condition: bool, judge: Callable[..., Module]) -> None:
    x, y = np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32)
    hub = judge(branches(None).finish(), {"c": np.array(condition), "x": x, "y": y})
    assert [op.name for op in hub.ops() if op.name == "top.If"]
    assert list(hub.functions) == ["main"], "subgraphs are no functions any more"
    hub = judge(branches(condition).finish(), {"x": x, "y": y})
    assert [op.name for op in hub.ops() if op.name not in ("func.return", "top.Weight")] == [
        "top.Add" if condition else "top.Mul"
    ]


def test_a_condition_without_a_truth_value_is_refused() -> None:
    with pytest.raises(ConversionError, match="not one truth value"):
        legalize(load(text=branches(None, (0,)).finish(), format="tflite"))


def test_a_choice_by_nothing_is_refused() -> None:
    model = ModelWriter()
    y = model.add_tensor("y", (2,), F)
    model.add_operator("STABLEHLO_CASE", [], [y], {"branch_subgraph_indices": []})
    model.outputs = [y]
    with pytest.raises(ReadError, match="stablehlo_case at 'y': has 0 operands, not 1 or more"):
        load(text=model.finish(), format="tflite")


def counting() -> ModelWriter:
    """`while i < 5: i, x = i + 1, x * 2`."""
    model = ModelWriter()
    i, x = model.add_tensor("i", (), "int32"), model.add_tensor("x", (2,), F)
    i_out, x_out = model.add_tensor("i_out", (), "int32"), model.add_tensor("x_out", (2,), F)
    cond = model.add_subgraph("cond")
    a, b = cond.add_tensor("a", (), "int32"), cond.add_tensor("b", (2,), F)
    five, flag = cond.add_tensor("five", (), "int32", np.array(5, np.int32)), cond.add_tensor("flag", (), "bool")
    cond.add_operator("LESS", [a, five], [flag])
    cond.inputs, cond.outputs = [a, b], [flag]
    body = model.add_subgraph("body")
    a, b = body.add_tensor("a", (), "int32"), body.add_tensor("b", (2,), F)
    one, two = body.add_tensor("one", (), "int32", np.array(1, np.int32)), body.add_tensor("two", (), F, np.array(2, np.float32))
    a2, b2 = body.add_tensor("a2", (), "int32"), body.add_tensor("b2", (2,), F)
    body.add_operator("ADD", [a, one], [a2])
    body.add_operator("MUL", [b, two], [b2])
    body.inputs, body.outputs = [a, b], [a2, b2]
    model.add_operator("WHILE", [i, x], [i_out, x_out], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    model.inputs, model.outputs = [i, x], [i_out, x_out]
    return model


def test_while(judge: Callable[..., Module]) -> None:
    hub = judge(counting().finish(), {"i": np.array(1, np.int32), "x": np.array([1, -2], np.float32)})
    [loop] = [op for op in hub.ops() if op.name == "top.While"]
    assert [str(value.type) for value in loop.results] == ["tensor<i32>", "tensor<2xf32>"]


def test_loop_whose_state_grows(load: Callable[..., Module]) -> None:
    model = ModelWriter()
    x, out = model.add_tensor("x", (2,), F), model.add_tensor("out", (2,), F)
    for name, operator in (("cond", "LESS"), ("body", "CONCATENATION")):
        graph = model.add_subgraph(name)
        a = graph.add_tensor("a", (2,), F)
        result = graph.add_tensor("r", (4,), F if name == "body" else "bool")
        graph.add_operator(operator, [a, a], [result], {"axis": 0} if name == "body" else None)
        graph.inputs, graph.outputs = [a], [result]
    model.add_operator("WHILE", [x], [out], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    model.inputs, model.outputs = [x], [out]
    with pytest.raises(ConversionError, match="types of its state change"):
        legalize(load(model.finish()))


def test_subgraph_that_runs_itself(load: Callable[..., Module]) -> None:
    model = branches(None)
    graph = model.add_subgraph("endless")
    a, b, flag = graph.add_tensor("a", (3,), F), graph.add_tensor("b", (3,), F), graph.add_tensor("f", (), "bool", np.array(True))
    result = graph.add_tensor("r", (3,), F)
    graph.add_operator("IF", [flag, a, b], [result], {"then_subgraph_index": 3, "else_subgraph_index": 1})
    graph.inputs, graph.outputs = [a, b], [result]
    with pytest.raises(ConversionError, match="runs itself"):
        legalize(load(model.finish()))


def test_subgraphs_that_do_nothing_are_counted_where_they_are_called(load: Callable[..., Module]) -> None:
    """Each calls the next twice, and the last gives what it is given: copies of no operator are counted."""
    main = ModelWriter()
    graphs = [main, *(main.add_subgraph(f"g{level}") for level in range(12))]
    for level, graph in enumerate(graphs):
        values = [graph.add_tensor(f"x{place}", (3,), "float32") for place in range(3 if level < 12 else 1)]
        for before, after in pairwise(values):
            graph.add_operator("CALL", [before], [after], {"subgraph": level + 1})
        graph.inputs, graph.outputs = [values[0]], [values[-1]]
    with allowed(ops=1000), pytest.raises(ConversionError) as caught:
        legalize(load(main.finish()))
    assert "it would take more than 1,000 ops" in str(caught.value)


def test_variables(load: Callable[..., Module]) -> None:
    """A variable that CALL_ONCE sets, that is read, assigned, and read again."""
    model = ModelWriter()
    x, out = model.add_tensor("x", (2,), F), model.add_tensor("out", (2,), F)
    handle = model.add_tensor("handle", (), "resource")
    first, total = model.add_tensor("first", (2,), F), model.add_tensor("total", (2,), F)
    second = model.add_tensor("second", (2,), F)
    start = model.add_subgraph("start")
    own, ten = start.add_tensor("own", (), "resource"), start.add_tensor("ten", (2,), F, np.array([10, 20], np.float32))
    start.add_operator("VAR_HANDLE", [], [own], {"shared_name": "v"})
    start.add_operator("ASSIGN_VARIABLE", [own, ten], [])
    model.add_operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    model.add_operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    model.add_operator("READ_VARIABLE", [handle], [first])
    model.add_operator("ADD", [x, first], [total])
    model.add_operator("ASSIGN_VARIABLE", [handle, total], [])
    model.add_operator("READ_VARIABLE", [handle], [second])
    model.add_operator("MUL", [second, second], [out])
    model.inputs, model.outputs = [x], [out]
    hub = legalize(load(model.finish()))
    np.testing.assert_array_equal(run(hub, {"x": np.array([1, 2], np.float32)})["out"], [121, 484])


# --- custom operators


def detection_options(**options: Any) -> bytes:
    from flatbuffers import flexbuffers

    builder = flexbuffers.Builder()
    with builder.Map():
        for key, value in options.items():
            builder.Key(key)
            builder.Bool(value) if isinstance(value, bool) else builder.Int(value) if isinstance(value, int) else builder.Float(
                value
            )
    return bytes(builder.Finish())


@pytest.mark.parametrize(("regular", "classes_per_box"), [(False, 1), (False, 2), (True, 1)])
def test_detection_postprocess(
    regular: bool, classes_per_box: int, write: Callable[..., bytes], judge: Callable[..., Module]
) -> None:
    """Races by class with several classes a box are below: behind them LiteRT leaves what was in memory."""
    generator = np.random.default_rng(1)
    count, classes, wanted = 40, 3, 6
    anchors = np.concatenate([generator.uniform(0, 1, (count, 2)), generator.uniform(0.1, 0.4, (count, 2))], 1).astype(np.float32)
    options = detection_options(
        max_detections=wanted,
        max_classes_per_detection=classes_per_box,
        detections_per_class=4,
        use_regular_nms=regular,
        nms_score_threshold=0.2,
        nms_iou_threshold=0.4,
        num_classes=classes,
        y_scale=10.0,
        x_scale=10.0,
        h_scale=5.0,
        w_scale=5.0,
    )
    total = wanted * classes_per_box
    content = write(
        "TFLite_Detection_PostProcess",
        [((1, count, 4), F), ((1, count, classes + 1), F), ((count, 4), F, anchors)],
        [((1, total, 4), F), ((1, total), F), ((1, total), F), ((1,), F)],
        custom_options=options,
    )
    boxes = generator.uniform(-1, 1, (1, count, 4)).astype(np.float32)
    scores = generator.permutation(count * (classes + 1)).reshape(1, count, classes + 1).astype(np.float32) / (
        count * (classes + 1)
    )
    judge(content, {"in0": boxes, "in1": scores}, tolerance=1e-6)


def _one_class() -> bytes:
    """Options of at most three boxes, of one class each."""
    return detection_options(
        max_detections=3,
        max_classes_per_detection=1,
        nms_score_threshold=0.5,
        nms_iou_threshold=0.5,
        num_classes=1,
        y_scale=1.0,
        x_scale=1.0,
        h_scale=1.0,
        w_scale=1.0,
    )


def test_detection_of_fewer_boxes_than_wanted(write: Callable[..., bytes], load: Callable[..., Module]) -> None:
    """Places without a box hold zeros, and are not counted."""
    anchors = np.array([[0.5, 0.5, 1, 1]] * 4, np.float32)
    content = write(
        "TFLite_Detection_PostProcess",
        [((1, 4, 4), F), ((1, 4, 2), F), ((4, 4), F, anchors)],
        [((1, 3, 4), F), ((1, 3), F), ((1, 3), F), ((1,), F)],
        custom_options=_one_class(),
    )
    scores = np.array([[[0, 0.1], [0, 0.9], [0, 0.8], [0, 0.2]]], np.float32)
    outputs = run(legalize(load(content)), {"in0": np.zeros((1, 4, 4), np.float32), "in1": scores})
    boxes, classes, held, number = outputs.values()
    np.testing.assert_allclose(boxes[0], [[0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]], atol=1e-6)
    assert (held.tolist(), number.tolist(), classes.tolist()) == ([[np.float32(0.9), 0, 0]], [1], [[0, 0, 0]])


def test_detections_after_others_leave_nothing_of_them(write: Callable[..., bytes], tmp_path: Path) -> None:
    """LiteRT writes what it found alone: behind it stands what the run before left there."""
    pytest.importorskip("ai_edge_litert")
    anchors = np.array([[0, 0, 1, 1], [5, 5, 1, 1], [9, 9, 1, 1]], np.float32)
    path = tmp_path / "detection.tflite"
    path.write_bytes(
        write(
            "TFLite_Detection_PostProcess",
            [((1, 3, 4), F), ((1, 3, 2), F), ((3, 4), F, anchors)],
            [((1, 3, 4), F), ((1, 3), F), ((1, 3), F), ((1,), F)],
            custom_options=_one_class(),
        )
    )
    session = open_model(path)
    for best in (1.0, 0.4):  # all three, then the first alone
        scores = np.array([[[0, 0.9], [0, best], [0, best]]], np.float32)
        found = session({"in0": np.zeros((1, 3, 4), np.float32), "in1": scores})
    boxes, classes, held, number = found.values()
    assert number.tolist() == [1] and not boxes[0, 1:].any() and not classes[0, 1:].any() and not held[0, 1:].any()


@pytest.mark.parametrize("regular", [False, True])
@pytest.mark.parametrize("classes", [1, 2])
def test_rows_without_a_detection(classes: int, regular: bool, write: Callable[..., bytes], tmp_path: Path) -> None:
    """LiteRT counts boxes, each of as many rows as classes; races by class have as many rows, and use the first ones."""
    pytest.importorskip("ai_edge_litert")
    generator = np.random.default_rng(6)
    rows = 5 * classes
    options = detection_options(
        max_detections=5, max_classes_per_detection=classes, detections_per_class=3, use_regular_nms=regular,
        nms_score_threshold=0.3, nms_iou_threshold=0.5, num_classes=3, y_scale=10.0, x_scale=10.0, h_scale=5.0, w_scale=5.0)
    path = tmp_path / "detection.tflite"
    path.write_bytes(
        write(
            "TFLite_Detection_PostProcess",
            [((1, 12, 4), F), ((1, 12, 4), F), ((12, 4), F, generator.uniform(0.2, 0.8, (12, 4)).astype(np.float32))],
            [((1, rows, 4), F), ((1, rows), F), ((1, rows), F), ((1,), F)],
            custom_options=options,
        )
    )
    session, hub = open_model(path), legalize(load(path))
    for most in (1.0, 0.4, 0.33):  # all boxes are enough, then many, then few
        given = {"in0": generator.normal(size=(1, 12, 4)).astype(np.float32),
                 "in1": generator.uniform(0, most, (1, 12, 4)).astype(np.float32)}
        ours, found = run(hub, given), session(given)
        for one, other in zip(ours.values(), found.values(), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert found["out3"].item() < 5


@pytest.mark.parametrize("padding", [1, 2])
def test_transpose_convolution_with_bias(padding: int, write: Callable[..., bytes], load: Callable[..., Module]) -> None:
    """MediaPipe's Convolution2DTransposeBias is TRANSPOSE_CONV with a bias."""
    generator = np.random.default_rng(2)
    weights, bias = generator.normal(size=(3, 2, 2, 4)).astype(np.float32), generator.normal(size=3).astype(np.float32)
    shape = (1, 8, 10, 3)
    content = write(
        "Convolution2DTransposeBias",
        [((1, 4, 5, 4), F), (weights.shape, F, weights), (bias.shape, F, bias)],
        [(shape, F)],
        custom_options=np.array([padding, 2, 2], "<i4").tobytes(),
    )
    same = write(
        "TRANSPOSE_CONV",
        [((4,), "int32", np.array(shape, np.int32)), (weights.shape, F, weights), ((1, 4, 5, 4), F), (bias.shape, F, bias)],
        [(shape, F)],
        {"padding": "SAME" if padding == 1 else "VALID", "stride_h": 2, "stride_w": 2},
        version=3,
    )
    x = generator.normal(size=(1, 4, 5, 4)).astype(np.float32)
    np.testing.assert_allclose(
        run(legalize(load(content)), {"in0": x})["out0"], run(legalize(load(same)), {"in2": x})["out0"], atol=1e-6
    )


def test_unknown_custom_operator(write: Callable[..., bytes], load: Callable[..., Module]) -> None:
    content = write("Mystery", [((2,), F)], [((3,), F)], custom_options=b"\x01\x02")
    [op] = [op for op in legalize(load(content)).ops() if op.name == "top.Custom"]
    assert op.attribute("name") == "Mystery"
    assert str(op.attribute("options")["custom_option"]) == '#tfl<const_bytes : "0x0102">'


# --- boxes and spectra


@pytest.mark.parametrize("sigma", [None, 0.0, 0.5])
def test_non_max_suppression(sigma: float | None, write: Callable[..., bytes], judge: Callable[..., Module]) -> None:
    generator = np.random.default_rng(4)
    count, wanted = 30, 12
    scalars = [((), F, np.float32(0.45)), ((), F, np.float32(0.3))] + ([((), F, np.float32(sigma))] if sigma is not None else [])
    outputs = [((wanted,), "int32"), *([((wanted,), F)] if sigma is not None else []), ((), "int32")]
    content = write(
        "NON_MAX_SUPPRESSION_V4" if sigma is None else "NON_MAX_SUPPRESSION_V5",
        [((count, 4), F), ((count,), F), ((), "int32", np.int32(wanted)), *scalars],
        outputs,
    )
    corners = generator.uniform(0, 1, (count, 2))
    other = corners + generator.uniform(-0.4, 0.4, (count, 2))  # any two opposite corners
    boxes = np.concatenate([corners, other], axis=1).astype(np.float32)
    judge(content, {"in0": boxes, "in1": generator.permutation(count).astype(np.float32) / count}, tolerance=1e-6)


@pytest.mark.parametrize(
    ("size", "lengths"), [((3, 1, 16), (1, 16)), ((2, 1, 13), (1, 8)), ((2, 1, 13), (1, 16)), ((4, 8), (4, 8))]
)
@pytest.mark.parametrize("what", ["COMPLEX_ABS", "REAL", "IMAG"])
def test_spectrum(what: str, size: tuple[int, ...], lengths: tuple[int, int], judge: Callable[..., Module]) -> None:
    """A real Fourier transform, reshaped, and its size or a part of it."""
    model = ModelWriter()
    x, n = model.add_tensor("x", size, F), model.add_tensor("n", (2,), "int32", lengths)
    shape = (*size[:-2], lengths[0], lengths[1] // 2 + 1)
    flat = (int(np.prod(shape)),)
    spectrum, target = model.add_tensor("spectrum", shape, "complex64"), model.add_tensor("flat", (1,), "int32", flat)
    lined, out = model.add_tensor("lined", flat, "complex64"), model.add_tensor("out", flat, F)
    model.add_operator("RFFT2D", [x, n], [spectrum])
    model.add_operator("RESHAPE", [spectrum, target], [lined])
    model.add_operator(what, [lined], [out])
    model.inputs, model.outputs = [x], [out]
    judge(model.finish(), tolerance=1e-6)


def test_complex_result(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    content = write("RFFT2D", [((1, 8), F), ((2,), "int32", [1, 8])], [((1, 5), "complex64")])
    with pytest.raises(ConversionError, match="complex numbers cannot be a result"):
        legalize(load(content))


def test_complex_numbers_in_an_operator_of_real_ones(load: Callable[..., Module]) -> None:
    """Halves of a spectrum are not halves of the pairs that the hub has for it; LiteRT has no kernel for it, either."""
    model = ModelWriter()
    x, n = model.add_tensor("x", (2, 8), F), model.add_tensor("n", (2,), "int32", [2, 8])
    axis = model.add_tensor("axis", (), "int32", 0)
    spectrum = model.add_tensor("spectrum", (2, 5), "complex64")
    first, second = (model.add_tensor(name, (1, 5), "complex64") for name in ("first", "second"))
    out = model.add_tensor("out", (1, 5), F)
    model.add_operator("RFFT2D", [x, n], [spectrum])
    model.add_operator("SPLIT", [axis, spectrum], [first, second], {"num_splits": 2})
    model.add_operator("REAL", [second], [out])
    model.inputs, model.outputs = [x], [out]
    with pytest.raises(ConversionError, match="works on complex numbers, which LiteRT has no kernel for here"):
        legalize(load(model.finish()))


# --- refusals: all at once, each with a reason and a hint


def test_all_that_cannot_be_converted(load: Callable[..., Module]) -> None:
    model = ModelWriter()
    x = model.add_tensor("x", (4,), F)
    unique, places = model.add_tensor("unique", (4,), F), model.add_tensor("places", (4,), "int32")
    shape, random = model.add_tensor("shape", (1,), "int32", [4]), model.add_tensor("random", (4,), F)
    act = model.add_tensor("act", (4,), F)
    model.add_operator("UNIQUE", [x], [unique, places], {"idx_out_type": "INT32"})
    model.add_operator("RANDOM_UNIFORM", [shape], [random])
    model.add_operator("ADD", [x, random], [act], {"fused_activation_function": "SIGN_BIT"})
    model.inputs, model.outputs = [x], [unique, act]
    with pytest.raises(ConversionError) as caught:
        legalize(load(model.finish()))
    found = {finding.what: finding for finding in caught.value.findings}
    assert set(found) == {"tfl.unique", "tfl.random_uniform", "tfl.add"}
    assert "depends on the data" in found["tfl.unique"].why and found["tfl.unique"].names == ("unique",)
    assert "SIGN_BIT" in found["tfl.add"].why and found["tfl.random_uniform"].hint


@pytest.mark.parametrize("count", [0, 2])
def test_a_dense_layer_has_one_output(count: int, write: Callable[..., bytes], load: Callable[..., Module]) -> None:
    content = write("FULLY_CONNECTED", [((3, 8), F), ((2, 8), F, np.ones((2, 8))), None], [((3, 2), F)] * count)
    with pytest.raises(ConversionError, match=f"it has {count} outputs"):
        legalize(load(content))


def test_shape_known_only_at_run_time(write: Callable[..., bytes], load: Callable[..., Module]) -> None:
    content = write("RESHAPE", [((4,), F), ((2,), "int32")], [((2, 2), F)])
    with pytest.raises(ConversionError, match="the new shape must be a constant"):
        legalize(load(content))


# --- what is written


def running(operator: str, inputs: int, results: int, first: int = 1, second: int = 2, given: int = 1) -> ModelWriter:
    """A model of IF or WHILE of subgraphs that take `inputs` vectors and give `given` and one, or the other way round."""
    model = ModelWriter()
    flag = model.add_tensor("flag", (), "bool")
    taken = [model.add_tensor(f"x{index}", (2,), F) for index in range(2)]
    made = [model.add_tensor(f"y{index}", (2,), F) for index in range(results)]
    for name in ("one", "two"):
        graph = model.add_subgraph(name)
        graph.inputs = [graph.add_tensor(f"a{index}", (2,), F) for index in range(inputs)]
        truth = graph.add_tensor("truth", (), "bool", np.array(False))
        graph.outputs = [truth] if operator == "WHILE" and name == "one" else graph.inputs[:given]
    fields = ("cond", "body") if operator == "WHILE" else ("then", "else")
    options = {f"{field}_subgraph_index": index for field, index in zip(fields, (first, second), strict=True)}
    model.add_operator(operator, taken if operator == "WHILE" else [flag, *taken], made, options)
    model.inputs, model.outputs = [flag, *taken], made
    return model


@pytest.mark.parametrize(("model", "why"), [
    (running("IF", 1, 1), "its then_branch takes 1 tensors and gives 1, where it is to take 2 and give 1"),
    (running("IF", 2, 2), "its else_branch takes 2 tensors and gives 1, where it is to take 2 and give 2"),
    (running("WHILE", 3, 2, given=2), "its cond takes 3 tensors and gives 1, where it is to take 2 and give 1"),
    (running("WHILE", 2, 2), "its body takes 2 tensors and gives 1, where it is to take 2 and give 2"),
    (running("WHILE", 2, 1, given=2), "its body takes 2 tensors and gives 2, where it is to take 1 and give 1"),
    (running("IF", 2, 1, second=0), "function 'main': runs itself, through 'main'"),
])
def test_subgraphs_that_do_not_fit_are_not_written(model: ModelWriter, why: str, tmp_path: Path) -> None:
    module = load(text=model.finish(), format="tflite")
    with pytest.raises(ConversionError) as caught:
        save(module, tmp_path / "again.tflite")
    assert why in str(caught.value)
    assert not list(tmp_path.iterdir())
    try:
        legalize(module)  # of a loop whose condition is never true the body is not looked at
    except ConversionError as error:
        assert "failed" not in str(error), "the file is wrong, and no rule"


@pytest.mark.parametrize("condition", [True, False])
def test_a_constant_condition_and_a_branch_that_gives_too_much(condition: bool) -> None:
    model = branches(condition)
    model.outputs = [model.add_tensor("more", (3,), F)]
    model._operators[0].outputs.extend(model.outputs)
    with pytest.raises(ConversionError, match="the branch gives 1 values, and there are 2 results"):
        legalize(load(text=model.finish(), format="tflite"))


def test_a_function_that_is_not_there_is_not_written(tmp_path: Path) -> None:
    text = '''"builtin.module"() ({
      "func.func"() <{function_type = (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
      ^bb0(%c: tensor<i1>, %x: tensor<2xf32>):
        %y = "tfl.if"(%c, %x) <{then_branch = @there, else_branch = @nowhere}> : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
        "func.return"(%y) : (tensor<2xf32>) -> ()
      }) : () -> ()
    }) : () -> ()'''
    with pytest.raises(ConversionError, match="runs the function 'nowhere', which the module does not have"):
        save(load(text=text, format="mlir"), tmp_path / "model.tflite")


def test_a_file_of_subgraphs_is_written_as_it_was_read(tmp_path: Path) -> None:
    for model in (counting(), branches(None)):
        module = load(text=model.finish(), format="tflite")
        again = load(save(module, tmp_path / "again.tflite"))
        assert [op.name for op in again.ops()] == [op.name for op in module.ops()]
        assert list(again.functions) == list(module.functions)
        values = {"i": np.int32(1), "c": np.bool_(True), "x": np.ones(2, np.float32), "y": np.ones(3, np.float32)}
        if "c" in module.inputs:
            values["x"] = np.ones(3, np.float32)
        given = {name: values[name] for name in module.inputs}
        for mine, theirs in zip(run(legalize(module), given).values(), run(legalize(again), given).values(), strict=True):
            np.testing.assert_array_equal(mine, theirs)
