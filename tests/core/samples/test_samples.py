"""Samples from folders, lists, arrays and functions: their order, their number, what is damaged and what does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError, TransloadError, UsageError
from transload.ir import F32, I8, I32, UI8, UI32, QuantType, TensorType, dtype_of
from transload.samples.samples import Samples, open_samples

IMAGE = {"x": TensorType((1, 1, 2, 2), F32)}
TWO = {"a": TensorType((1, 2), F32), "b": TensorType((1, 1, 2, 2), F32)}
THREE = np.arange(12, dtype=np.float32).reshape(3, 1, 2, 2)


def values(samples: Samples, name: str = "x") -> list[float]:
    return [float(sample[name].ravel()[0]) for sample in samples]


def write_image(path: Path, value: int) -> None:
    image = pytest.importorskip("PIL.Image")
    path.parent.mkdir(parents=True, exist_ok=True)
    image.fromarray(np.full((2, 2), value, np.uint8)).save(path)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Twelve images, whose names and folders sort as numbers, and whose pixels are their places."""
    folder = tmp_path / "images"
    for number in range(12):
        write_image(folder / f"class{number // 6 + 9}" / f"{number}.png", number)
    (folder / "labels.txt").write_text("what is no image is left alone")
    (folder / ".hidden.png").write_text("and what is hidden")
    return folder


def test_a_folder_in_natural_order_as_often_as_one_likes(images: Path) -> None:
    samples = open_samples(images, IMAGE, preprocess=transload.Preprocess(scale=(1.0,)))
    assert len(samples) == 12 and values(samples) == values(samples) == list(range(12))
    name, sample = next(samples.named())
    assert name == "class9/0.png" and sample["x"].shape == (1, 1, 2, 2) and sample["x"].dtype == np.float32
    assert list(samples)[11]["x"].flags.c_contiguous


def test_a_count_is_spread_evenly(images: Path) -> None:
    """So that all folders have their part."""
    plain = transload.Preprocess(scale=(1.0,))
    assert values(open_samples(images, IMAGE, preprocess=plain, count=4)) == [0, 3, 6, 9]
    assert len(open_samples(images, IMAGE, count=100)) == 12
    assert values(open_samples(THREE, IMAGE, count=1)) == [0]
    assert values(open_samples(iter(THREE), IMAGE, count=2)) == [0, 4]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_changes_nothing(images: Path, workers: int) -> None:
    samples = open_samples(images, IMAGE, workers=workers)
    assert [name for name, _ in samples.named()] == [f"class{n // 6 + 9}/{n}.png" for n in range(12)]


def test_no_more_is_read_than_somebody_takes(tmp_path: Path) -> None:
    read = []

    def endless() -> Iterator[np.ndarray]:
        for number in range(10 ** 6):
            read.append(number)
            yield np.full((1, 1, 2, 2), number, np.float32)

    for sample in open_samples(endless(), IMAGE, workers=2):
        if sample["x"][0, 0, 0, 0] == 5:
            break
    assert len(read) < 30


def test_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", THREE)
    np.savez(tmp_path / "x.npz", x=THREE)
    np.savez_compressed(tmp_path / "packed.npz", anything=THREE.astype(np.float64))
    np.save(tmp_path / "one.npy", THREE[:1])
    np.save(tmp_path / "squeezed.npy", THREE[:, 0])
    for source in ("x.npy", "x.npz", "packed.npz", "squeezed.npy"):
        samples = open_samples(tmp_path / source, IMAGE)
        assert len(samples) == 3 and values(samples) == [0, 4, 8], source
        assert all(sample["x"].dtype == np.float32 and sample["x"].shape == (1, 1, 2, 2) for sample in samples)
    assert len(open_samples(tmp_path / "one.npy", IMAGE)) == 1
    assert values(open_samples(THREE, IMAGE)) == [0, 4, 8]


def test_rows_of_batches() -> None:
    """An input with a batch takes the next rows each time, of an array that counts them."""
    numbers, batches = np.arange(12, dtype=np.float32).reshape(6, 1, 2), {"x": TensorType((3, 1, 2), F32)}
    samples = open_samples(numbers, batches)
    assert [sample["x"].tolist() for sample in samples] == [numbers[:3].tolist(), numbers[3:].tolist()]
    with pytest.raises(UsageError, match="do not fit input 'x'") as caught:
        open_samples(numbers[:5], batches)
    assert "a multiple of 3 rows" in (caught.value.hint or "")


def test_a_file_a_sample(tmp_path: Path) -> None:
    for number in (2, 10, 1):
        np.savez(tmp_path / f"{number}.npz", a=np.ones((1, 2)), b=np.full((1, 1, 2, 2), number))
    samples = open_samples(tmp_path, TWO)
    assert len(samples) == 3 and values(samples, "b") == [1, 2, 10]


def test_a_list(images: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((1, 2), np.float32))
    np.savez(tmp_path / "both.npz", a=np.ones((1, 2)), b=np.full((1, 1, 2, 2), 255))
    lines = ["# a sample a line", "", "a.npy, images/class10/7.png", "a.npy,images/class9/2.png  # the second", "both.npz # a"]
    (tmp_path / "list.txt").write_text("\n".join(lines))
    samples = open_samples(tmp_path / "list.txt", TWO, preprocess=transload.Preprocess(scale=(1.0,)))
    assert len(samples) == 3 and values(samples, "b") == [7, 2, 255] and values(samples, "a") == [1, 1, 1]
    (tmp_path / "commas").write_text("a,b.png\n")
    write_image(tmp_path / "a,b.png", 3)
    assert len(list(open_samples(tmp_path / "commas", IMAGE))) == 1
    (tmp_path / "marks").write_text("a #1.png\na #1.png # the same\na,b.png\t# another\n")
    write_image(tmp_path / "a #1.png", 4)
    assert open_samples(tmp_path / "marks", IMAGE).names == ["a #1.png", "a #1.png", "a,b.png"]
    (tmp_path / "marks").write_text(f"a #1.png # {'no name of a file is as long ' * 20}\n")
    assert open_samples(tmp_path / "marks", IMAGE).names == ["a #1.png"]
    (tmp_path / "marks").write_text("none.png # first\n")
    with pytest.raises(ReadError, match=r"none\.png: there is no such file"):
        list(open_samples(tmp_path / "marks", IMAGE))


def test_a_source_for_each_input(images: Path) -> None:
    samples = open_samples({"a": np.ones((12, 2), np.float32), "b": images}, TWO)
    assert len(samples) == 12 and next(iter(samples)).keys() == {"a", "b"}


def test_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "feed.py").write_text(
        "import numpy as np\ndef three():\n    for n in range(3):\n        yield {'x': np.full((1, 1, 2, 2), n, np.float32)}\n"
        "def fails():\n    yield np.zeros((1, 1, 2, 2))\n    raise ValueError('no more')\nnumber = 3\n"
        "def nothing():\n    return 3\n")
    monkeypatch.chdir(tmp_path)
    for source in ("python:feed:three", f"python:{tmp_path / 'feed.py'}:three"):
        samples = open_samples(source, IMAGE)
        assert values(samples) == values(samples) == [0, 1, 2]
        with pytest.raises(TypeError):
            len(samples)
        with pytest.raises(UsageError, match="which ones is not known before") as caught:
            _ = samples.names
        assert "an .npy or .npz with all" in caught.value.hint
    for source, says in (
        ("python:feed", "does not read as"), ("python:nosuch:three", "cannot be imported"),
        ("python:feed:four", "cannot be imported"), ("python:feed:number", "is no function"),
        ("python:feed:fails", "ValueError: no more"), ("python:feed:nothing", "no samples"),
        ("python:absent.py:three", "no such file"),
    ):
        with pytest.raises(TransloadError, match=says):
            list(open_samples(source, IMAGE))


def test_iterables_can_be_gone_through_again() -> None:
    def three() -> Iterator[dict[str, Any]]:
        for array in THREE:
            yield {"x": array}

    samples = open_samples(three(), IMAGE)
    assert values(samples) == values(samples) == [0, 4, 8]
    samples = open_samples([{"x": array} for array in THREE], IMAGE)
    assert len(samples) == 3 and values(samples) == [0, 4, 8] and values(open_samples(samples, IMAGE)) == [0, 4, 8]
    assert [name for name, _ in samples.named()] == ["sample 1", "sample 2", "sample 3"]


def test_a_damaged_image_is_named_and_left_out_where_one_says_so(images: Path) -> None:
    (images / "class9" / "3.png").write_bytes((images / "class9" / "3.png").read_bytes()[:40])
    samples = open_samples(images, IMAGE)
    with pytest.raises(ReadError, match=r"class9/3\.png: is a damaged image|class9/3\.png: is no") as caught:
        list(samples)
    assert "--skip-damaged" in caught.value.hint
    samples = open_samples(images, IMAGE, skip_damaged=True)
    assert len(list(samples)) == len(samples) == len(list(samples)) == 11 and list(samples.skipped) == ["class9/3.png"]
    for image in images.rglob("*.png"):
        image.write_bytes(b"")
    with pytest.raises(UsageError, match="all 12 are damaged"):
        list(open_samples(images, IMAGE, skip_damaged=True))


@pytest.mark.parametrize(("source", "inputs", "says"), [
    (np.zeros((3, 5), np.float32), IMAGE, r"shape \(5,\).*do not fit"),
    (np.zeros((0, 1, 2, 2), np.float32), IMAGE, "no samples"),
    (np.zeros((), np.float32), IMAGE, "takes samples as source, and was given ndarray"),
    (np.full((1, 1, 2, 2), np.nan, np.float32), IMAGE, "holds NaN"),
    (np.full((1, 1, 2, 2), np.inf, np.float32), IMAGE, "holds infinity"),
    (np.full((1, 1, 2, 2), 1e300), IMAGE, "holds infinity"),
    (np.full((1, 1, 2, 2), 300.0), {"x": TensorType((1, 1, 2, 2), I8)}, "takes int8"),
    (np.full((1, 1, 2, 2), 200, np.uint8), {"x": TensorType((1, 1, 2, 2), I8)},
     r"is given uint8, and takes int8 .*, which does not have 200"),
    (np.full((1, 1, 2, 2), 0.5), {"x": TensorType((1, 1, 2, 2), QuantType(I8, F32, (0.25,), (-3,)))},
     r"is given float64, and takes int8 .*\n  → the model is quantized, .* the stored int8, of a number x round\(x / 0.25\) - 3"),
    (np.full((1, 1, 2, 2), -3, np.int8), {"x": TensorType((1, 1, 2, 2), UI8)}, "is given int8, and takes uint8"),
    (np.full((1, 1, 2, 2), -3, np.int16), {"x": TensorType((1, 1, 2, 2), UI32)}, "is given int16, and takes uint32"),
    (np.full((1, 1, 2, 2), 2**31 + 5, np.uint32), {"x": TensorType((1, 1, 2, 2), I32)}, "is given uint32, and takes int32"),
    (np.full((1, 1, 2, 2), "a"), IMAGE, "takes float32"),
    ([], IMAGE, "no samples"),
    (iter([]), IMAGE, "no samples"),
    ([{"y": 1}], IMAGE, "has no 'x'"),
    ([{"x": [[1], [2, 3]]}], IMAGE, "is no array"),
    ([np.zeros(3)], IMAGE, "of shape"),
    ([(1, 2)], IMAGE, "2 arrays"),
    (3, IMAGE, "takes samples as source, and was given int"),
    (THREE, TWO, "for which input"),
    ({"a": THREE}, TWO, "no samples for 'b'"),
    ({"a": np.zeros((2, 2)), "b": np.zeros((3, 2, 2))}, TWO, "2 for 'a', 3 for 'b'"),
    ({"a": np.zeros((2, 2)), "b": np.zeros((2, 2, 2)), "c": 1}, TWO, "no input 'c'"),
    (THREE, {"x": TensorType((None, 2), F32)}, "need a shape"),
])
def test_what_does_not_fit(source: Any, inputs: Mapping[str, TensorType], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        list(open_samples(source, inputs))


@pytest.mark.parametrize("element", [I8, UI8, I32, UI32])
@pytest.mark.parametrize("given", [np.int8, np.uint8, np.int64, np.uint64, np.float32, bool])
def test_numbers_that_both_types_have(element: Any, given: Any) -> None:
    """Whatever type they come in."""
    array = np.array([[[[0, 1], [1, 127 if given is not bool else 1]]]], given)
    (sample,) = open_samples([array], {"x": TensorType((1, 1, 2, 2), element)})
    assert sample["x"].dtype == dtype_of(element) and (sample["x"] == array).all()


@pytest.mark.parametrize("name", ["b.tif", "b.TIFF", "b.gif", "class9/b.ico", "b.tga", "b.heic"])
def test_images_that_are_not_read_are_not_passed_over(images: Path, name: str) -> None:
    """A folder of which a part is left out without a word is another set of samples."""
    (images / name).write_bytes(b"II*\0")
    with pytest.raises(ReadError, match=r"is no image of those that are read \(\.jpg .*\.webp\)") as caught:
        list(open_samples(images, IMAGE))
    assert "--skip-damaged" in str(caught.value.hint) and Path(name).name in str(caught.value)
    samples = open_samples(images, IMAGE, skip_damaged=True)
    assert len(list(samples)) == 12 and list(samples.skipped) == [name] and len(samples.names) == 13
    with pytest.raises(ReadError, match="is no image of those that are read"):
        list(open_samples(images / name, IMAGE))


def test_pictures_beside_arrays_are_no_samples(tmp_path: Path) -> None:
    """Of formats that are read they may be what is meant; a plot that is no sample in any way is not."""
    np.save(tmp_path / "a.npy", THREE[1])
    (tmp_path / "plot.svg").write_text("<svg/>")
    assert values(open_samples(tmp_path, IMAGE)) == [4]


@pytest.mark.parametrize("suffix", ["jpe", "jfif", "pbm", "pnm"])
def test_other_names_of_the_formats_that_are_read(suffix: str, tmp_path: Path) -> None:
    kind = "JPEG" if suffix in ("jpe", "jfif") else "PPM"
    pytest.importorskip("PIL.Image").new("1" if suffix == "pbm" else "L", (2, 2), 1).save(tmp_path / f"a.{suffix}", kind)
    wanted = 255 if suffix == "pbm" else 1
    assert values(open_samples(tmp_path, IMAGE, preprocess=transload.Preprocess(scale=(1.0,)))) == [wanted]


def test_places_that_hold_no_samples(images: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    np.save(tmp_path / "mixed" / "a.npy", THREE)
    write_image(tmp_path / "mixed" / "a.png", 3)
    (tmp_path / "binary").write_bytes(b"\0\1\2\xff")
    (tmp_path / "nothing.txt").write_text("# nothing\n")
    (tmp_path / "three.txt").write_text("a.npy,b.npy,c.npy\n")
    (tmp_path / "gone.txt").write_text("gone.png\n")
    np.savez(tmp_path / "other.npz", c=THREE, d=THREE)
    (tmp_path / "broken.npz").write_bytes(b"PK no archive")
    for name, inputs, says in (
        ("empty", IMAGE, "holds no samples"), ("mixed", IMAGE, "which are the samples"), ("absent", IMAGE, "no such file"),
        ("images", TWO, "for which input is it, of a, b"), ("binary", IMAGE, "no folder of samples"),
        ("nothing.txt", IMAGE, "lists no samples"), ("three.txt", TWO, r"three.txt:1: 3 files, and the model has 2 inputs"),
        ("gone.txt", IMAGE, "no such file"), ("other.npz", TWO, "no array 'a'"), ("broken.npz", IMAGE, "not an .npz"),
    ):
        with pytest.raises(TransloadError, match=says):
            list(open_samples(tmp_path / name, inputs))
    for wrong in ({"count": 0}, {"workers": 0}, {"workers": 1 << 62}):
        with pytest.raises(UsageError, match="1 is the least"):
            open_samples(images, IMAGE, **wrong)  # type: ignore[arg-type]


def test_what_the_model_says_of_its_inputs(examples: Path) -> None:
    module = transload.load(examples / "digits" / "digits_float.onnx")
    samples = open_samples(np.load(examples / "digits" / "test_images.npz")["images"], module, count=5)
    assert len(list(samples)) == 5 and samples.preprocess is None and not samples.images


def test_a_mark_before_a_list_is_no_part_of_a_name(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", THREE[0])
    (tmp_path / "list.txt").write_text("a.npy\n", encoding="utf-8-sig")
    assert values(open_samples(tmp_path / "list.txt", IMAGE)) == [0]


def test_a_line_that_is_no_path(tmp_path: Path) -> None:
    """Told in one line, and not with all its letters."""
    (tmp_path / "list.txt").write_text("x" * 100_000)
    with pytest.raises(ReadError, match="line 1 has more than 32,768 letters") as raised:
        open_samples(tmp_path / "list.txt", IMAGE)
    assert len(str(raised.value)) < 1000


def test_samples_are_looked_at_before_they_are_copied() -> None:
    """What repeats one number took as much memory as it says before its shape was refused."""
    long = np.broadcast_to(np.float32(0), (1 << 44,))
    for source in ([long], [{"x": long}], iter([long]), (each for each in [long]), [(long,)]):
        with pytest.raises(UsageError, match="an array of shape"):
            list(open_samples(source, IMAGE))


def test_files_of_samples_that_do_not_fit_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(5, np.float32))
    monkeypatch.delattr(np.lib.format, "read_array")
    with pytest.raises(UsageError, match="an array of shape"):
        list(open_samples(tmp_path, IMAGE))


def test_what_is_mapped_is_not_copied(tmp_path: Path) -> None:
    """Of a file that is larger than memory, where it is read alone."""
    np.save(tmp_path / "x.npy", THREE)
    for mode in ("r", "c"):
        mapped = np.load(tmp_path / "x.npy", mmap_mode=mode)
        taken = next(iter(open_samples(list(mapped), IMAGE)))["x"]
        assert np.shares_memory(taken, mapped) is (mode == "r")
