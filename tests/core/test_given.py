"""What a model is given: shapes and data, said in one way to every command, as arrays, files or images."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest

import transload
from transload.cli.app import app
from transload.errors import ReadError, UsageError
from transload.given import open_file, open_given, settled
from transload.plugin_host import host

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def digits(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Path]:
    """Three images for the model, which leaves their number open, in each kind of file."""
    images = np.random.default_rng(1).random((3, 1, 8, 8), np.float32)
    np.save(tmp_path / "x.npy", images)
    np.savez(tmp_path / "all.npz", image=images)
    np.savez(tmp_path / "one.npz", other=images)
    return {name: tmp_path / name for name in ("x.npy", "all.npz", "one.npz")}


@pytest.mark.parametrize("said", ["image={x.npy}", "{x.npy}", "{all.npz}", "image={all.npz}", "image={one.npz}"])
def test_data_is_said_alike_everywhere(cli: Cli, digits: Path, data: dict[str, Path], tmp_path: Path, said: str) -> None:
    """And the open sizes are those of the data."""
    text = re.sub(r"\{(.*)\}", lambda found: str(data[found[1]]), said)
    code, out, err = cli("convert", digits, "-o", tmp_path / "out", "--input", text)
    assert code == 0 and "tensor<3x1x8x8xf32>" in out and "note" not in err, err
    for arguments in (
        ["inspect", digits], ["run", digits], ["run", tmp_path / "out" / "digits_float.tosa"],
        ["compare", digits, tmp_path / "out" / "digits_float.tosa"],
    ):
        code, out, err = cli(*arguments, "--input", text)
        assert code == 0 and "note" not in err, err
        assert "3x10" in out or "3x1x8x8" in out


def test_an_array_without_a_name_says_sizes_that_only_the_user_knows(cli: Cli, tmp_path: Path) -> None:
    """Those that are no batch, too, without which nothing is read; of two inputs it is asked which is meant."""
    onnx = pytest.importorskip("onnx")
    for names in ("x", "xy"):
        info = [onnx.helper.make_tensor_value_info(name, 1, ["rows", 3]) for name in names]
        nodes = [onnx.helper.make_node("Exp", ["x"], ["e"]), onnx.helper.make_node("Add", ["e", names[-1]], ["z"])]
        out = onnx.helper.make_tensor_value_info("z", 1, None)
        opsets = [onnx.helper.make_opsetid("", 17)]
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", info, [out]), opset_imports=opsets, ir_version=8),
                  tmp_path / f"{names}.onnx")
    array = np.random.default_rng(0).random((5, 3), np.float32)
    np.save(tmp_path / "a.npy", array)
    given, out = {"": tmp_path / "a.npy"}, tmp_path / "out"
    (found,) = transload.run(tmp_path / "x.onnx", given).values()
    np.testing.assert_allclose(found, np.exp(array) + array, rtol=1e-6)
    transload.convert(tmp_path / "x.onnx", "tosa", out, input_data=given, verify=False)
    if host().get("runtimes", "onnxruntime").available() is None:
        assert transload.compare(tmp_path / "x.onnx", out, given).tensors[0].shape == (5, 3)
    assert cli("gen-input", tmp_path / "x.onnx", "-i", tmp_path / "a.npy", "-o", tmp_path / "g.npz")[0] == 0
    code, _, err = cli("run", tmp_path / "xy.onnx", "-i", tmp_path / "a.npy")
    assert code in (2, 3) and ("which input is it for" in err or "no static shape" in err)
    code, _, err = cli("inspect", open_sizes(tmp_path), "-i", tmp_path / "a.npy")
    assert code == 3 and "no static shape" in err and "--input NAME=FILE" in err


def open_sizes(folder: Path) -> Path:
    """A model of two inputs, of which one has two sizes that nobody knows."""
    onnx = pytest.importorskip("onnx")
    info = [onnx.helper.make_tensor_value_info(name, 1, sizes) for name, sizes in (("x", ["n", 3, "m"]), ("y", [3, 1]))]
    out = onnx.helper.make_tensor_value_info("z", 1, None)
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "y"], ["z"])], "g", info, [out])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), folder / "open.onnx")
    return folder / "open.onnx"


def test_shapes_are_said_alike_everywhere(cli: Cli, digits: Path, tmp_path: Path) -> None:
    code, out, err = cli("convert", digits, "-o", tmp_path / "out", "--shape", "image:2x1x8x8")
    assert code == 0 and "tensor<2x1x8x8xf32>" in out, err
    for arguments in (["inspect", digits], ["run", digits], ["compare", digits, tmp_path / "out" / "digits_float.tosa"]):
        code, out, err = cli(*arguments, "--shape", "image:2x1x8x8")
        assert code == 0 and ("2x10" in out or "2x1x8x8" in out), err


def test_older_forms_are_read_with_a_note(cli: Cli, digits: Path, data: dict[str, Path], tmp_path: Path) -> None:
    code, out, err = cli("convert", digits, "-o", tmp_path / "out", "--input", "image:2x1x8x8")
    assert code == 0 and "tensor<2x1x8x8xf32>" in out
    assert "note: --input image:2x1x8x8 gives a shape, which is said as --shape image:2x1x8x8 now" in err
    code, out, err = cli("convert", digits, "-o", tmp_path / "out", "--input-data", data["all.npz"])
    assert code == 0 and "tensor<3x1x8x8xf32>" in out and f"note: --input-data {data['all.npz']} is said as --input" in err


@pytest.mark.parametrize(("arguments", "code", "says"), [
    (["--input", "image={x.npy}", "--input", "{all.npz}"], 2, "data for input 'image' already"),
    (["--input", "picture={x.npy}"], 2, "picture"),
    (["--input", "nosuch.npy"], 3, "no such file"),
    (["--input", "image=nosuch.npy"], 3, "no such file"),
    (["--input", "{text}"], 3, "is no .npy, .npz or image"),
    (["--input", "image={two.npz}"], 3, "holds no array 'image'"),
    (["--shape", "image={x.npy}"], 2, "NAME:SHAPE"),
    (["--input", "{x.npy}", "--shape", "image:2x1x8x8"], 2, "does not fit"),
])
def test_mistakes(
    cli: Cli, digits: Path, data: dict[str, Path], tmp_path: Path, arguments: list[str], code: int, says: str,
) -> None:
    (tmp_path / "text").write_text("no image")
    np.savez(tmp_path / "two.npz", a=np.ones(2), b=np.ones(2))
    data |= {"text": tmp_path / "text", "two.npz": tmp_path / "two.npz"}
    filled = [re.sub(r"\{(.*)\}", lambda found: str(data[found[1]]), each) for each in arguments]
    got, out, err = cli("convert", digits, "-o", tmp_path / "out", *filled)
    assert got == code and says in err, out + err


def image_file(tmp_path: Path, size: tuple[int, int] = (16, 16)) -> Path:
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((size[1], size[0], 3), np.uint8)
    pixels[:, size[0] // 2:] = 255
    image.fromarray(pixels).save(tmp_path / "half.png")
    return tmp_path / "half.png"


@pytest.mark.parametrize(("model", "low", "high"), [("digits_float.onnx", 0.0, 1.0), ("digits_int8.tflite", -128, 127)])
def test_an_image_takes_the_inputs_form(examples: Path, tmp_path: Path, model: str, low: float, high: float) -> None:
    """Its size, its layout and its range: the left half is black, the right white."""
    module = transload.load(examples / "digits" / model)
    notes: list[str] = []
    given = settled(module, open_given({"": image_file(tmp_path)}), tell=notes.append)
    (array,) = given.values()
    assert array.shape == module.body_of_main.arguments[0].type.shape
    pixels = array.reshape(8, 8)
    assert (pixels[:, :3] == low).all() and (pixels[:, 5:] == high).all()
    assert notes[-1].endswith(f"8x8 pixels for input 'image', 0 to 255 as {low:g} to {high:g}")


def test_an_image_on_the_command_line(cli: Cli, digits: Path, tmp_path: Path) -> None:
    path = image_file(tmp_path)
    code, out, err = cli("run", digits, "--input", f"image={path}")
    assert code == 0 and "1x10" in out and f"note: {path} was made 8x8 pixels" in err
    assert cli("convert", digits, "--input", path, "-o", tmp_path / "out")[0] == 0


def test_files_in_the_library(digits: Path, data: dict[str, Path], tmp_path: Path) -> None:
    artifact = transload.convert(digits, "tosa", tmp_path / "out", input_data={"image": data["x.npy"]})
    assert artifact.verified and artifact.report.inputs[0].type == "tensor<3x1x8x8xf32>"
    from_file = transload.run(digits, {"image": str(data["x.npy"])})
    from_array = transload.run(digits, {"image": np.load(data["x.npy"])})
    assert all((from_file[name] == array).all() for name, array in from_array.items())
    assert transload.compare(digits, artifact.files[0], {"image": data["all.npz"]}).worst("cos") > 0.999
    with pytest.raises(ReadError, match="no such file"):
        transload.run(digits, {"image": "nosuch.npy"})


def test_pickles_are_never_read(tmp_path: Path) -> None:
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "none.npy").write_bytes(b"hello")
    for name in ("evil.npy", "none.npy"):
        with pytest.raises(ReadError, match="of a plain array") as error:
            open_given({"x": tmp_path / name})
        assert "allow_pickle" not in str(error.value), "nobody is told to unpickle it"


def open_model(path: Path) -> Path:
    """Two inputs, in whose names a shell would read more, with sizes that nobody knows."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    names = ("it's an image:0", "len gth;$(x)")
    graph = helper.make_graph(
        [helper.make_node("Relu", [names[0]], ["a"]), helper.make_node("Relu", [names[1]], ["b"])], "g",
        [helper.make_tensor_value_info(names[0], TensorProto.FLOAT, [1, 3, "height", "width"]),
         helper.make_tensor_value_info(names[1], TensorProto.FLOAT, ["seq_len", 4])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "ab"])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_the_example_of_shapes_can_be_typed(cli: Cli, tmp_path: Path) -> None:
    path = open_model(tmp_path / "open.onnx")
    code, _, err = cli("convert", path, "-o", tmp_path / "out")
    assert code == 3
    flags = shlex.split(err.partition("for example: ")[2])
    assert flags.count("--shape") == 2
    for command in (["convert", path, "-o", tmp_path / "out"], ["inspect", path], ["run", path]):
        assert cli(*command, *flags)[0] == 0


def test_which_input_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    path = open_model(tmp_path / "open.onnx")
    np.save(tmp_path / "x.npy", np.ones((1, 3, 4, 4), np.float32))
    shapes = ["--shape", "it's an image:0:1x3x4x4", "--shape", "len gth;$(x):2x4"]
    code, _, err = cli("run", path, *shapes, "--input", tmp_path / "x.npy")
    assert code == 2 and "--input NAME=FILE" in err
    with pytest.raises(UsageError, match="which input is it for"):
        transload.run(transload.load(path, inputs={"it's an image:0": (1, 3, 4, 4), "len gth;$(x)": (2, 4)}), {"": np.ones(3)})




def test_modules_are_not_told_of_the_images_that_they_were_given(digits: Path, tmp_path: Path) -> None:
    """Each run added a note to the module, and the next report told of images that it never saw."""
    module = transload.load(digits)
    image = image_file(tmp_path)
    before, told = module.notes, list[str]()
    for _ in range(2):
        transload.run(module, {"image": image}, tell=told.append)
    first = transload.convert(module, "tosa", tmp_path / "out", input_data={"image": image})
    second = transload.convert(module, "tosa", tmp_path / "two")
    fused = transload.convert(module, "tosa", tmp_path / "three", fuse_preprocess=True, verify=False)
    assert module.notes == before
    note = f"{image} was made "
    assert [text.startswith(note) for text in told] == [True, True]
    assert sum(text.startswith(note) for text in first.report.notes) == 1
    assert not any(note in text for text in (*second.report.notes, *fused.report.notes))
    assert len(fused.report.notes) > len(second.report.notes)


def test_a_folder_of_samples_is_for_the_commands_that_have_data(tmp_path: Path) -> None:
    """The hint named --data in commands that do not have it."""
    with pytest.raises(UsageError, match="is a directory, and no array or image") as caught:
        open_file(tmp_path)
    said = (caught.value.hint or "").partition("--data of ")[2]
    commands = {name: app.get_command(click.Context(app), name)
                for name in ("convert", "calibrate", "quantize", "eval", "run", "compare", "gen-input")}
    assert {name.strip() for name in re.split(",| and ", said)} == {
        name for name, command in commands.items()
        if command is not None and any("--data" in each.opts for each in command.params)}
