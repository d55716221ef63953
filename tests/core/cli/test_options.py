"""Options of samples, images and quantizing: what their texts mean, and that help shows them in groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from transload.cli import options, run
from transload.errors import ReadError, UsageError
from transload.samples.preprocess import Preprocess
from transload.samples.samples import Data


def parsed(*arguments: str, beside: Path | None = None) -> tuple[Preprocess | None, Data | None, dict[str, Any]]:
    found: list[Any] = []

    @click.command(cls=options.OwnCommand)
    @options.quantizing("--quantize", "")
    @options.samples()
    @options.images()
    def command(**given: Any) -> None:
        found.extend([options.take_preprocess(given, beside), options.take_data(given), options.take_quantizer(given)])
        assert list(given) == ["quantize", "page"]

    command.main(list(arguments), standalone_mode=False)
    return found[0], found[1], found[2]


def commands() -> Iterator[tuple[click.Command, str]]:
    """All commands, those within others and of plugins too, with what they are called by."""
    from transload.cli.app import app

    def visited(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, str]]:
        yield command, context.command_path
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from visited(inner, click.Context(inner, parent=context, info_name=name))

    return visited(app, click.Context(app, info_name="transload"))


def test_commands_in_commands_tell_every_detail_too() -> None:
    """`-v` and `-q` stand behind every command of ours, as errors of all of them say."""
    for command, path in commands():
        known = {text for option in command.params for text in option.opts}
        assert {"-v", "--verbose", "-q", "--quiet"} <= known, path


def test_an_option_has_the_same_letter_in_every_command() -> None:
    """But for `--version`, which is the program's of the program, and TOSA's of what is asked of TOSA."""
    letters: dict[str, set[str]] = {}
    for command, _ in commands():
        for option in command.params:
            texts = [*option.opts, *option.secondary_opts] if isinstance(option, click.Option) else []
            for text in texts:
                if text.startswith("--") and text != "--version":
                    letters.setdefault(text, set()).add(" ".join(each for each in texts if not each.startswith("--")))
    assert {text: found for text, found in letters.items() if len(found) > 1} == {} and letters["--input"] == {"-i"}


def test_nothing_said() -> None:
    assert parsed() == (None, None, {})


def test_images() -> None:
    preprocess, _, _ = parsed(
        "--resize", "256x320", "--crop", "224,224", "--mean", "1,2,3", "--scale", "0.5", "--keep-aspect-ratio",
        "--pad-value", "9", "--pad-type", "normal", "--pixel-format", "bgr", "--channel-format", "nchw",
        "--keep-ratio-mode", "letterbox")
    assert preprocess == Preprocess(
        (256, 320), True, "letterbox", 9, "normal", (224, 224), (1.0, 2.0, 3.0), (0.5,), "bgr", "nchw")
    assert parsed("--keep-aspect-ratio", "--keep-ratio-mode", "short_side_scale")[0] == Preprocess(
        keep_aspect_ratio=True, keep_ratio_mode="short_side_scale")


def test_what_is_said_goes_over_the_file(tmp_path: Path) -> None:
    file = Preprocess(mean=(1.0,), scale=(2.0,)).write(tmp_path / "preprocess.toml")
    assert parsed("--preprocess", str(file), "--mean", "5")[0] == Preprocess(mean=(5.0,), scale=(2.0,))
    for beside in (tmp_path, tmp_path / "model.tosa"):
        assert parsed(beside=beside)[0] == Preprocess(mean=(1.0,), scale=(2.0,))
    assert parsed(beside=tmp_path / "elsewhere" / "model.tosa")[0] is None
    (tmp_path / "two").mkdir()
    each = Preprocess(scale=(2.0,), keep_aspect_ratio=True, pad_value=5)
    Preprocess(inputs=dict.fromkeys("ab", each)).write(tmp_path / "two" / "preprocess.toml")
    over = parsed("--scale", "3", beside=tmp_path / "two")[0]
    assert [(over.of(name).scale, over.of(name).pad_value) for name in "ab"] == [((3.0,), 5)] * 2
    with pytest.raises(ReadError, match="no such file"):
        parsed("--preprocess", str(tmp_path / "absent.toml"))


def test_how_images_keep_their_shape_is_said_over_the_file(tmp_path: Path) -> None:
    """Of several inputs where one takes it, and with the file's padding gone where nothing is padded any more."""
    padded, cut, stretched = Preprocess(keep_aspect_ratio=True, pad_value=5), Preprocess(
        keep_aspect_ratio=True, keep_ratio_mode="short_side_scale"), Preprocess()
    file = str(padded.write(tmp_path / "preprocess.toml"))
    assert parsed("--preprocess", file, "--keep-ratio-mode", "short_side_scale")[0] == cut
    (tmp_path / "several").mkdir()
    several = str(Preprocess(inputs={"a": padded, "b": cut, "c": stretched}).write(tmp_path / "several" / "preprocess.toml"))
    over = parsed("--preprocess", several, "--pad-value", "7")[0]
    assert [over.of(name) for name in "abc"] == [replace(padded, pad_value=7), cut, stretched]
    cuts = "--keep-ratio-mode", "short_side_scale"
    for given in (("--keep-aspect-ratio", *cuts), ("--preprocess", file, *cuts)):
        with pytest.raises(UsageError, match="--pad-value is for images that are padded"):
            parsed(*given, "--pad-value", "7")
    with pytest.raises(UsageError, match="--pad-value is for images that keep their shape"):
        parsed("--pad-value", "7")


def test_samples(tmp_path: Path) -> None:
    (tmp_path / "a=b").mkdir()
    assert parsed("--data", str(tmp_path), "-n", "3", "--skip-damaged", "--workers", "2")[1] == Data(str(tmp_path), 3, True, 2)
    assert parsed("--data", str(tmp_path / "a=b"))[1] == Data(str(tmp_path / "a=b"))
    assert parsed("--data", "x=left", "--data", "y=right")[1] == Data({"x": "left", "y": "right"})
    assert parsed("--data", "python:a.b:c=d")[1] == Data("python:a.b:c=d")
    with pytest.raises(UsageError, match="for which input"):
        parsed("--data", "x=left", "--data", "right")


def test_quantizing() -> None:
    said = parsed("--quantize", "int8", "--table", "t", "--method", "kl", "--quant-input", "--quant-output", "a,b",
                  "--quantizer-option", "bits=4")[2]
    assert said == {"calibration": Path("t"), "method": "kl", "quant_input": "all", "quant_output": "a,b", "bits": "4"}


@pytest.mark.parametrize("arguments", [
    ["--resize", "256"], ["--resize", "axb"], ["--mean", "a"], ["--pad-value", "256"], ["--pixel-format", "yuv"], ["-n", "-1"],
])
def test_what_does_not_read(arguments: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parsed(*arguments)


@pytest.mark.parametrize("arguments", [["--resize", "0x4"], ["--mean", "1,2"], ["--scale", "nan"]])
def test_what_cannot_be(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match="preprocessing"):
        parsed(*arguments)


def test_help_shows_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "--help"]) == 0
    out = capsys.readouterr().out
    places = [out.index(f"\n{heading}:") for heading in ("Options", "Quantizing", "Samples", "Images, as the inputs want them")]
    assert places == sorted(places) and out.index("--resize") > places[3] and places[2] < out.index("--data") < places[3]
