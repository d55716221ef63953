"""What scores measure, beside figures that are computed by hand or by others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError, UsageError
from transload.evaluation.detection import average_precision, detections
from transload.evaluation.intervals import mean_at_most
from transload.evaluation.labels import labels_of
from transload.evaluation.pictures import classes_of, mean_overlap, overlaps
from transload.evaluation.scores import (
    agreement,
    cosine,
    energies,
    estimate,
    euclid,
    find_scores,
    least_ratio,
    peak_ratio,
    squared_error,
    top1,
)
from transload.plugin import Score


def test_the_best_of_equals_is_the_first() -> None:
    top = find_scores(["top2"])["top2"].measure
    numbers = {"y": np.array([[1, 3, 3, 3]])}
    assert [top(numbers, label, None) for label in range(4)] == [0, 1, 1, 0]


def test_the_rows_of_a_batch_are_samples() -> None:
    """Each has its own best class, and its own label."""
    rng = np.random.default_rng(2)
    ours, theirs = rng.integers(0, 3, (2, 16, 4, 3))
    labels = rng.integers(0, 3, (16, 4))
    agreed = [agreement({"y": one}, None, {"y": other}) for one, other in zip(ours, theirs, strict=True)]
    assert np.array_equal(agreed, (ours.argmax(-1) == theirs.argmax(-1)))
    right = [top1({"y": one}, each.tolist(), None) for one, each in zip(ours, labels, strict=True)]
    assert np.array_equal(right, ours.argmax(-1) == labels)
    found = estimate(find_scores(["agreement"])["agreement"], agreed)
    assert found.value == np.mean(agreed) and found.samples == 16
    assert agreement({"y": ours[0].reshape(4, 3, 1, 1)}, None, {"y": theirs[0]}) == agreed[0]
    for shape in ((1, 12), (12,), (12, 1, 1), (1, 2, 2, 3)):  # of one row
        assert agreement({"y": ours[0].reshape(shape)}, None, {"y": ours[0].reshape(shape)}) == 1.0
    for given, says in ((1, "there is one label"), ([1, 2, 0], "there are 3 labels")):
        with pytest.raises(UsageError, match=r"'y' has 4 rows \(4x3\)") as caught:
            top1({"y": ours[0]}, given, None)
        assert says in str(caught.value) and "--batch 1" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="rows of a batch"):
        agreement({"y": ours[0]}, None, {"y": ours[0].reshape(1, 12)})


@pytest.mark.parametrize("shape", [(1,), (1, 1), ()])
def test_models_that_give_the_class_itself_agree_where_it_is_the_same(shape: tuple[int, ...]) -> None:
    """Of one number the first is always the greatest: whatever they were, they agreed."""
    three, five = (np.full(shape, number, np.int64) for number in (3, 5))
    assert agreement({"y": three}, None, {"y": five}) == 0.0 and agreement({"y": five}, None, {"y": five}) == 1.0
    with pytest.raises(UsageError, match="output 'y' is of 1 numbers"):
        agreement({"y": three / 7}, None, {"y": five / 7})


def test_rows_of_classes_are_compared_one_by_one() -> None:
    ours, theirs = np.array([[3], [5], [1]]), np.array([[3], [4], [1]])
    assert agreement({"y": ours}, None, {"y": theirs}) == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("count", [12, 200])
def test_intervals_stay_where_a_score_can_be(count: int) -> None:
    rows = [1.0] * (count - 1) + [0.2]
    for name in ("cos", "euclid", "pixels"):
        found = estimate(find_scores([name])[name], rows)
        assert found.low is not None and found.high is not None and found.low < found.value < found.high <= 1.0


def test_signal_to_noise_is_over_all_samples_of_the_worst_output() -> None:
    a, b = {"p": np.array([10.0, 0]), "q": np.array([1.0])}, {"p": np.array([10.0, 1]), "q": np.array([1.0])}
    rows = [energies(b, None, a), energies(a, None, a)]
    assert rows[0] == [[100.0, 1.0], [1.0, 0.0]]
    assert least_ratio(rows) == pytest.approx(10 * np.log10(200))
    assert least_ratio(rows[1:]) == float("inf")


def test_peak_to_noise_of_pixels_and_of_shares() -> None:
    truth = np.full((2, 2), 200.0)
    assert peak_ratio([squared_error({"y": truth + 1}, truth, None)]) == pytest.approx(20 * np.log10(255))
    assert peak_ratio([squared_error({"y": truth / 255 + 0.1}, truth / 255, None)]) == pytest.approx(20)
    some = [squared_error({"y": truth + off}, 7, {"y": truth}) for off in (0.0, 1.0, 3.0)]  # beside a class's number
    assert peak_ratio(some) == pytest.approx(10 * np.log10(255**2 / np.mean([0.0, 1.0, 9.0])))
    assert peak_ratio(some[:1]) == np.inf


def test_pictures_of_classes_in_both_layouts() -> None:
    scores = np.zeros((1, 3, 4, 5))
    scores[0, 2] = 1
    found = classes_of(scores, [(4, 5)])
    assert (found == 2).all() and found.shape == (4, 5)
    assert (classes_of(np.moveaxis(scores, 1, -1), [None, (4, 5)]) == 2).all()
    assert (classes_of(scores, layout="nchw") == 2).all()
    assert classes_of(np.ones((1, 4, 5, 1), np.int64)).shape == (4, 5)


def test_overlap_of_classes_leaves_out_what_has_none() -> None:
    truth = np.array([[0, 0], [1, 255]], np.uint8)
    found = np.array([[0, 1], [1, 1]])
    rows = [overlaps({"y": found}, truth, None)]
    assert rows == [[[0, 1, 2], [1, 1, 2]]]
    assert mean_overlap(rows) == 0.5
    interval = estimate(find_scores(["miou"])["miou"], rows * 3)
    assert interval.value == 0.5 and interval.low == interval.high == 0.5


@pytest.mark.parametrize("count", [8, 20])
def test_intervals_of_few_samples_hold_what_they_say(count: int) -> None:
    """Of an exponential distribution, whose mean few samples are mostly below: by percentiles 84 times of 100 of ten samples."""
    draw = np.random.default_rng(3)
    score = Score("mean", lambda outputs, label, reference: 0.0)
    held = [each.low <= 1.0 <= each.high for each in (estimate(score, draw.exponential(size=count).tolist()) for _ in range(60))]
    assert np.mean(held) >= 0.92


def test_intervals_of_a_ratio_with_rare_noise_reach_far_down() -> None:
    """One sample of twelve has all but the whole noise: others could have none or three of it."""
    rows = [[[1.0, 1e-5]]] * 11 + [[[1.0, 1e-3]]]
    found = estimate(find_scores(["sqnr"])["sqnr"], rows)
    assert found.low is not None and found.high is not None
    assert found.value - found.low > 5.0 and found.high > found.value


def test_labels_of_a_batch_for_classes_of_a_batch_are_not_blamed() -> None:
    """A model that gives the class itself of each row: its output has a number for each, which were taken for scores of one."""
    with pytest.raises(UsageError, match="2 labels for a sample, and output 'y' of 2 numbers has one row") as caught:
        top1({"y": np.array([3, 2])}, [3, 2], None)
    assert "gives the class itself" in caught.value.hint
    with pytest.raises(UsageError, match="classes are whole numbers"):
        top1({"y": np.array([3, 2])}, "cat", None)


@pytest.mark.parametrize("count", [50, 150])
def test_the_mean_is_not_promised_too_low_where_few_samples_have_most_of_it(count: int) -> None:
    """Losses whose logarithms are normal, as far apart as a keyword spotter's: t intervals were too low 12 to 17 times of 100."""
    draw = np.random.default_rng(5)
    broken = [mean_at_most(np.exp(2.0 * draw.normal(size=count))) < np.exp(2.0) for _ in range(1000)]
    assert np.mean(broken) <= 0.05


@pytest.mark.parametrize("name", ["sqnr", "cos"])
def test_intervals_reach_to_samples_that_lose_more_than_those_that_are_there(name: str) -> None:
    noise = np.exp(2.0 * np.random.default_rng(4).normal(size=100)) * 1e-6
    sqnr = name == "sqnr"
    found = estimate(find_scores([name])[name], [[[1.0, each]] for each in noise] if sqnr else (1.0 - noise).tolist())
    most = mean_at_most(noise)
    assert most > 2.0 * noise.mean() and found.low is not None
    assert found.low <= (-10.0 * np.log10(most) if sqnr else 1.0 - most) + 1e-9


def test_intervals_of_noise_that_is_alike_are_narrow() -> None:
    noise = np.random.default_rng(2).uniform(0.5, 1.5, size=100) * 1e-6
    found = estimate(find_scores(["sqnr"])["sqnr"], [[[1.0, each]] for each in noise])
    assert found.low is not None and found.value - found.low < 0.5


def test_intervals_of_samples_without_spread_are_points() -> None:
    found = estimate(find_scores(["cos"])["cos"], [0.99] * 10)
    assert found.low == pytest.approx(0.99) and found.high == pytest.approx(0.99)


@pytest.mark.parametrize(("count", "quantile"), [(80, 1.990450), (1000, 1.962341)])
def test_intervals_of_more_samples_are_students(count: int, quantile: float) -> None:
    numbers = np.random.default_rng(1).normal(size=count)
    found = estimate(Score("mean", lambda outputs, label, reference: 0.0), numbers.tolist())
    error = numbers.std(ddof=1) / count**0.5
    assert found.low == pytest.approx(numbers.mean() - quantile * error, abs=0.4 * error)
    assert found.high == pytest.approx(numbers.mean() + quantile * error, abs=0.4 * error)


def test_average_precision_is_cocos() -> None:
    pytest.importorskip("faster_coco_eval")

    def label(objects: list[dict[str, Any]]) -> dict[str, Any]:
        return {"image_id": 7, "width": 100, "height": 50, "objects": objects}

    there = label([
        {"bbox": [10, 5, 30, 20], "category_id": 3, "area": 600}, {"bbox": [50, 10, 40, 30], "category_id": 1, "area": 1200}])
    right = {
        "boxes": np.array([[[5 / 50, 0.1, 25 / 50, 0.4], [10 / 50, 0.5, 40 / 50, 0.9]]]), "classes": np.array([[2.0, 0.0]]),
        "scores": np.array([[0.9, 0.8]]), "count": np.array([2.0])}
    assert average_precision([detections(right, there, None)]) == pytest.approx(1.0)
    half = {**right, "count": np.array([1.0])}
    assert average_precision([detections(half, there, None)]) == pytest.approx(0.5)
    with pytest.raises(UsageError, match="annotations"):
        detections(right, 3, None)
    pixels = {**right, next(iter(right)): 300 * next(iter(right.values()))}
    with pytest.raises(UsageError, match="are in pixels"):
        detections(pixels, there, None)


# --- labels


def images(folder: Path, names: list[str]) -> transload.Samples:
    """Small pictures, as samples for an input."""
    image = pytest.importorskip("PIL.Image")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        image.new("L", (4, 4)).save(folder / name)
    from transload.ir import F32, TensorType

    return transload.open_samples(folder, {"x": TensorType((1, 1, 4, 4), F32)})


def test_labels_by_folders(tmp_path: Path) -> None:
    samples = images(tmp_path, ["dog/1.png", "cat/2.png", "dog/3.png"])
    find = labels_of(samples)
    assert {name: find(name) for name in samples.names} == {"cat/2.png": 0, "dog/1.png": 1, "dog/3.png": 1}
    assert labels_of(samples, classes=["bird", "cat", "dog"], offset=1)("dog/1.png") == 3
    with pytest.raises(UsageError, match="'cat' is no class"):
        labels_of(samples, classes=["dog"])


@pytest.mark.parametrize(("folders", "labels"), [
    (("3", "7", "12"), (3, 7, 12)), (("00", "01", "10"), (0, 1, 10)), (tuple(map(str, range(1, 13))), tuple(range(12)))])
def test_folders_whose_names_are_numbers(tmp_path: Path, folders: tuple[str, ...], labels: tuple[int, ...]) -> None:
    find = labels_of(images(tmp_path, [f"{folder}/x.png" for folder in folders]))
    assert tuple(find(f"{folder}/x.png") for folder in folders) == labels, "12 stands behind 3, and a class may have no sample"


def test_labels_by_name_and_by_line(tmp_path: Path) -> None:
    samples = images(tmp_path / "i", ["1.png", "2.png"])
    file = tmp_path / "labels.txt"
    for text, wanted in {"1.png 5\n2.png 3\n": (5, 3), "2.png,3\n1.png,5\n": (5, 3), "5\n3\n": (5, 3),
                         "1.png dog\n2.png cat\n": (1, 0)}.items():
        file.write_text(text)
        find = labels_of(samples, file, ["cat", "dog"] if "dog" in text else None)
        assert (find("1.png"), find("2.png")) == wanted
    file.write_text("file,label,class\n1.png,5,dog\nother.png,1,cat\n2.png,3,bird\n")
    assert [labels_of(samples, file)(name) for name in ("1.png", "2.png")] == [5, 3], "a table with a heading, of more samples"
    file.write_text("a.png 5\nb.png 3\nc.png 3\n")
    with pytest.raises(UsageError, match=r"names no sample: 'c\.png' is none"):
        labels_of(samples, file)
    file.write_text("5\n")
    with pytest.raises(UsageError, match="1 labels for 2 samples"):
        labels_of(samples, file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ReadError, match="is no text file"):
        labels_of(samples, file)
    with pytest.raises(ReadError, match="no such file"):
        labels_of(samples, tmp_path / "none.txt")


def test_masks_and_annotations(tmp_path: Path) -> None:
    samples = images(tmp_path / "i", ["1.png"])
    masks = images(tmp_path / "m", ["1.png"])
    assert len(masks) == 1 and labels_of(samples, tmp_path / "m")("1.png").shape == (4, 4)
    with pytest.raises(ReadError, match="has no mask"):
        labels_of(samples, tmp_path / "m")("2.png")
    file = tmp_path / "coco.json"
    file.write_text('{"images": [{"file_name": "1.png", "id": 4, "width": 4, "height": 4}], "annotations": []}')
    assert labels_of(samples, file)("a/1.png")["image_id"] == 4
    file.write_text("[]")
    with pytest.raises(ReadError, match="annotations"):
        labels_of(samples, file)


def test_nan_is_no_right_answer() -> None:
    none = {"y": np.full((1, 4), np.nan)}
    one = {"y": np.array([[0.1, np.nan, 0.3, 0.2]])}
    top3 = find_scores(["top3"])["top3"].measure
    assert [score(each, 2, None) for score in (top1, top3) for each in (none, one)] == [0.0] * 4
    assert agreement(none, None, none) == agreement(one, None, one) == 0.0


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_output_of_nan_is_the_worst_wherever_it_stands(place: int) -> None:
    wanted = {name: np.array([1.0, 2.0]) for name in "abc"}
    found = {**wanted, "abc"[place]: np.full(2, np.nan)}
    for measured in (cosine(found, None, wanted), euclid(found, None, wanted), least_ratio([energies(found, None, wanted)])):
        assert np.isnan(measured)
    assert cosine(wanted, None, wanted) == pytest.approx(1.0) and euclid(wanted, None, wanted) == 1.0


@pytest.mark.parametrize("name", ["cos", "euclid"])
def test_a_total_that_is_no_number_has_no_interval(name: str) -> None:
    """The samples that are numbers had one, which said that a promise is kept."""
    found = estimate(find_scores([name])[name], [1.0] * 9 + [float("nan")])
    assert np.isnan(found.value) and found.low is found.high is None


@pytest.mark.parametrize(("right", "of", "low", "high"), [
    (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)])
def test_intervals_of_shares_are_the_textbooks(right: int, of: int, low: float, high: float) -> None:
    """Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998), table I, method 3."""
    found = estimate(find_scores(["top1"])["top1"], [1.0] * right + [0.0] * (of - right))
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
