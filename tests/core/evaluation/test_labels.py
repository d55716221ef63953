"""Labels in files that strangers wrote: what is no label is refused as the file's fault."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload import open_samples
from transload.context import Context
from transload.errors import ReadError, UsageError
from transload.evaluation.labels import labels_of
from transload.ir import F32, TensorType
from transload.plugin import Score
from transload.plugin_host import Host

from tests.support.graphs import Graph
from tests.support.plugins import registering

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


class Names:
    """What labels need of samples."""

    names = ["0.png", "1.png"]
    rows = 1


def find(path: Path, classes: Path | None = None) -> Any:
    return labels_of(Names(), path, classes)  # type: ignore[arg-type]


def test_labels_of_the_rows_of_batches(tmp_path: Path) -> None:
    samples = open_samples(np.zeros((2, 3, 4), np.float32), {"x": TensorType((3, 4), F32)})
    (tmp_path / "l.txt").write_text("a\nb\nc\nc\nb\na\n")
    np.save(tmp_path / "l.npy", [0, 1, 2, 2, 1, 0])
    for source, classes in ((tmp_path / "l.txt", ["a", "b", "c"]), (tmp_path / "l.npy", None), ([0, 1, 2, 2, 1, 0], None),
                            (np.array([[0, 1, 2], [2, 1, 0]]), None), (list("abccba"), list("abc")),
                            (np.array([list("abc"), list("cba")]), list("abc")),
                            ({name: list(said) for name, said in zip(samples.names, ("abc", "cba"), strict=True)}, list("abc"))):
        find = labels_of(samples, source, classes, offset=1)
        assert [find(name) for name in samples.names] == [[1, 2, 3], [3, 2, 1]]
    with pytest.raises(UsageError, match="5 labels for 2 samples of 3 rows each"):
        labels_of(samples, [0] * 5)


def test_a_model_beside_what_was_made_of_it_for_batches(tmp_path: Path) -> None:
    """The model is read with the batch of the artifact, where nobody says one; labels are those of the rows."""
    images = np.random.default_rng(0).random((6, 1, 8, 8), np.float32)
    transload.convert(DIGITS / "digits_float.onnx", "tosa", tmp_path / "out", inputs={"image": (3, 1, 8, 8)}, verify=False)
    once = [transload.run(DIGITS / "digits_float.onnx", {"image": image[None]}) for image in images]
    labels = [int(outputs["probabilities"].argmax()) for outputs in once]
    for score in transload.evaluate([DIGITS / "digits_float.onnx", tmp_path / "out"], images, labels=labels).scores.values():
        assert score["top1"].value == 1


@pytest.mark.parametrize("labels", [["a", "c"], np.array(["a", "c"]), {"0.png": "a", "1.png": "c", "of another": "x"}])
def test_names_of_classes_wherever_labels_come_from(labels: Any) -> None:
    """They are the places of these; what is a number stays it, and without classes a metric of the user's own has the texts."""
    names, classes = Names(), ["a", "b", "c"]
    found = labels_of(names, labels, classes)  # type: ignore[arg-type]
    assert [found(name) for name in Names.names] == [0, 2] and found("of another") is None
    as_given = labels_of(names, labels)  # type: ignore[arg-type]
    assert [as_given(name) for name in Names.names] == ["a", "c"]
    mixed = labels_of(names, [1, "c"], classes)  # type: ignore[arg-type]
    assert [mixed(name) for name in Names.names] == [1, 2]
    with pytest.raises(UsageError, match="the labels: 'd' is no class"):
        labels_of(names, ["a", "d"], classes)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'a' is 2 classes"):
        labels_of(names, labels, ["a", "a", "c"])  # type: ignore[arg-type]


def test_names_in_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "labels.npy", np.array(["a", "c"]))
    (tmp_path / "classes.txt").write_text("a\nb\nc\n")
    found = find(tmp_path / "labels.npy", tmp_path / "classes.txt")
    assert [found(name) for name in Names.names] == [0, 2]
    with pytest.raises(UsageError, match=r"labels\.npy: says 'a', the name of a class, and nothing says which number that is"):
        find(tmp_path / "labels.npy")


@pytest.mark.parametrize("labels", [[np.nan, 1.0], [0.5, 1.0], [np.inf, 1.0], [1j, 0]])
def test_arrays_without_whole_numbers(tmp_path: Path, labels: list[Any]) -> None:
    np.save(tmp_path / "labels.npy", np.array(labels))
    with pytest.raises(ReadError, match="no whole numbers"):
        find(tmp_path / "labels.npy")


def test_whole_numbers_of_any_type(tmp_path: Path) -> None:
    for dtype in (np.float32, np.uint8, np.int64):
        np.save(tmp_path / "labels.npy", np.array([3, 1], dtype))
        assert find(tmp_path / "labels.npy")("0.png") == 3


@pytest.mark.parametrize("text", ["9" * 5000, "\u00b2"])
def test_numbers_that_python_does_not_read_are_names(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.txt").write_text(f"{text}\n1\n", encoding="utf-8")
    with pytest.raises(UsageError, match="the name of a class, and nothing says which number that is"):
        find(tmp_path / "labels.txt")
    (tmp_path / "classes.txt").write_text(f"1\n{text}\n", encoding="utf-8")
    assert find(tmp_path / "labels.txt", tmp_path / "classes.txt")("0.png") == 1


@pytest.mark.parametrize("text", ["0.000000000000000000e+00\n3.000000000000000000e+00\n", "0.0\n3.\n", "0\n+.3e1\n", "-0.0\n3\n",
                                  "name,class\n0.png,0.0\n1.png,3.0\n"])
def test_whole_numbers_of_floats(tmp_path: Path, text: str) -> None:
    """As `numpy.savetxt` and tables write them, and as arrays hold them; with the names of classes, too."""
    (tmp_path / "l.txt").write_text(text)
    (tmp_path / "classes").write_text("a\nb\nc\nd\n")
    for classes in (None, tmp_path / "classes"):
        assert [find(tmp_path / "l.txt", classes)(name) for name in Names.names] == [0, 3]


def test_numbers_beside_names_of_classes(tmp_path: Path) -> None:
    """Such a number is the place of one of them, after what is added to it: `classes` had no effect there."""
    (tmp_path / "named.txt").write_text("1.png 0\n0.png 4\n")
    (tmp_path / "alone.txt").write_text("# of what\n4.0\n0.0\n")
    np.save(tmp_path / "l.npy", [4, 0])
    classes = ["a", "b", "c", "d"]
    for source in (tmp_path / "named.txt", tmp_path / "alone.txt", tmp_path / "l.npy", [4, 0], {"0.png": 4, "1.png": 0}):
        with pytest.raises(UsageError, match=r"^the label of 0\.png is 4, and 4 classes are named: 0 to 3\n"):
            labels_of(Names(), source, classes)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=r"label of 1\.png is 0, which is -1 with -1 of label_offset added, and 4 classes"):
            labels_of(Names(), source, classes, -1)  # type: ignore[arg-type]
        assert labels_of(Names(), source, [*classes, "e"])("0.png") == 4  # type: ignore[arg-type]
    samples = open_samples(np.zeros((2, 3, 4), np.float32), {"x": TensorType((3, 4), F32)})
    with pytest.raises(UsageError, match=rf"the label of {re.escape(samples.names[1])}, row 2 is 4, and 4 classes are named"):
        labels_of(samples, [0, 1, 2, 3, 0, 4], classes)


def test_folders_that_are_numbers_beside_names_of_classes(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for folder in ("0", "2"):
        (tmp_path / folder).mkdir()
        image.new("L", (4, 4)).save(tmp_path / folder / "x.png")
    samples = open_samples(tmp_path, {"x": TensorType((1, 1, 4, 4), F32)})
    assert [labels_of(samples, classes=["a", "b", "c"])(name) for name in samples.names] == [0, 2]
    assert [labels_of(samples, classes=["2", "1", "0"])(name) for name in samples.names] == [2, 0]
    with pytest.raises(UsageError, match="is 2, and 2 classes are named: 0 to 1"):
        labels_of(samples, classes=["a", "b"])


def test_names_of_classes_that_look_like_floats(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_text("2.0\n1.5\n")
    assert [labels_of(Names(), tmp_path / "l.txt", ["1.5", "2.0"])(name) for name in Names.names] == [1, 0]  # type: ignore[arg-type]


@pytest.mark.parametrize("label", ["0.5", "1e400", "1e300"])
def test_numbers_that_are_not_whole(tmp_path: Path, label: str) -> None:
    (tmp_path / "l.txt").write_text(f"0\n{label}\n")
    with pytest.raises(ReadError, match=f"says '{label}', which is no whole number"):
        find(tmp_path / "l.txt")


def test_a_mark_before_the_text_is_no_part_of_it(tmp_path: Path) -> None:
    """Spreadsheets and editors put one there."""
    for name, text in {"l.txt": "1\n0\n", "n.txt": "0.png,b\n1.png,a\n", "c.txt": "a\nb\n",
                       "coco.json": json.dumps(COCO)}.items():
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert find(tmp_path / "l.txt")("0.png") == find(tmp_path / "n.txt", tmp_path / "c.txt")("0.png") == 1
    assert find(tmp_path / "n.txt", tmp_path / "c.txt")("1.png") == 0 and find(tmp_path / "coco.json")("0.png")["image_id"] == 4


def listed(folder: Path, names: list[str]) -> transload.Samples:
    """Pictures that a list names, from a folder that has more."""
    image = pytest.importorskip("PIL.Image")
    for name in [*names, "in/a/0.png"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        image.new("L", (4, 4)).save(folder / name)
    (folder / "list.txt").write_text("\n".join(names))
    return open_samples(folder / "list.txt", {"x": TensorType((1, 1, 4, 4), F32)})


@pytest.mark.parametrize("names", [["in/b/0.png", "in/c/0.png"], ["b/0.png", "c/0.png"], ["1/0.png", "2/0.png"]])
def test_folders_of_a_list_have_no_numbers(tmp_path: Path, names: list[str]) -> None:
    """It may leave out a class, or begin with a folder that all share: labels were those of other classes, or 0 of all."""
    samples = listed(tmp_path, names)
    assert [labels_of(samples)(name) for name in names] == [None, None]
    with pytest.raises(UsageError, match=r"top1 needs labels(.|\n)*of a list with --classes"):
        g = Graph((1, 1, 4, 4))
        transload.evaluate(g.done(g.Relu(g.inputs[0])), tmp_path / "list.txt", metrics=("top1",))
    whole = open_samples({"x": tmp_path / "list.txt"}, samples.types)
    assert [labels_of(whole)(name) for name in names] == [None, None]


def test_folders_of_a_list_are_classes_that_are_named(tmp_path: Path) -> None:
    names = ["b/b/c/0.png", "b/a/x/1.png", str(tmp_path / "b" / "2.png")]
    find = labels_of(listed(tmp_path, names), classes=["a", "b", "c"], offset=1)
    assert [find(name) for name in names] == [3, 1, 2]
    with pytest.raises(UsageError, match="the folder 'x' is no class"):
        labels_of(listed(tmp_path, ["y/x/0.png"]), classes=["a", "b", "c"])


@pytest.mark.parametrize("text", ["0.png\t1\n1.png\t0\n0.png\t2\n", "0.png,b\n1.png,a\n0.png,a\n"])
def test_a_sample_with_two_labels(tmp_path: Path, text: str) -> None:
    """The last of them counted."""
    (tmp_path / "labels.txt").write_text(text)
    (tmp_path / "classes.txt").write_text("a\nb\n")
    classes = tmp_path / "classes.txt" if "b" in text else None
    with pytest.raises(UsageError, match=r"'0\.png' has two labels, 1 and [02]"):
        find(tmp_path / "labels.txt", classes)
    (tmp_path / "labels.txt").write_text("\n".join([*text.splitlines()[:2], text.splitlines()[0]]))
    assert find(tmp_path / "labels.txt", classes)("0.png") == 1, "told twice, it is the same"


def test_a_file_that_a_list_names_twice(tmp_path: Path) -> None:
    samples = listed(tmp_path, ["a/0.png", "a/1.png", "a/0.png"])
    assert labels_of(samples, [1, 0, 1])("a/0.png") == 1
    with pytest.raises(UsageError, match=r"the labels: 'a/0\.png' has two labels, 1 and 2"):
        labels_of(samples, [1, 0, 2])


def test_a_name_of_two_classes_is_no_label(tmp_path: Path) -> None:
    """ImageNet has two that are called 'crane'."""
    (tmp_path / "classes.txt").write_text("crane\nship\ncrane\n")
    (tmp_path / "labels.txt").write_text("ship\nship\n")
    assert find(tmp_path / "labels.txt", tmp_path / "classes.txt")("0.png") == 1
    (tmp_path / "labels.txt").write_text("ship\ncrane\n")
    with pytest.raises(UsageError, match="'crane' is 2 classes, and which is not known"):
        find(tmp_path / "labels.txt", tmp_path / "classes.txt")


def test_two_images_of_one_name_in_annotations(tmp_path: Path) -> None:
    path = tmp_path / "coco.json"
    path.write_text(json.dumps({**COCO, "images": [COCO["images"][0], {**COCO["images"][0], "id": 5}]}), encoding="utf-8")
    with pytest.raises(ReadError, match=r"'0\.png' is the file_name of several images"):
        find(path)


COCO = {
    "images": [{"id": 4, "file_name": "0.png", "width": 9, "height": 9}],
    "annotations": [{"image_id": 4, "category_id": 1, "bbox": [1, 1, 3, 3], "area": 9}]}


@pytest.mark.parametrize(("part", "key", "value"), [
    ("images", "id", None), ("images", "width", None), ("images", "height", [9]), ("images", "width", float("inf")),
    ("annotations", "bbox", [1, 2]), ("annotations", "bbox", "1234"), ("annotations", "bbox", [1, 2, None, 3]),
    ("annotations", "category_id", None), ("annotations", "category_id", 10**30), ("annotations", "image_id", []),
    ("annotations", "area", float("nan")), ("annotations", "iscrowd", "x")])
def test_annotations_that_are_none(tmp_path: Path, part: str, key: str, value: Any) -> None:
    path = tmp_path / "coco.json"
    path.write_text(json.dumps(COCO), encoding="utf-8")
    assert find(path)("0.png")["objects"][0]["bbox"] == [1, 1, 3, 3]
    path.write_text(json.dumps({**COCO, part: [{**COCO[part][0], key: value}]}), encoding="utf-8")
    with pytest.raises(ReadError, match=r"no file of COCO's annotations: (?!\w+Error)"):
        find(path)


def test_scores_that_labels_or_functions_do_not_fit() -> None:
    data = np.zeros((2, 1, 1, 8, 8), np.float32)
    with pytest.raises(UsageError, match="is a class, and psnr takes labels that are pictures"):
        transload.evaluate(DIGITS / "digits_float.onnx", data, labels=[0, 1], metrics=("psnr",))
    with pytest.raises(UsageError, match="python:os:system failed: TypeError"):
        transload.evaluate(DIGITS / "digits_float.onnx", data, labels=[0, 1], metrics=("python:os:system",))


def test_psnr_is_beside_labels_or_beside_the_first_model() -> None:
    """The first of several is its own reference; one alone has none."""
    data, model = np.random.default_rng(0).random((2, 1, 1, 8, 8)).astype(np.float32), DIGITS / "digits_float.onnx"
    with pytest.raises(UsageError, match="psnr needs labels that are images, or a second model"):
        transload.evaluate(model, data, metrics=("psnr",))
    found = transload.evaluate([model, model], data, metrics=("psnr", "sqnr"))
    assert [scores["psnr"].value for scores in found.scores.values()] == [np.inf, np.inf]


@pytest.mark.parametrize(("text", "says"), [
    ('{"images": [], "annotations": ' + "[" * 100_000, "it is nested too deeply"), ("[1]", "an object or a list is missing"),
    ("{}", "there is no 'images'"), (json.dumps({**COCO, "images": 3}), "an object or a list is missing"),
    (json.dumps({**COCO, "annotations": [{**COCO["annotations"][0], "bbox": [1, 2]}]}), "a bbox has 4 numbers, and not 2"),
    (json.dumps({**COCO, "annotations": [{**COCO["annotations"][0], "image_id": [1]}]}), r"\[1\] is no whole number")])
def test_what_is_wrong_with_annotations_is_said_in_words(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "coco.json").write_text(text, encoding="utf-8")
    with pytest.raises(ReadError, match=f"no file of COCO's annotations: {says}"):
        find(tmp_path / "coco.json")


def test_scores_that_need_no_labels_take_samples_that_come_one_by_one() -> None:
    """They were refused in words about labels, also psnr beside a first model."""
    images = list(np.random.default_rng(0).random((3, 1, 1, 8, 8), np.float32))
    wanted = np.mean([transload.run(DIGITS / "digits_float.onnx", {"image": image})["probabilities"].max() for image in images])
    made = Host()
    sure = Score("sure", lambda outputs, label, reference: float(outputs["probabilities"].max()))
    made.register(type("P", (), registering(scores=[sure])), "sure")
    model = DIGITS / "digits_float.onnx"
    with Context(made).bind():
        found = transload.evaluate(model, iter(images), metrics=["sure"])
        assert found[str(model)]["sure"].value == pytest.approx(wanted, rel=1e-6)
        both = transload.evaluate([model, model], iter(images), metrics=["psnr", "sure"])
        assert [each["psnr"].value for name, each in both.scores.items() if "psnr" in each][-1] == np.inf
        for metrics, labels in ((["sure", "top1"], None), (["sure"], [1, 2, 3])):  # who needs labels, and who gives some
            with pytest.raises(UsageError, match="its samples come one after the other"):
                transload.evaluate(model, iter(images), metrics=metrics, labels=labels)
        named = transload.evaluate(model, iter(images), metrics=["sure"], labels={"sample 1": 3})
        assert named[str(model)]["sure"].value == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(
    "text", ["a/0.png 3\na/1.png 4\n", "0.PNG 3\n1.PNG 4\n", "7.png -1\n8.png -1\n", "7.png cat\n8.png cat\n"])
@pytest.mark.parametrize("between", [" ", ",", "\t"])
def test_names_of_no_sample_are_no_names_of_classes(tmp_path: Path, text: str, between: str) -> None:
    (tmp_path / "l.txt").write_text(text.replace(" ", between))
    with pytest.raises(UsageError, match=r"names no sample: '.*[.](png|PNG)' is none") as caught:
        find(tmp_path / "l.txt")
    assert "samples are called '0.png' and such" in str(caught.value)


def test_names_of_classes_may_have_blanks_and_end_as_others_do(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_text("great cat\ntype 1\n")
    (tmp_path / "classes.txt").write_text("cat\ntype 1\ngreat cat\n")
    found = find(tmp_path / "l.txt", tmp_path / "classes.txt")
    assert [found(name) for name in Names.names] == [2, 1]
    with pytest.raises(UsageError, match="'great cat', the name of a class"):
        find(tmp_path / "l.txt")


def test_a_class_that_there_is_not_is_named_where_other_lines_are_classes(tmp_path: Path) -> None:
    """Lines with a blank and a number behind it look like names of samples with their labels, too."""
    (tmp_path / "l.txt").write_text("type 1\ntype 9\n")
    (tmp_path / "classes.txt").write_text("type 1\ntype 2\n")
    with pytest.raises(UsageError, match="'type 9' is no class"):
        find(tmp_path / "l.txt", tmp_path / "classes.txt")
