"""The pass `add-postprocess`: decoding judged by the formulas of the papers in numpy, suppression by onnxruntime's operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.engine.reference import prepare
from transload.errors import UsageError
from transload.ir import Module, verify
from transload.passes.manager import Pipeline

from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node

ort = pytest.importorskip("onnxruntime")
CLASSES = 3
YOLOV3 = [[(10, 13), (16, 30), (33, 23)], [(30, 61), (62, 45), (59, 119)], [(116, 90), (156, 198), (373, 326)]]
TINY = [[(10, 14), (23, 27), (37, 58)], [(81, 82), (135, 169), (344, 319)]]


def heads(count: int, form: str, size: int = 96) -> list[np.ndarray]:
    """Made-up heads, coarsest grid first; some boxes are certain, and have neighbours that nearly are the same."""
    rng = np.random.default_rng(11)
    made = []
    for stride in (32, 16, 8)[-count:] if count == 3 else (32, 16):
        n = size // stride
        array = rng.normal(0, 1, (1, 3, n, n, 5 + CLASSES))
        array[..., 4] -= 2.0
        array[0, 1, 1, 1:3, 4:] += 4.0
        shaped = {
            "5d": array, "nchw": array.transpose(0, 1, 4, 2, 3).reshape(1, -1, n, n),
            "nhwc": array.transpose(0, 2, 3, 1, 4).reshape(1, n, n, -1)}[form]
        made.append(shaped.astype(np.float32))
    return made


def detector(arrays: list[np.ndarray], size: int = 96, nhwc: bool = False) -> Module:
    """A network of an image that gives these heads whatever it sees."""
    g = Graph((1, size, size, 3) if nhwc else (1, 3, size, size))
    zero = g.Reduce(g.MulConst(g.inputs[0], const_val=0.0), axes=(0, 1, 2, 3), mode="ReduceSum", keepdims=False)
    return g.done(*[g.Add(g.constant(array), zero) for array in arrays])


def detections(module: Module, **options: Any) -> np.ndarray:
    said = " ".join(f'{key}="{value}"' for key, value in options.items())
    Pipeline.parse(f"add-postprocess{{{said}}}").run(module)
    verify(module)
    [name] = module.inputs
    made = prepare(module)({name: np.zeros(module.inputs[name].shape, np.float32)})  # type: ignore[union-attr]
    assert list(made) == ["detections"]
    return made["detections"]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def as_cells(head: np.ndarray) -> np.ndarray:
    """A head as [anchors, rows, columns, 5 + classes]."""
    if head.ndim == 5:
        return head[0]
    if head.shape[2] == head.shape[3]:
        return head[0].reshape(3, -1, *head.shape[2:]).transpose(0, 2, 3, 1)
    return head[0].reshape(*head.shape[1:3], 3, -1).transpose(2, 0, 1, 3)


def decoded(arrays: list[np.ndarray], anchors: list[list[tuple[int, int]]], v5: bool, size: int = 96) -> np.ndarray:
    """Box by box: centre, size, objectness, scores of classes."""
    rows = []
    for head, own in zip(sorted(arrays, key=np.size, reverse=True), anchors, strict=True):
        cells = as_cells(head)
        stride = size / cells.shape[1]
        for (a, y, x) in np.ndindex(cells.shape[:3]):
            t, s = cells[a, y, x].astype(np.float64), sigmoid(cells[a, y, x])
            if v5:
                box = [(2 * s[0] - 0.5 + x) * stride, (2 * s[1] - 0.5 + y) * stride, *((2 * s[2:4]) ** 2 * own[a])]
            else:
                box = [(s[0] + x) * stride, (s[1] + y) * stride, *(np.exp(t[2:4]) * own[a])]
            rows.append([*box, *s[4:]])
    return np.array(rows)


def suppressed(corners: np.ndarray, scores: np.ndarray, least: float, overlap: float, most: int) -> list[tuple[int, int, float]]:
    """Class, box and score of what onnxruntime's NonMaxSuppression keeps, best first; scores [classes, boxes]."""
    model = make_model(
        [node("NonMaxSuppression", ["b", "s", "m", "o", "t"], ["n"])],
        {"b": corners[None].astype(np.float32), "s": scores[None].astype(np.float32)}, ["n"],
        {"m": np.array([most]), "o": np.array([overlap], np.float32), "t": np.array([least], np.float32)})
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    [kept] = session.run(None, {"b": corners[None].astype(np.float32), "s": scores[None].astype(np.float32)})
    found = [(int(kind), int(box), float(scores[kind, box])) for _, kind, box in kept]
    return sorted(found, key=lambda each: -each[2])[:most]


def wanted_of_yolo(rows: np.ndarray, boxes: int = 200, least: float = 0.5, overlap: float = 0.5) -> np.ndarray:
    kinds, likeliest = rows[:, 5:].argmax(1), rows[:, 5:].max(1) * rows[:, 4]
    scores = np.where(np.arange(CLASSES)[:, None] == kinds, likeliest, -1.0)
    corners = np.concatenate([rows[:, :2] - rows[:, 2:4] / 2, rows[:, :2] + rows[:, 2:4] / 2], axis=1)
    made = np.zeros((boxes, 7))
    for place, (kind, box, score) in enumerate(suppressed(corners, scores, least, overlap, boxes)):
        made[place] = 0, kind, score, *rows[box, :4]
    return made


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["nchw", "nhwc", "5d"])
@pytest.mark.parametrize(("type", "anchors"), [("yolov3", YOLOV3), ("yolov3-tiny", TINY), ("yolov5", YOLOV3)])
def test_yolo(type: str, anchors: Any, form: str) -> None:
    arrays = heads(len(anchors), form)
    found = detections(detector(arrays, nhwc=form == "nhwc"), type=type, score=0.3)
    wanted = wanted_of_yolo(decoded(arrays, anchors, type == "yolov5"), least=0.3)
    assert found.shape == (1, 1, 200, 7) and 3 < (wanted[:, 2] > 0).sum() < 200
    np.testing.assert_allclose(found[0, 0], wanted, rtol=1e-4, atol=1e-4)


def test_other_numbers_than_those_of_the_manual() -> None:
    arrays = heads(3, "nchw")
    anchors = [[(5, 6), (7, 8), (9, 10)], [(20, 30), (30, 20), (25, 25)], [(60, 70), (70, 60), (90, 90)]]
    said = ",".join(str(number) for head in anchors for pair in head for number in pair)
    found = detections(detector(arrays), type="yolov3", anchors=said, boxes=7, overlap=0.2, score=0.1)
    wanted = wanted_of_yolo(decoded(arrays, anchors, False), 7, 0.1, 0.2)
    np.testing.assert_allclose(found[0, 0], wanted, rtol=1e-4, atol=1e-4)


def test_yolov5_whose_boxes_are_decoded_already() -> None:
    rows = decoded(heads(3, "5d"), YOLOV3, True).astype(np.float32)
    found = detections(detector([rows[None]]), type="yolov5", score=0.3, boxes=50)
    np.testing.assert_allclose(found[0, 0], wanted_of_yolo(rows, 50, 0.3), rtol=1e-4, atol=1e-4)


def test_ssd() -> None:
    rng = np.random.default_rng(4)
    count, classes = 60, 4
    corner, wide = rng.uniform(0, 0.7, (count, 2)), rng.uniform(0.1, 0.3, (count, 2))
    prior, variance = np.concatenate([corner, corner + wide], axis=1), np.tile([0.1, 0.1, 0.2, 0.2], (count, 1))
    encodings = rng.normal(size=(count, 4))
    logits = rng.normal(0, 2, (count, classes))
    scores = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    priors = np.stack([prior, variance]).reshape(1, 2, -1)
    arrays = [array.astype(np.float32) for array in (encodings.reshape(1, -1), scores.reshape(1, -1), priors)]
    found = detections(detector(arrays), type="ssd", boxes=40)
    middle = (prior[:, :2] + prior[:, 2:]) / 2 + 0.1 * encodings[:, :2] * wide
    half = np.exp(0.2 * encodings[:, 2:]) * wide / 2
    corners = np.concatenate([middle - half, middle + half], axis=1)
    wanted = np.zeros((40, 7))
    for place, (kind, box, score) in enumerate(suppressed(corners, scores.T[1:], 0.05, 0.5, 40)):
        wanted[place] = 0, kind + 1, score, *corners[box]
    assert wanted[-1, 2] > 0
    np.testing.assert_allclose(found[0, 0], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("arrays", "options", "says"), [
    (heads(3, "nchw")[:2], {"type": "yolov3"}, "3 heads, and the model 2 outputs"),
    (heads(3, "nchw"), {"type": "yolov9"}, "no postprocessing is called 'yolov9'"),
    (heads(3, "nchw"), {"type": "yolov3", "anchors": "1,2"}, "no widths and heights"),
    (heads(3, "nchw"), {"type": "yolov3", "size": "100x100"}, "is no head of 3 anchors for an image of 100x100"),
    (heads(3, "nchw"), {"type": "ssd"}, "do not fit"),
    (heads(3, "nchw")[:1], {"type": "ssd"}, "takes encodings, scores and priors"),
    (heads(3, "nchw"), {"type": "yolov3", "size": "big"}, "does not read"),
])
def test_what_is_no_detector(arrays: list[np.ndarray], options: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        detections(detector(arrays), **options)


@pytest.mark.parametrize("dialect", ["tosa", "stablehlo"])
def test_it_goes_where_the_network_goes(dialect: str) -> None:
    module = detector(heads(2, "nchw", 64), 64)
    wanted = detections(module, type="yolov3-tiny", boxes=5, score=0.2)
    lowered = transload.lower(module, dialect)
    [found] = transload.run(lowered, {next(iter(lowered.inputs)): np.zeros((1, 3, 64, 64), np.float32)}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
