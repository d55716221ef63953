"""`transload.evaluate` and `transload eval`: models side by side on samples."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli import run as command
from transload.errors import ReadError, TransloadError, UsageError
from transload.evaluation.evaluate import _State
from transload.evaluation.scores import Estimate, estimate
from transload.input_shapes import sizes_given
from transload.plugin import Score

from tests.support.graphs import Graph

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


@pytest.fixture(scope="module")
def held() -> dict[str, np.ndarray]:
    return dict(np.load(DIGITS / "test_images.npz"))


@pytest.fixture(scope="module")
def data(held: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty images as an archive with one array."""
    path = tmp_path_factory.mktemp("data") / "images.npz"
    np.savez(path, image=(held["images"][:40] / np.float32(16)).reshape(-1, 1, 8, 8))
    return path


@pytest.fixture(scope="module")
def labels(held: dict[str, np.ndarray]) -> list[int]:
    return [int(label) for label in held["labels"][:40]]


@pytest.fixture(scope="module")
def quantized(data: Path) -> transload.Module:
    return transload.quantize(transload.load(DIGITS / "digits_float.onnx"), "int8", transload.open_samples(
        data, transload.load(DIGITS / "digits_float.onnx")))


def test_a_float_and_a_quantized_model_side_by_side(quantized: transload.Module, data: Path, labels: list[int]) -> None:
    model = transload.load(DIGITS / "digits_float.onnx")
    found = transload.evaluate([model, quantized], data, labels=labels, metrics=("top1", "top3", "agreement", "sqnr", "cos"))
    first, second = found.scores
    images = np.load(data)["image"]
    answers = [int(transload.run(model, {"image": image[None]})["probabilities"].argmax()) for image in images]
    assert found[first]["top1"].value == np.mean(np.equal(answers, labels))
    assert found[first]["top3"].value >= found[first]["top1"].value
    assert set(found[first]) == {"top1", "top3"}, "the first is what others are compared with"
    assert found[second]["agreement"].value > 0.9
    assert 20 < found[second]["sqnr"].value < 60
    low, high = found[second]["sqnr"].low, found[second]["sqnr"].high
    assert low is not None and high is not None and low <= found[second]["sqnr"].value <= high


def test_a_label_that_is_no_class_is_refused(data: Path, labels: list[int]) -> None:
    with pytest.raises(UsageError, match=r"images\.npz\[0\]: the label is .* classes 0 to 9"):
        transload.evaluate(DIGITS / "digits_float.onnx", data, labels=labels, label_offset=100)


@pytest.mark.parametrize(("more", "offset", "told", "hint"), [
    (1, 0, "the label is 10, and", "--label-offset -1 where labels begin with 1"),
    (0, 1, "the label is 9, 10 with --label-offset 1, and", "leave out --label-offset"),
    (0, -100, " with --label-offset -100, and", "leave out --label-offset"),
    (100, 1, " with --label-offset 1, and", "begin with 0"), (100, 0, "the label is 10", "begin with 0")])
def test_what_to_do_about_labels_that_are_no_classes(
    data: Path, labels: list[int], more: int, offset: int, told: str, hint: str,
) -> None:
    """Advice that leads to the same error again is none: of an offset that is wrong, another one was told."""
    with pytest.raises(UsageError, match="classes 0 to 9") as caught:
        transload.evaluate(
            DIGITS / "digits_float.onnx", data, labels=[label + more for label in labels], label_offset=offset)
    assert told in caught.value.message and hint in str(caught.value.hint)


@pytest.mark.parametrize("name", ["top10", "top99"])
def test_a_score_that_no_model_can_fail_is_refused(data: Path, labels: list[int], name: str) -> None:
    with pytest.raises(UsageError, match=rf"among the {name[3:]} best of 10 classes .* whatever") as caught:
        transload.evaluate(DIGITS / "digits_float.onnx", data, labels=labels, metrics=["top1", name])
    assert "of the 9 best, or fewer" in str(caught.value.hint)
    assert transload.evaluate(DIGITS / "digits_float.onnx", data, labels=labels, metrics=["top9"]).samples


def test_one_number_is_no_class_each() -> None:
    g = Graph((1, 8))
    module = g.done(g.Arg(g.inputs[0], axis=1, keepdims=False, mode="ArgMax"))
    with pytest.raises(UsageError, match=r"is of 1 numbers, and has to be of one for each class") as caught:
        transload.evaluate(module, np.ones((2, 1, 8), np.float32), labels=[0, 0])  # the only class there is
    assert "--output" in str(caught.value.hint)


@pytest.mark.parametrize("metrics", [("sqnr",), ("top1", "agreement")])
def test_one_model_is_compared_with_none(data: Path, labels: list[int], metrics: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="there is no other"):
        transload.evaluate(DIGITS / "digits_float.onnx", data, metrics=metrics)


def test_metrics_are_no_dictionary(data: Path) -> None:
    """Its keys were taken, and what was said of each was lost."""
    with pytest.raises(UsageError, match="takes a list of texts as metrics, and was given dict"):
        transload.evaluate(DIGITS / "digits_float.onnx", data, metrics={"top1": 0.9})


def test_scores_that_need_labels_ask_for_them(data: Path) -> None:
    with pytest.raises(UsageError, match="needs labels"):
        transload.evaluate(DIGITS / "digits_float.onnx", data)


def test_as_many_labels_as_samples(data: Path) -> None:
    with pytest.raises(UsageError, match="3 labels for 40 samples"):
        transload.evaluate(DIGITS / "digits_float.onnx", data, labels=[1, 2, 3])


def test_quantized_borders_are_real_numbers(data: Path) -> None:
    """The int8 file takes and gives integers; it is fed, and compared with the float model, as the numbers they stand for."""
    model = transload.load(DIGITS / "digits_float.onnx")
    samples = transload.open_samples(data, model)
    made = transload.quantize(model, "int8-asym", samples, quant_input="all", quant_output="all")
    assert "quant" in str(made.inputs["image"])
    found = transload.evaluate([model, made], data, metrics=("sqnr", "agreement"))
    assert list(found.scores.values())[1]["sqnr"].value > 20


def test_an_evaluation_goes_on_where_it_ended(quantized: transload.Module, data: Path, labels: list[int], tmp_path: Path) -> None:
    file = tmp_path / "state.jsonl"
    whole = transload.evaluate([quantized], data, labels=labels, resume=file)
    lines = file.read_text().splitlines(keepends=True)
    assert len(lines) == 41
    file.write_text("".join(lines[:11]) + lines[11][:7])  # killed in the middle of a line
    seen: list[int] = []

    def count(samples: transload.Samples) -> None:
        samples.watch = seen.append

    again = transload.evaluate([quantized], data, labels=labels, resume=file, watch=count)
    assert again == whole and len(file.read_text().splitlines()) == 41
    with pytest.raises(UsageError, match="other models, samples or metrics"):
        transload.evaluate([quantized], data, labels=labels, metrics="top5", resume=file)
    with pytest.raises(UsageError, match="other models, samples or metrics"):
        transload.evaluate([quantized], data, labels=[0] * 40, resume=file)
    file.write_text("nonsense\n")
    with pytest.raises(ReadError, match="is not what an evaluation saved"):
        transload.evaluate([quantized], data, labels=labels, resume=file)


def test_a_function_of_the_users_is_a_score(
    data: Path, labels: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "mine.py").write_text("def sure(outputs, label):\n    return outputs['probabilities'].max()\n")
    monkeypatch.chdir(tmp_path)
    found = transload.evaluate(DIGITS / "digits_float.onnx", data, labels=labels, metrics=["python:mine.py:sure"])
    (scores,) = found.scores.values()
    assert 0.5 < scores["python:mine.py:sure"].value <= 1
    with pytest.raises(UsageError, match="no function"):
        transload.evaluate(DIGITS / "digits_float.onnx", data, labels=labels, metrics=["python:mine.py:__name__"])


def test_the_command_tells_a_table_and_json(
    data: Path, labels: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "labels.txt"
    file.write_text("\n".join(map(str, labels)) + "\n")
    model = str(DIGITS / "digits_float.onnx")
    transload.convert(model, "tosa", tmp_path / "build", verify="no")
    asked = ["eval", model, str(tmp_path / "build"), "--data", str(data), "--labels", str(file), "--metric", "top1,agreement"]
    assert command(asked) == 0
    told = capsys.readouterr()
    assert "top1" in told.out and "agreement" in told.out and "100.0 [" in told.out and "40 samples" in told.out
    assert command([*asked, "--json"]) == 0
    told = capsys.readouterr()
    scores = json.loads(told.out)
    assert scores["samples"] == 40
    assert scores["models"][str(tmp_path / "build")]["agreement"]["value"] == 1.0
    assert command([*asked[:-1], "best"]) == 2
    assert "no score is called 'best'" in capsys.readouterr().err


def test_an_output_by_name(data: Path, labels: list[int]) -> None:
    with pytest.raises(UsageError, match="has no output 'logits'"):
        transload.evaluate(DIGITS / "digits_float.onnx", data, labels=labels, output="logits")


def test_an_estimate_of_a_share_stays_within_it() -> None:
    from transload.evaluation.scores import estimate, find_scores

    found = estimate(find_scores(["top1"])["top1"], [1.0] * 20)
    assert found == Estimate(1.0, found.low, found.high, 20)
    assert found.low is not None and found.high is not None and 0.8 < found.low < 0.9 and abs(found.high - 1) < 1e-9


def test_it_is_told_what_images_become_and_that_outputs_are_nan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = pytest.importorskip("PIL.Image")
    for name in ("3/a.png", "5/b.png"):
        (tmp_path / "val" / name).parent.mkdir(parents=True)
        image.new("L", (8, 8), 99).save(tmp_path / "val" / name)
    g = Graph((1, 1, 8, 8))
    module = g.done(g.Log(g.Sub(g.inputs[0], np.full((1, 1, 8, 8), 1e6, np.float32))))
    transload.save(module, tmp_path / "nan.mlir")
    assert command(["eval", str(tmp_path / "nan.mlir"), "--data", str(tmp_path / "val")]) == 0
    told = capsys.readouterr()
    assert "note: images are made 8x8 pixels" in told.err and "gives NaN on 2 of 2 samples" in told.err, told.err
    assert "0.0 [" in told.out, "what is no number is no right answer"


def test_images_span_what_a_quantized_input_holds_for_all_models(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    images = tmp_path / "images"
    images.mkdir()
    for number, pixels in enumerate(np.random.default_rng(0).integers(0, 256, (4, 8, 8), np.uint8)):
        image.fromarray(pixels).save(images / f"{number}.png")
    model = transload.load(DIGITS / "digits_float.onnx")
    samples = list(transload.open_samples(images, model, preprocess=transload.Preprocess(mean=(128.0,), scale=(1 / 128,))))
    quantized = transload.quantize(model, "int8", samples, quant_input="all")
    found = transload.evaluate([quantized, model], images, labels=[0, 1, 2, 3], metrics=("top1", "sqnr"))
    (note,) = (note for note in found.notes if "images are made" in note)
    low, high = (float(word) for word in note.split("0 to 255 as ")[1].split(",")[0].split(" to "))
    assert low < -0.95 and high > 0.95 and found["module 2"]["sqnr"].value > 20


def test_integers_of_a_quantized_inputs_type_are_what_it_stores(quantized: transload.Module, data: Path, tmp_path: Path) -> None:
    model = transload.load(DIGITS / "digits_float.onnx")
    taking = transload.quantize(model, "int8", transload.open_samples(data, model), quant_input="all")
    quant = taking.inputs["image"].element  # type: ignore[attr-defined]
    real = np.load(data)["image"]
    np.savez(tmp_path / "stored.npz", image=(np.round(real / quant.scale) + quant.zero_point).clip(-128, 127).astype(np.int8))
    kept = transload.evaluate([model, taking], data, metrics=("sqnr",))
    found = transload.evaluate([model, taking], tmp_path / "stored.npz", metrics=("sqnr",))
    assert found["module 2"]["sqnr"].value == pytest.approx(kept["module 2"]["sqnr"].value, abs=6) and found.notes
    assert "int8 arrays for input 'image' are taken as stored numbers" in found.notes[0]


@pytest.mark.parametrize("change", [
    lambda entry: {**entry, "rows": 5}, lambda entry: {**entry, "rows": []}, lambda entry: {**entry, "rows": [{}]},
    lambda entry: {**entry, "rows": [{"top1": "1"}]}, lambda entry: {**entry, "rows": [{"top1": 1.0 - entry["rows"][0]["top1"]}]},
    lambda entry: {**entry, "sample": "another"}, lambda entry: {key: entry[key] for key in ("sample", "rows")}])
def test_what_was_saved_and_is_changed_is_refused(
    quantized: transload.Module, data: Path, labels: list[int], tmp_path: Path, change: Callable[[dict[str, Any]], Any],
) -> None:
    """It ended in TypeError, IndexError and KeyError, or was scored as if it had been measured."""
    file = tmp_path / "state.jsonl"
    transload.evaluate([quantized], data, labels=labels, resume=file)
    lines = file.read_text().splitlines(keepends=True)
    lines[4] = json.dumps(change(json.loads(lines[4]))) + "\n"
    file.write_text("".join(lines))
    with pytest.raises(ReadError, match=r"is damaged, or was changed|is not what an evaluation saved"):
        transload.evaluate([quantized], data, labels=labels, resume=file)


def test_an_evaluation_of_the_same_folder_with_other_files(data: Path, labels: list[int], tmp_path: Path) -> None:
    """Files in its folders count, too: those of a SavedModel's variables do."""
    made = transload.convert(DIGITS / "digits_float.onnx", "tosa", tmp_path / "model", verify=False)
    inner = tmp_path / "model" / "variables"
    inner.mkdir()
    (inner / "data").write_bytes(b"1")
    where, file = made.files[0].parent, tmp_path / "state.jsonl"
    transload.evaluate([where], data, labels=labels, resume=file)
    (inner / "data").write_bytes(b"2")
    with pytest.raises(UsageError, match="other models, samples or metrics"):
        transload.evaluate([where], data, labels=labels, resume=file)


def test_labels_of_any_form_of_whole_numbers(data: Path, labels: list[int]) -> None:
    """Rows of one column, and floats, were no classes of the model, and numpy's numbers were not moved by an offset."""
    model = DIGITS / "digits_float.onnx"
    wanted = transload.evaluate(model, data, labels=labels)[str(model)]["top1"]
    one_off = [label - 1 for label in labels]
    for form in (np.array, np.float32, lambda given: np.array(given)[:, None], lambda given: [[each] for each in given]):
        assert transload.evaluate(model, data, labels=form(labels))[str(model)]["top1"] == wanted
        assert transload.evaluate(model, data, labels=form(one_off), label_offset=1)[str(model)]["top1"] == wanted


@pytest.mark.parametrize(("label", "why"), [
    (4.5, "the label is 4.5, and classes are whole numbers"),
    ([1, 2], "there are 2 labels for a sample, and output .* has one row"),
    ("a", "the label is 'a', and classes are whole numbers"), (10, "the label is 10, and the model has classes 0 to 9"),
    (float("nan"), "and classes are whole numbers"), ([[1], [1, 2]], "and classes are whole numbers"),
])
def test_labels_that_are_no_classes(label: Any, why: str, data: Path) -> None:
    with pytest.raises(UsageError, match=why) as raised:
        transload.evaluate(DIGITS / "digits_float.onnx", data, labels=[label] * 40)
    assert ("--label-offset" in raised.value.hint) == (label == 10)


def test_an_evaluation_has_its_models(data: Path, labels: list[int]) -> None:
    """Asking for one that it has not, and going through it, ended in `KeyError: 0`."""
    model = str(DIGITS / "digits_float.onnx")
    found = transload.evaluate(model, data, labels=labels)
    assert [*found] == [model] and len(found) == 1 and model in found and "other" not in found and 0 not in found


def test_preprocessing_is_not_for_arrays(examples: Path, tmp_path: Path) -> None:
    """It was ignored: the scores were those of the arrays as they are."""
    model = transload.load(examples / "digits" / "digits_float.onnx")
    arrays = [np.load(examples / "digits" / "test_images.npz")["images"][0].reshape(1, 1, 8, 8).astype(np.float32)]
    np.save(tmp_path / "samples.npy", arrays[0])
    preprocess = transload.Preprocess(scale=(1 / 16,))
    for data in (arrays, iter(arrays), arrays[0], tmp_path / "samples.npy", transload.open_samples(arrays, model)):
        with pytest.raises(UsageError, match="nothing that is given is one"):
            transload.evaluate([model, model], data, metrics=["sqnr"], preprocess=preprocess)
        with pytest.raises(UsageError, match="nothing that is given is one"):
            transload.open_samples(data, model, preprocess=preprocess)


def test_preprocessing_beside_an_artifact_is_for_images_alone(examples: Path, tmp_path: Path) -> None:
    model = examples / "digits" / "digits_float.onnx"
    arrays = [np.load(examples / "digits" / "test_images.npz")["images"][0].reshape(1, 1, 8, 8) / np.float32(16)]
    transload.convert(model, "tosa", tmp_path / "out")
    (tmp_path / "out" / "preprocess.toml").write_text("scale = [0.0625]\n")
    assert transload.evaluate([model, tmp_path / "out"], arrays, metrics=["agreement"]).samples == 1


def test_a_score_is_a_share_where_it_says_so() -> None:
    """Ones and noughts of what may be any number, as a count is, have no interval that ends at 1."""
    rows = [1.0] * 9 + [0.0]
    share, other = (estimate(Score("mine", None, unit=unit), rows) for unit in ("%", ""))
    assert (share.low, share.high) == pytest.approx((0.596, 0.982), abs=1e-3) and share.value == other.value
    assert (other.low, other.high) != (share.low, share.high)
    assert estimate(Score("mine", None), [1.0] * 10).low == 1.0


def test_a_function_of_the_users_may_say_that_it_is_a_share(
    data: Path, labels: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "shares.py").write_text("def right(outputs, label):\n    return 1\n\nright.unit = '%'\n")
    monkeypatch.chdir(tmp_path)
    found = transload.evaluate(DIGITS / "digits_float.onnx", data, labels=labels, metrics=["python:shares.py:right"])
    (scores,) = found.scores.values()
    assert 0.85 < scores["python:shares.py:right"].low < 0.95


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_beside_an_artifact_is_told(examples: Path, tmp_path: Path) -> None:
    model = examples / "digits" / "digits_float.onnx"
    transload.convert(model, "tosa", tmp_path / "out")
    os.mkfifo(tmp_path / "out" / "preprocess.toml")
    with pytest.raises(ReadError, match=r"preprocess\.toml: is a pipe, not a file"):
        transload.compare(model, tmp_path / "out")


def test_an_evaluation_of_the_same_paths_with_other_samples(
    labels: list[int], held: dict[str, np.ndarray], tmp_path: Path,
) -> None:
    """Measures of other samples were taken for those of these: of a file, a folder, a list, a function's file."""
    model, images = DIGITS / "digits_float.onnx", (held["images"][:4] / np.float32(16)).reshape(-1, 1, 8, 8)
    (tmp_path / "folder").mkdir()

    def write(of: np.ndarray) -> None:
        np.save(tmp_path / "x.npy", of)
        np.save(tmp_path / "folder" / "0.npy", of[0])
        (tmp_path / "list.txt").write_text("folder/0.npy\n")
        (tmp_path / "mine.py").write_text(f"def best(outputs, label):\n    return {of.sum()}\n")

    for place, (source, metric) in enumerate((
            ("x.npy", "top1"), ("folder", "top1"), ("list.txt", "top1"), ("x.npy", f"python:{tmp_path / 'mine.py'}:best"))):
        write(images)
        state, given = tmp_path / f"{place}.jsonl", labels[: 4 if source == "x.npy" else 1]
        asked: dict[str, Any] = {"labels": given, "metrics": [metric], "resume": state}
        first = transload.evaluate(model, tmp_path / source, **asked)
        assert transload.evaluate(model, tmp_path / source, **asked) == first
        write(np.concatenate([images, images[:1]])[1:] * np.float32(0.5))
        with pytest.raises(UsageError, match="other models, samples or metrics"):
            transload.evaluate(model, tmp_path / source, **asked)


def test_numbers_that_are_not_finite_are_texts_in_json(data: Path) -> None:
    found = transload.evaluate([DIGITS / "digits_float.onnx"] * 2, data, metrics=["sqnr"])
    assert [each["sqnr"]["value"] for each in found.as_dict()["models"].values() if each] == ["Infinity"]


@pytest.mark.parametrize("said", [{"label_offset": 1}, {"classes": ["a", "b"]}])
@pytest.mark.parametrize("kind", ["masks", "annotations"])
def test_what_is_said_of_labels_that_take_none_of_it_is_refused(
    data: Path, tmp_path: Path, kind: str, said: dict[str, Any],
) -> None:
    source = tmp_path / "m"
    if kind == "masks":
        source.mkdir()
    else:
        source = tmp_path / "m.json"
        source.write_text('{"images": [], "annotations": []}')
    with pytest.raises(UsageError, match=f"is said of labels that are {kind}"):
        transload.evaluate(DIGITS / "digits_float.onnx", data, labels=source, metrics=["miou"], **said)


def test_a_file_that_has_labels_of_some_samples_alone(held: dict[str, np.ndarray], tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    for place in range(2):
        np.save(tmp_path / "s" / f"{place}.npy", held["images"][place].reshape(1, 8, 8).astype(np.float32))
    (tmp_path / "half.csv").write_text("0.npy,4\n")
    with pytest.raises(UsageError, match=r"'1\.npy' has none") as caught:
        transload.evaluate(DIGITS / "digits_float.onnx", tmp_path / "s", labels=tmp_path / "half.csv")
    assert "half.csv says the labels of others; it has to name all samples" in str(caught.value.hint)


def test_a_full_disk_is_no_fault_of_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves no empty file."""
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    def opened(path: Path, mode: str = "r", **how: Any) -> Any:
        path.touch()
        return Full()

    with monkeypatch.context() as full:
        full.setattr(Path, "open", opened)
        with pytest.raises(TransloadError, match=r"saved: cannot be written: No space left on device") as caught:
            _State(tmp_path / "saved", "digest")
    assert caught.value.exit_code == 1 and not (tmp_path / "saved").exists()


@pytest.fixture
def doubled(tmp_path: Path) -> Path:
    """A model of a width that is open, whose weights lie beside it."""
    onnx = pytest.importorskip("onnx")
    helper, path = onnx.helper, tmp_path / "doubled.onnx"
    borders = [helper.make_tensor_value_info(name, 1, [1, 3, 8, "width"]) for name in ("x", "y")]
    weights = onnx.numpy_helper.from_array(np.full((1, 3, 8, 1), 2.0, np.float32), "weights")
    graph = helper.make_graph([helper.make_node("Mul", ["x", "weights"], ["y"])], "g", borders[:1], borders[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def test_an_evaluation_of_the_same_paths_with_other_sizes_weights_or_engine(doubled: Path, tmp_path: Path) -> None:
    """The scores of what was before were given: neither sizes nor weights beside it are in the digest of a model's file."""
    image = pytest.importorskip("PIL.Image")
    images = tmp_path / "images"
    images.mkdir()
    for number in range(2):
        pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3), np.uint8)
        image.fromarray(pixels).save(images / f"{number}.png")
    state = tmp_path / "state.jsonl"

    def scored(width: int = 8, **how: Any) -> transload.Evaluation:
        with sizes_given({"width": width}):
            return transload.evaluate([doubled, doubled], images, metrics=["sqnr"], resume=state, **how)

    whole = scored()
    assert scored() == whole
    for other in ({"width": 16}, {"engine": "reference"}):
        with pytest.raises(UsageError, match="of other sizes, or by another engine"):
            scored(**other)
    (tmp_path / "weights.bin").write_bytes(np.full(24, 3.0, np.float32).tobytes())
    with pytest.raises(UsageError, match="other models"):
        scored()


def test_an_evaluation_of_another_module_in_memory(tmp_path: Path) -> None:
    """Modules in memory have no path, and were all the same."""
    state = tmp_path / "state.jsonl"
    for factor in (2.0, 3.0):
        graph = Graph((1, 1, 8, 8))
        model = graph.done(graph.MulConst(graph.inputs[0], const_val=factor))
        samples = [{"x0": np.ones((1, 1, 8, 8), np.float32)}]
        if factor == 2.0:
            transload.evaluate([model, model], samples, metrics=["sqnr"], resume=state)
            continue
        with pytest.raises(UsageError, match="other models"):
            transload.evaluate([model, model], samples, metrics=["sqnr"], resume=state)
