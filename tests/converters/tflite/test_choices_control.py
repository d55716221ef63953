"""The options `loops`, `unroll_limit` and `postprocess`, and how options reach the conversion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload import convert
from transload.api import load, lower, run
from transload.contents import op_counts
from transload.errors import ConversionError, RunError, UsageError
from transload.ir import Module
from transload_converters.tflite.choices import OPTIONS
from transload_converters.tflite.writer import ModelWriter, SubgraphWriter


def loop(start: int | None, steps: int = 4, grows: bool = False, by: int = 1) -> bytes:
    """`while i < steps: i, v = i + by, v * 2`, from a constant or an input; with `grows`, v is joined with itself instead."""
    main = ModelWriter()
    i = main.add_tensor("i", (), "int32", start)
    v = main.add_tensor("v", (2,), "float32")
    main.inputs = [v] if start is not None else [i, v]
    cond, body = main.add_subgraph("cond"), main.add_subgraph("body")
    for graph in (cond, body):
        graph.inputs = [graph.add_tensor("i", (), "int32"), graph.add_tensor("v", (2,), "float32")]
    flag = cond.add_tensor("flag", (), "bool")
    cond.add_operator("LESS", [cond.inputs[0], cond.add_tensor("limit", (), "int32", steps)], [flag])
    cond.outputs = [flag]
    body.outputs = [body.add_tensor("next", (), "int32"), body.add_tensor("twice", (4,) if grows else (2,), "float32")]
    body.add_operator("ADD", [body.inputs[0], body.add_tensor("one", (), "int32", by)], body.outputs[:1])
    if grows:
        body.add_operator("CONCATENATION", [body.inputs[1]] * 2, body.outputs[1:], {"axis": 0})
    else:
        body.add_operator("MUL", [body.inputs[1], body.add_tensor("two", (), "float32", 2.0)], body.outputs[1:])
    size = 2 << (steps - start) if grows and start is not None else 2
    main.outputs = [main.add_tensor("i_out", (), "int32"), main.add_tensor("v_out", (size,), "float32")]
    main.add_operator("WHILE", [i, v], main.outputs, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    return main.finish()


def converted(content: bytes, **options: Any) -> Module:
    return lower(load(text=content, format="tflite"), "tosa", **options)


V = np.float32([3, -1])


@pytest.mark.parametrize(("choice", "loops"), [("auto", 1), ("keep", 1), ("unroll", 0)])
def test_loops_of_a_known_number_of_steps(choice: str, loops: int) -> None:
    module = converted(loop(0), loops=choice)
    assert op_counts(module).get("tosa.while_loop", 0) == loops
    outputs = list(run(module, {"v": V}).values())
    assert outputs[0] == 4
    np.testing.assert_array_equal(outputs[1], V * 16)


def test_a_loop_that_depends_on_data_is_kept_or_refused() -> None:
    module = converted(loop(None))
    np.testing.assert_array_equal(list(run(module, {"i": np.int32(2), "v": V}).values())[1], V * 4)
    with pytest.raises(ConversionError, match="found only at run time"):
        converted(loop(None), loops="unroll")


def test_a_loop_whose_sizes_change_is_written_out_or_refused() -> None:
    module = converted(loop(0, 3, grows=True))
    np.testing.assert_array_equal(list(run(module, {"v": V}).values())[1], np.tile(V, 8))
    with pytest.raises(ConversionError, match="loops=auto"):
        converted(loop(0, 3, grows=True), loops="keep")


def test_steps_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transload.rewrite.MOST_IN_A_ROW", 3)  # what is counted is not taken for endless
    converted(loop(0, 5), loops="unroll", unroll_limit=5)
    with pytest.raises(ConversionError, match="unroll_limit"):
        converted(loop(0, 6), loops="unroll", unroll_limit=5)


@pytest.mark.parametrize("grows", [False, True])
def test_a_loop_without_end_is_told_at_once(grows: bool) -> None:
    """It was written out up to the limit, for minutes, and said to have more steps than that."""
    with pytest.raises(ConversionError, match=r"has no end: step 1 leaves what its condition is computed of as it was"):
        converted(loop(0, 3, grows, by=0), loops="auto" if grows else "unroll")


@pytest.mark.parametrize(("dtype", "start", "operator", "step"), [("int32", 0, "SUB", 2), ("float32", np.nan, "ADD", 1)])
def test_a_loop_that_comes_back_has_no_end(dtype: str, start: float, operator: str, step: int) -> None:
    """`while i != 5: i = 1 - i`, or `i = 1 + i` of what is no number: it was written out up to the limit."""
    model = ModelWriter()
    i, last = model.add_tensor("i", (), dtype, start), model.add_tensor("last", (), dtype)
    cond, body = model.add_subgraph("cond"), model.add_subgraph("body")
    for part in (cond, body):
        part.inputs = [part.add_tensor("i", (), dtype)]
    cond.outputs, body.outputs = [cond.add_tensor("flag", (), "bool")], [body.add_tensor("next", (), dtype)]
    cond.add_operator("NOT_EQUAL", [cond.inputs[0], cond.add_tensor("five", (), dtype, 5)], cond.outputs)
    body.add_operator(operator, [body.add_tensor("one", (), dtype, 1), body.inputs[0]], body.outputs)
    model.add_operator("WHILE", [i], [last], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    model.outputs = [last]
    with pytest.raises(ConversionError, match=rf"no end: step {step} leaves .* was {'2 steps ' if step == 2 else ''}before"):
        converted(model.finish(), loops="unroll", unroll_limit=50)


def test_loops_in_loops_are_written_out() -> None:
    """`for i in 0..2: for j in 0..3: v = v + v`."""
    main = ModelWriter()
    v = main.add_tensor("v", (2,), "float32")
    zero = main.add_tensor("zero", (), "int32", 0)
    main.inputs = [v]

    def counted(graph: SubgraphWriter, steps: int, number: int) -> tuple[SubgraphWriter, SubgraphWriter]:
        cond, body = main.add_subgraph(f"cond{number}"), main.add_subgraph(f"body{number}")
        for inner in (cond, body):
            inner.inputs = [inner.add_tensor("i", (), "int32"), inner.add_tensor("v", (2,), "float32")]
        cond.outputs = [cond.add_tensor("flag", (), "bool")]
        cond.add_operator("LESS", [cond.inputs[0], cond.add_tensor("limit", (), "int32", steps)], cond.outputs)
        body.outputs = [body.add_tensor("next", (), "int32"), body.add_tensor("out", (2,), "float32")]
        body.add_operator("ADD", [body.inputs[0], body.add_tensor("one", (), "int32", 1)], body.outputs[:1])
        return cond, body

    _, outer = counted(main, 2, 0)
    _, inner = counted(main, 3, 1)
    inner.add_operator("ADD", [inner.inputs[1]] * 2, inner.outputs[1:])
    count = outer.add_tensor("count", (), "int32")
    start = outer.add_tensor("start", (), "int32", 0)
    options = {"cond_subgraph_index": 3, "body_subgraph_index": 4}
    outer.add_operator("WHILE", [start, outer.inputs[1]], [count, outer.outputs[1]], options)
    main.outputs = [main.add_tensor("i_out", (), "int32"), main.add_tensor("v_out", (2,), "float32")]
    main.add_operator("WHILE", [zero, v], main.outputs, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    for choice, loops in (("unroll", 0), ("auto", 2)):
        module = converted(main.finish(), loops=choice)
        assert sum(op.name == "tosa.while_loop" for op in module.walk()) == loops
        np.testing.assert_array_equal(list(run(module, {"v": V}).values())[1], V * 64)


def suppression(operator: str) -> tuple[bytes, dict[str, np.ndarray]]:
    generator = np.random.default_rng(5)
    corners = generator.uniform(0, 1, (20, 2)).astype(np.float32)
    boxes = np.concatenate([corners, corners + generator.uniform(0.1, 0.6, (20, 2)).astype(np.float32)], axis=1)
    main = ModelWriter()
    operands = [main.add_tensor("boxes", (20, 4), "float32"), main.add_tensor("scores", (20,), "float32")]
    main.inputs = operands[:2]
    operands.append(main.add_tensor("steps", (), "int32", 6))
    for name, number in (("iou", 0.4), ("least", 0.2), *((("sigma", 0.5),) if operator.endswith("5") else ())):
        operands.append(main.add_tensor(name, (), "float32", number))
    main.outputs = [main.add_tensor("places", (6,), "int32")]
    if operator.endswith("5"):
        main.outputs.append(main.add_tensor("kept", (6,), "float32"))
    main.outputs.append(main.add_tensor("number", (), "int32"))
    main.add_operator(operator, operands, main.outputs)
    return main.finish(), {"boxes": boxes, "scores": generator.permutation(np.linspace(0.05, 0.95, 20)).astype(np.float32)}


def detection(regular: bool) -> tuple[bytes, dict[str, np.ndarray]]:
    from flatbuffers import flexbuffers

    generator = np.random.default_rng(6)
    main = ModelWriter()
    anchors = generator.uniform(0.2, 0.8, (12, 4)).astype(np.float32)
    operands = [
        main.add_tensor("boxes", (1, 12, 4), "float32"), main.add_tensor("scores", (1, 12, 4), "float32"),
        main.add_tensor("anchors", (12, 4), "float32", anchors)]
    main.inputs = operands[:2]
    main.outputs = [main.add_tensor(f"out{i}", shape, "float32") for i, shape in enumerate(((1, 5, 4), (1, 5), (1, 5), (1,)))]
    options = flexbuffers.Dumps({
        "max_detections": 5, "max_classes_per_detection": 1, "detections_per_class": 3, "use_regular_nms": regular,
        "nms_score_threshold": 0.3, "nms_iou_threshold": 0.5, "num_classes": 3, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0,
        "w_scale": 5.0})
    main.add_custom_operator("TFLite_Detection_PostProcess", operands, main.outputs, bytes(options))
    scores = generator.permutation(np.linspace(0, 1, 48)).astype(np.float32).reshape(1, 12, 4)
    return main.finish(), {"boxes": generator.normal(0, 1, (1, 12, 4)).astype(np.float32), "scores": scores}


POSTPROCESSING: dict[str, Callable[[], tuple[bytes, dict[str, np.ndarray]]]] = {
    "NON_MAX_SUPPRESSION_V4": lambda: suppression("NON_MAX_SUPPRESSION_V4"),
    "NON_MAX_SUPPRESSION_V5": lambda: suppression("NON_MAX_SUPPRESSION_V5"),
    "TFLite_Detection_PostProcess": lambda: detection(False),
    "TFLite_Detection_PostProcess, regular": lambda: detection(True),
}


@pytest.mark.parametrize("name", POSTPROCESSING)
def test_postprocessing_as_one_custom_operation(name: str, tmp_path: Path, litert: Callable[..., list[np.ndarray]]) -> None:
    content, given = POSTPROCESSING[name]()
    operator = name.partition(",")[0]
    module = converted(content, postprocess="custom")
    assert op_counts(module)["tosa.custom"] == 1
    lowered = converted(content)
    assert "tosa.custom" not in op_counts(lowered)
    results = [list(run(each, given).values()) for each in (module, lowered)]
    for one, other, judge in zip(*results, litert(content, given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
        np.testing.assert_allclose(one, judge, rtol=1e-5, atol=1e-6)
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    made = convert(path, "tosa", tmp_path / "out", options={"postprocess": "custom"})
    assert made.report.target_report["custom_operators"] == [f"tflite.{operator}"]
    again = load(next(file for file in made.files if file.suffix == ".tosa"))
    for one, other in zip(run(again, given).values(), results[0], strict=True):
        np.testing.assert_array_equal(one, other)


def test_custom_operations_that_nobody_knows_are_named() -> None:
    module = converted(POSTPROCESSING["NON_MAX_SUPPRESSION_V4"]()[0], postprocess="custom")
    (op,) = [op for op in module.ops() if op.name == "tosa.custom"]
    op.attributes["domain_name"] = "elsewhere"
    with pytest.raises(RunError, match=r"elsewhere\.NON_MAX_SUPPRESSION_V4"):
        run(module, POSTPROCESSING["NON_MAX_SUPPRESSION_V4"]()[1])


@pytest.mark.models
def test_detection_model(models: Path, tmp_path: Path) -> None:
    paths = sorted((models / "tflite" / "support_ssd_mobilenet_v1_coco_uint8").glob("*.tflite"))
    if not paths:
        pytest.skip("the model is not there")
    made = convert(paths[0], "tosa", tmp_path, options={"postprocess": "custom"})
    assert op_counts(made.module)["tosa.custom"] == 1
    assert made.verification is not None
    assert made.verified or made.verification.status == "skipped"


@pytest.mark.parametrize("name", [name for name, (kind, _, _) in OPTIONS.items() if isinstance(kind, tuple)])
def test_wrong_words_are_said(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        converted(loop(0), **{name: "otherwise"})
