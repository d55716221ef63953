"""What a command reads stays as it was, whatever the command is told to write, and by whatever name."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest

import transload
from transload.cli.app import app
from transload.cli.options import OUT
from transload.errors import UsageError

onnx = pytest.importorskip("onnx")
Cli = Callable[..., tuple[int, str, str]]
QUANTIZED = ["--verify=no", "--quantize", "int8", "--effort", "fast", "--data", "s.npy"]


@pytest.fixture
def place(tmp_path: Path, examples: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a model, the same by a link and a hard link, an input, samples and a list of them."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(examples / "digits" / "digits_float.onnx", "m.onnx")
    Path("link.onnx").symlink_to("m.onnx")
    os.link("m.onnx", "hard.onnx")
    images = np.random.default_rng(0).random((4, 1, 8, 8), np.float32)
    np.savez("in.npz", image=images[:1])
    np.save("s.npy", images)
    np.save("one.npy", images[0])
    Path("list.txt").write_text("one.npy\n")
    np.savez("arrays.npz", image=images)
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir() if file.is_file()}


@pytest.mark.parametrize("line", [
    ["run", "m.onnx", "-o", "m.onnx"], ["run", "m.onnx", "-o", "./sub/../m.onnx"], ["run", "m.onnx", "-o", "link.onnx"],
    ["run", "m.onnx", "-o", "hard.onnx"], ["run", "link.onnx", "-o", "m.onnx"],
    ["run", "m.onnx", "-i", "in.npz", "-o", "in.npz"], ["run", "m.onnx", "-i", "image=in.npz", "-o", "in.npz"],
    ["gen-input", "m.onnx", "-o", "m.onnx"], ["gen-input", "m.onnx", "-i", "in.npz", "-o", "in.npz"],
    ["extract", "m.onnx", "--outputs", "logits", "-o", "m.onnx"], ["npz", "to-dat", "arrays.npz", "arrays.npz", "image"],
    ["calibrate", "m.onnx", "--data", "s.npy", "-o", "m.onnx"], ["calibrate", "m.onnx", "--data", "s.npy", "-o", "s.npy"],
    ["calibrate", "m.onnx", "--data", "image=s.npy", "-o", "s.npy"],
    ["calibrate", "m.onnx", "--data", "list.txt", "-o", "list.txt"],
    ["calibrate", "m.onnx", "--data", "list.txt", "--method", "minmax", "-o", "one.npy"],
    ["calibrate", "m.onnx", "--data", "s.npy", "--plot", "m.onnx"],
    ["calibrate", "m.onnx", "--data", "s.npy", "--resume", "s.npy"],
    ["quantize", "m.onnx", "--data", "s.npy", "--report", "m.onnx"],
    ["quantize", "m.onnx", "--data", "s.npy", "--save-layers", "s.npy"],
    ["search", "m.onnx", "--data", "s.npy", "--min-cos", "0.9", "--curve", "m.onnx"], ["view", "m.onnx", "--html", "m.onnx"],
    ["explore", "m.onnx", "--sweep", "banks=2,4", "--table", "m.onnx"],
    ["eval", "m.onnx", "--data", "s.npy", "--resume", "m.onnx"],
    ["convert", "m.onnx", "-o", "o", "--verify=no", "--trace-rewrites", "m.onnx"],
    ["convert", "m.onnx", "-o", "o", *QUANTIZED, "--report", "m.onnx"],
    ["convert", "m.onnx", "-o", "o", *QUANTIZED, "--report", "s.npy"]
], ids=" ".join)
def test_no_output_takes_the_place_of_an_input(cli: Cli, place: Path, line: list[str]) -> None:
    before = contents(place)
    code, _, error = cli(*line)
    assert code == 2 and "would replace" in error and " is read here" in error
    assert contents(place) == before


@pytest.mark.parametrize("line", [
    ["calibrate", "m.onnx", "--data", "s.npy", "--plot", "z", "-o", "z"],
    ["calibrate", "m.onnx", "--data", "s.npy", "--plot", "z.svg", "-o", "./z.svg"],
    ["convert", "m.onnx", "-o", "o", *QUANTIZED, "--report", "z", "--trace-rewrites", "z"],
    ["quantize", "m.onnx", "--data", "s.npy", "-o", "q.mlir", "--save-layers", "z", "--report", "z"]], ids=" ".join)
def test_two_outputs_are_two_files(cli: Cli, place: Path, line: list[str]) -> None:
    before = contents(place)
    code, _, error = cli(*line)
    assert code == 2 and "are one file" in error and contents(place) == before


@pytest.mark.parametrize("line", [
    ["calibrate", "m.onnx", "--data", "s.npy", "--plot", "a.png"], ["calibrate", "m.onnx", "--data", "s.npy", "--plot", "a.npz"],
    ["explore", "m.onnx", "--sweep", "banks=2,4", "--plot", "a.PDF"],
    ["search", "m.onnx", "--data", "s.npy", "--min-cos", "0.9", "--curve", "a.png"]], ids=" ".join)
def test_a_picture_is_not_written_under_the_suffix_of_another_file(cli: Cli, place: Path, line: list[str]) -> None:
    before = contents(place)
    code, _, error = cli(*line)
    assert code == 2 and "is to be an SVG picture" in error and "name it a.svg" in error and contents(place) == before


def test_outputs_do_not_take_the_place_of_artifacts_that_were_just_written(cli: Cli, place: Path) -> None:
    for option in ("--report", "--trace-rewrites"):
        code, _, error = cli("convert", "m.onnx", "-o", "o", *QUANTIZED, option, "o/report.json")
        assert code == 2 and "o/report.json would replace a file that has just been written" in error
        assert (place / "o" / "report.json").read_text().startswith("{")
    assert cli("convert", "m.onnx", "-o", "o", *QUANTIZED, "--report", "o/page.html")[0] == 0
    assert cli("convert", "m.onnx", "-o", "o", *QUANTIZED, "--report", "o/page.html")[0] == 0  # the page of last time may go


def test_histograms_beside_a_table_replace_nothing_else(cli: Cli, place: Path) -> None:
    """They are written to the table's name and `.npz`, and those of an earlier table there go."""
    shutil.copy("arrays.npz", "other.npz")
    code, _, error = cli("calibrate", "m.onnx", "--method", "kl", "--data", "arrays.npz", "-o", "arrays")
    assert code == 2 and ".npz would replace a file that" in error
    assert np.load("arrays.npz")["image"].shape == (4, 1, 8, 8)
    module = transload.load("m.onnx")
    table = transload.calibrate(module, transload.open_samples("s.npy", module), "minmax")
    replace(table, histograms={}).save("other")
    assert np.load("other.npz")["image"].shape == (4, 1, 8, 8)  # of no table


def test_external_weights_are_kept(cli: Cli, place: Path) -> None:
    proto = onnx.load("m.onnx")
    onnx.save_model(proto, "e.onnx", save_as_external_data=True, location="e.data", size_threshold=0)
    before = contents(place)
    code, _, error = cli("extract", "e.onnx", "--outputs", "logits", "-o", "e.data.mlir")
    assert code == 0, error
    code, _, error = cli("run", "e.onnx", "-o", "e.data")
    assert code == 2 and "e.data would replace a file that is read here" in error
    assert {name: each for name, each in contents(place).items() if name != "e.data.mlir"} == before


def test_a_conversion_keeps_the_model_that_lies_where_it_writes(cli: Cli, place: Path) -> None:
    """What an earlier conversion wrote goes, and may be what this one reads."""
    assert cli("convert", "m.onnx", "-o", "o", "-t", "tosa", "--verify=no", "--dump", "steps")[0] == 0
    for target in ("tosa", "tflite"):
        before = contents(place / "o")
        code, _, error = cli("convert", "o/m.tosa", "-o", "o", "-t", target, "--verify=no")
        assert code == 2 and "o/m.tosa would replace a file that is read here" in error and contents(place / "o") == before
        with pytest.raises(UsageError, match=r"m\.tosa would replace"):
            transload.convert("o/m.tosa", target, "o", verify=False)
        assert contents(place / "o") == before
    before = contents(place / "steps")
    code, _, error = cli("convert", "steps/01-read.mlir", "-o", "p", "--dump", "steps", "--verify=no")
    assert code == 2 and "steps/01-read.mlir would replace a file that is read here" in error
    assert contents(place / "steps") == before
    assert cli("convert", "m.onnx", "-o", "p", "--dump", "steps", "--from", "hub", "--verify=no")[0] == 0


def test_what_is_saved_to_go_on_from_is_written_again(cli: Cli, place: Path) -> None:
    line = ["eval", "m.onnx", "m.onnx", "--data", "s.npy", "--metric", "cos", "--resume", "state"]
    assert [cli(*line)[0] for _ in range(2)] == [0, 0]


def test_a_calibration_that_was_ended_goes_on_and_saves_again(cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ["calibrate", "m.onnx", "--data", "s.npy", "-o", "z", "--resume", "state"]
    with monkeypatch.context() as ended:
        ended.setattr("transload_plugins.quantize.measure.SAVED_EVERY", 3)
        ended.setattr("transload_plugins.quantize.state.State.finish", lambda state, count: None)
        assert cli(*line)[0] == 0 and Path("state").exists()
    monkeypatch.setattr("transload_plugins.quantize.measure.SAVED_EVERY", 1)
    code, _, error = cli(*line)
    assert code == 0, error
    assert not Path("state").exists()


def test_the_folder_above_a_link_is_that_above_where_it_leads(cli: Cli, place: Path) -> None:
    Path("far/near").mkdir(parents=True)
    Path("here").symlink_to("far/near")
    for file in ("list.txt", "one.npy"):
        shutil.copy(file, f"far/{file}")
    before = contents(place / "far")
    line = ["calibrate", "m.onnx", "--data", "here/../list.txt", "--method", "minmax", "-o"]
    code, _, error = cli(*line, "far/one.npy")
    assert code == 2 and " is read here" in error and contents(place / "far") == before
    assert cli(*line, "one.npy")[0] == 0  # another file


def test_words_that_name_no_file_are_none(cli: Cli, place: Path) -> None:
    """An array of an archive, or a target, may be called as the file that is written again."""
    for _ in range(2):
        assert cli("npz", "to-dat", "arrays.npz", "image", "image")[0] == 0
        assert cli("convert", "m.onnx", "-o", "o", "-t", "tosa", "--verify=no", "--trace-rewrites", "tosa")[0] == 0


def test_scripts_may_write_a_file_back(place: Path) -> None:
    module = transload.load("m.onnx")
    transload.save(module, "m.mlir")
    transload.save(transload.load("m.mlir"), "m.mlir")
    assert transload.load("m.mlir").inputs == module.inputs


def test_every_option_that_names_what_is_written_says_so() -> None:
    """By the words that help has of them: a new one is refused where it names an input, as the others are."""
    def of(command: click.Command, name: str) -> list[tuple[str, click.Parameter]]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            return [each for inner in command.list_commands(context)
                    if (found := command.get_command(context, inner)) is not None for each in of(found, f"{name} {inner}")]
        return [(name, each) for each in command.params]

    told = [(name, each) for name, each in of(app, "") if isinstance(each, click.Option) and (
        {"--out", "--resume"} & {*each.opts} or (each.help or "").startswith(("Write ", "Save ")))]
    assert len(told) > 15
    folders = {("convert", "--out"), ("convert", "--dump"), ("new-plugin", "--out")}
    wrong = [f"{name.strip()} {each.opts[0]}" for name, each in told
             if not {type(OUT).__name__, "_WrittenOrPrinted"} & {kind.__name__ for kind in type(each.type).__mro__}
             and (name.strip(), each.opts[0]) not in folders]
    assert not wrong


@pytest.mark.parametrize("opened", ["o", "o/m.tosa", "o/report.json"])
@pytest.mark.parametrize("written", ["report.json", "m.tosa"])
@pytest.mark.parametrize("line", [["run", "-o"], ["view", "--html"]], ids=str)
def test_what_a_conversion_is_opened_by_stays(line: list[str], written: str, opened: str, place: Path, cli: Cli) -> None:
    """Its report was replaced, and then the folder opened nowhere."""
    assert cli("convert", "m.onnx", "-o", "o", "-t", "tosa", "--verify=no")[0] == 0
    before = contents(place / "o")
    code, _, said = cli(line[0], opened, line[1], f"o/{written}")
    assert code == 2 and "would replace" in said
    assert contents(place / "o") == before


def test_a_conversion_may_be_made_again_beside_what_others_read(place: Path, cli: Cli) -> None:
    for _ in range(2):
        assert cli("convert", "m.onnx", "-o", "o", "-t", "tosa", "--verify=no")[0] == 0
    assert cli("run", "o", "-o", "o/made.npz")[0] == 0
