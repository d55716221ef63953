"""The commands `npz` and `gen-input`, and sizes by names: `--dim` and `--batch`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("onnx")
from onnx import TensorProto, helper

import transload
from transload.errors import UsageError
from transload.input_shapes import sizes_given

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def open_model(tmp_path: Path) -> Path:
    """A model of two inputs [n, words], whose sizes the file only names."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "words"]) for name in ("a", "b", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"])], "g", info[:2], info[2:])
    file = tmp_path / "open.onnx"
    file.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString())
    return file


def test_sizes_are_given_by_the_names_that_the_file_has(cli: Cli, open_model: Path, tmp_path: Path) -> None:
    code, said, _ = cli("gen-input", open_model, "-o", tmp_path / "in.npz", "--dim", "words=5", "--batch", 3, "--range", "a=2:3")
    assert code == 0 and "a 3x5 float32; b 3x5 float32" in " ".join(said.split())
    arrays = np.load(tmp_path / "in.npz")
    assert arrays["a"].shape == (3, 5) and arrays["a"].min() >= 2 and arrays["a"].max() <= 3 and arrays["b"].min() < 0
    with sizes_given({"words": 4, "n": 2}):
        assert list(transload.load(open_model).inputs["b"].static_shape) == [2, 4]
    code, _, error = cli("gen-input", open_model, "-o", tmp_path / "x.npz", "--dim", "wrods=5")
    assert code == 2 and "did you mean 'words'?" in error
    code, _, error = cli("gen-input", open_model, "-o", tmp_path / "x.npz", "--dim", "words=-1")
    assert code == 2 and "says no size" in error
    with pytest.raises(UsageError, match="whole number from 1 on"), sizes_given(batch=0):
        pass


@pytest.mark.parametrize(("asked", "said"), [
    (["--dim", "words=9999999999999999999999"], "of 18 digits at most"),
    (["--dim", "words=68719476737"], "elements are the limit"),
    (["--batch", "9999999999999999999999"], "elements are the limit"),
    (["--dim", "words=2", "--dim", "words=3"], "says two sizes of 'words': 2 and 3"),
    (["--dim", "words=2", "--dim", "n=2", "--batch", "3"], "no input leaves the size of its batch open, so it cannot be 3"),
    (["--shape", "a:5x2", "--batch", "3"], "no input leaves the size of its batch open")])
def test_sizes_that_contradict_each_other_or_cannot_be(
    cli: Cli, open_model: Path, tmp_path: Path, asked: list[str], said: str,
) -> None:
    """None is left aside in silence: the last one said, or that of a batch which nothing leaves open."""
    code, _, error = cli("gen-input", open_model, "-o", tmp_path / "x.npz", *asked)
    assert code == 2 and said in error
    assert cli("gen-input", open_model, "-o", tmp_path / "x.npz", "--dim", "words=2", "--dim", "n=3", "--batch", 3)[0] == 0


def test_what_is_made_depends_on_the_seed_and_what_is_given(cli: Cli, open_model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "b.npy", np.ones((1, 2), np.float32))
    made: list[Any] = []
    for seed in (1, 1, 2):
        assert cli("gen-input", open_model, "-o", tmp_path / "in.npz", "--dim", "words=2", "--seed", seed,
                   "--input", f"b={tmp_path / 'b.npy'}")[0] == 0
        made.append(dict(np.load(tmp_path / "in.npz")))
    assert (made[0]["a"] == made[1]["a"]).all() and (made[0]["a"] != made[2]["a"]).any() and (made[0]["b"] == 1).all()
    for text, said in (("a=3:1", "ends before it begins"), ("c=0:1", "for no input"), ("0:1", "does not say for which input"),
                       ("a=x", "is no range")):
        code, _, error = cli("gen-input", open_model, "-o", tmp_path / "in.npz", "--dim", "words=2", "--range", text)
        assert code == 2 and said in error


def test_arrays_are_shown_compared_and_unpacked(cli: Cli, tmp_path: Path) -> None:
    a, b = tmp_path / "a.npz", tmp_path / "b.npz"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.savez(a, x=x, y=np.array([1, 2]))
    np.savez(b, x=x + np.float32(0.5), y=np.array([1, 2]))
    code, said, _ = cli("npz", "dump", a)
    assert code == 0 and "2x3" in said and "int64" in said
    assert "[0. 1. 2.]" in cli("npz", "dump", a, "x")[1]
    assert cli("npz", "compare", a, b, "--tolerance", "0.9,0.8")[0] == 0
    code, said, _ = cli("npz", "compare", a, b, "--tolerance", "0.999,0.9")
    assert code == 1 and "cos and euclid too low" in said
    assert cli("npz", "compare", a, b, "--tolerance", "0.999,0.9", "--excepts", "x")[0] == 0
    np.savez(b, x=x)
    assert cli("npz", "compare", a, b)[0] == 1
    assert cli("npz", "to-dat", a, tmp_path / "x.dat", "x")[0] == 0
    assert (tmp_path / "x.dat").read_bytes() == x.tobytes()
    for wrong, said in (
            (("dump", a, "z"), "holds no array 'z'"), (("to-dat", a, tmp_path / "n.dat"), "which array"),
            (("compare", a, b, "--tolerance", "x"), "is no number"), (("compare", a, b, "--tolerance", "cos=-5"), "cannot be -5"),
            (("compare", a, b, "--tolerance", "0.9,2"), "euclid cannot be 2"), (("dump", tmp_path / "no.npz"), "no")):
        code, _, error = cli("npz", *wrong)
        assert code != 0 and said in error


def test_arrays_that_are_given_are_those_of_the_model(cli: Cli, examples: Path, tmp_path: Path) -> None:
    """They are read, checked and written; a name that there is not, and a range beside a file, are refused."""
    model, out = examples / "digits" / "digits_float.onnx", tmp_path / "in.npz"
    image = np.random.default_rng(0).random((3, 1, 8, 8), np.float32)
    np.savez(tmp_path / "given.npz", image=image)
    for text in (f"{tmp_path / 'given.npz'}", f"image={tmp_path / 'given.npz'}"):
        assert cli("gen-input", model, "-o", out, "--input", text)[0] == 0
        assert (np.load(out)["image"] == image).all()
    np.savez(tmp_path / "other.npz", imgae=image)
    np.savez(tmp_path / "wrong.npz", image=image[:, :, :4])
    for asked, said in (
        (["--input", tmp_path / "other.npz"], "has no input 'imgae'"), (["--input", tmp_path / "wrong.npz"], "8"),
        (["--input", tmp_path / "given.npz", "--range", "0:1"], "is given a file and a --range"),
    ):
        code, _, error = cli("gen-input", model, "-o", out, *asked)
        assert code == 2 and said in error


@pytest.mark.parametrize(("name", "range", "said"), [
    ("digits_float.onnx", "nan:1", "leaves the numbers of float32"),
    ("digits_float.onnx", "0:inf", "leaves the numbers of float32"),
    ("digits_float.onnx", "-3e38:3e38", None), ("digits_int8.tflite", "0:300", "leaves the numbers of int8"),
    ("digits_int8.tflite", "0.2:0.8", "no whole number in it"), ("digits_int8.tflite", "-128:127", None)])
def test_a_range_that_an_input_does_not_have(
    cli: Cli, examples: Path, tmp_path: Path, name: str, range: str, said: str | None,
) -> None:
    """Numbers out of it would wrap, and of infinite ones numpy draws none."""
    code, _, error = cli("gen-input", examples / "digits" / name, "-o", tmp_path / "x.npz", "--range", range)
    assert (code, said in error) == (2, True) if said is not None else code == 0


def test_what_comparing_would_leave_out_in_silence(cli: Cli, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.ones(3), y=np.ones(3))
    np.savez(tmp_path / "b.npz", x=np.ones(3), y=np.ones(3), z=np.ones(3))
    a, b = tmp_path / "a.npz", tmp_path / "b.npz"
    code, out, _ = cli("npz", "compare", a, b)
    assert code == 0 and "alone" in out
    code, _, error = cli("npz", "compare", a, b, "--excepts", "q")
    assert code == 2 and "is called 'q'" in error
    code, _, error = cli("npz", "compare", a, b, "--tolerance", "1,1,1")
    assert code == 2 and "has 3 numbers" in error
    assert cli("npz", "compare", a, b, "--excepts", "z,y")[0] == 0
    code, _, error = cli("npz", "compare", a, b, "--excepts", "x,y", "--tolerance", "0.9,0.9")
    assert code == 2 and "nothing is left to compare" in error


def test_arrays_of_what_numpy_does_not_know(cli: Cli, tmp_path: Path) -> None:
    """bfloat16, as `run -o` writes it, is told as numbers; what no file says the type of is compared by its bytes."""
    given = {
        "half": np.arange(5).astype(ml_dtypes.bfloat16), "tiny": np.frombuffer(b"abcde", "V1"),
        "text": np.array(["a"])}
    a, b = tmp_path / "a.npz", tmp_path / "b.npz"
    np.savez(a, **given)
    np.savez(b, **{**given, "tiny": given["tiny"][::-1]})
    code, said, _ = cli("npz", "dump", a)
    assert code == 0 and re.search(r"half\s+5\s+bfloat16\s+0\s+4\s+2\n", said)
    assert "[0 1 2 3 4]" in cli("npz", "dump", a, "half")[1]
    code, said, _ = cli("npz", "compare", a, a)
    assert code == 0 and len(re.findall("is no array of numbers, and the same", said)) == 2
    code, said, _ = cli("npz", "compare", a, b)
    assert code == 1 and re.search(r"tiny\s+is no array of numbers, and differs", said)


def test_arrays_of_other_shapes_are_not_the_same(cli: Cli, tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32)
    a, b = tmp_path / "a.npz", tmp_path / "b.npz"
    np.savez(a, x=x.reshape(2, 3))
    for shape, ends in (((3, 2), 1), ((6,), 1), ((1, 2, 3, 1), 0)):
        np.savez(b, x=x.reshape(shape))
        code, said, _ = cli("npz", "compare", a, b)
        assert code == ends and ("is of shape" in said) == bool(ends)


def test_whole_numbers_that_floats_do_not_hold_and_nan(cli: Cli, tmp_path: Path) -> None:
    a, b = tmp_path / "a.npz", tmp_path / "b.npz"
    np.savez(a, i=np.array([2**53 + 1, -2**63]), f=np.array([1.0, np.nan]))
    np.savez(b, i=np.array([2**53, -2**63]), f=np.array([np.nan, np.nan]))
    said = cli("npz", "compare", a, b)[1]
    assert re.search(r"i\s+1\s+1\s+1\s*\n", said) and "one has NaN where the other has a number" in said
    np.savez(a, i=np.array([2**63 - 1]))
    np.savez(b, i=np.array([-2**63]))
    assert "1.84467e+19" in cli("npz", "compare", a, b)[1]


def test_a_file_of_one_array_is_written_as_one(cli: Cli, open_model: Path, tmp_path: Path) -> None:
    """`.npy` holds the one array that there is, whoever writes it; of several it is refused, and nothing is written."""
    sizes, single = ["--dim", "words=2", "--dim", "n=3"], tmp_path / "g.npy"
    assert cli("run", open_model, *sizes, "-o", single)[0] == 0
    assert np.load(single).shape == (3, 2)
    single.unlink()
    code, _, error = cli("gen-input", open_model, *sizes, "-o", single)
    assert code == 2 and "there are 2 (a, b)" in error and "g.npz holds any number" in error and not single.exists()
    assert cli("extract", open_model, *sizes, "--outputs", "a", "-o", tmp_path / "one.mlir")[0] == 0
    assert cli("gen-input", tmp_path / "one.mlir", "-o", single)[0] == 0
    assert np.load(single).shape == (3, 2)
    assert cli("run", tmp_path / "one.mlir", "-i", single, "-o", tmp_path / "again.NPY")[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "again.NPY"), np.load(single))
