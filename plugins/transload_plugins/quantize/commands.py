"""The commands of the quantizer: `transload calibrate`, `transload quantize`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transload.cli import options

if TYPE_CHECKING:
    from transload.ir import Module
    from transload.samples.preprocess import Preprocess
    from transload.samples.samples import Samples

__all__ = ["calibrate", "opened", "quantize"]


@click.command(cls=options.OwnCommand, context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@options.model()
@click.option("--out", "-o", type=options.OUT, default=Path("model.table"), help="The table to write.")
@click.option(
    "--method", metavar="NAME", default="mse", shell_complete=options.names_of("calibrators"),
    help="How ranges are chosen: mse, minmax, kl, ...")
@click.option(
    "--histogram-bin-num", "bins", metavar="N", type=int, help="The bins that methods kl and entropy look at; 2048 without it.")
@click.option(
    "--tune-num", "tune", metavar="N", type=int, help="Try the ranges of method auto on so many samples; on up to 8 without it.")
@click.option(
    "--tune-list", metavar="PATH", help="Try the ranges of method auto on other samples, given as --data gives some.")
@click.option(
    "--resume", metavar="FILE", type=options.OUT, help="Save the state here as it goes, and go on from it after a kill.")
@click.option("--plot", metavar="FILE", type=options.SVG, help="Write a picture of all histograms and ranges, an SVG file.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask's scheduler, whose workers run the model: tcp://host:8786.")
@options.shapes()
@options.format()
@options.function()
@options.weights()
@options.outputs()
@options.samples(needed=True)
@options.images()
def calibrate(
    model: Path, out: Path, method: str, bins: int | None, tune: int | None, tune_list: str | None, resume: Path | None,
    plot: Path | None, scheduler: str | None, **given: Any,
) -> int:
    """Measure the ranges of a model's tensors.

    On samples, of each tensor of a float model; the table is written.
    """
    from transload import api
    from transload.cli.process import note_written
    from transload.cli.show import console, seconds_text, sized
    from transload.cli.waiting import going_through
    from transload.errors import UsageError
    from transload.guard import GuardedObject
    from transload.plugin_host import host
    from transload.samples.samples import Data

    from .calibration import need_room

    module, samples, preprocess = _opened(model, given)
    assert samples is not None, "--data is required"
    need_room(out)  # before it takes long
    others = Data(tune_list, tune).open(module, preprocess) if tune_list is not None else None
    with going_through(samples) as clock:
        own = {"resume": resume, "scheduler": scheduler, "bins": bins, "tune": tune, "tune_samples": others}
        table = api.calibrate(module, samples, method, **{name: value for name, value in own.items() if value is not None})
    if plot is not None and not hasattr(table, "plot"):
        raise UsageError(f"what method {method!r} measures cannot be drawn", hint="leave out --plot")
    owner = host().owner("calibrators", method)
    made = table if owner is None or owner.is_ours else GuardedObject(
        table, owner, f"what calibrator {method!r} gave", calls=("save", "plot"))
    made.save(out)
    note_written(out)
    if plot is not None:
        made.plot(plot)
    left = f", {len(samples.skipped)} damaged left out" if samples.skipped else ""
    told = f"measured{left}"  # a method of another plugin's may give something of its own
    if hasattr(table, "ranges"):
        told = f"{sized(len(table.ranges), 'range')} from {sized(table.samples, 'sample')}{left}"
    console().print(f"{told} by {method} in {seconds_text(clock.seconds)}", markup=False)
    _say(samples, f"written to {out}")
    return 0


@click.command(cls=options.OwnCommand, context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@options.model()
@click.option("--out", "-o", type=options.OUT, default=Path("quantized.mlir"), help="The module to write, as MLIR text.")
@options.shapes()
@options.format()
@options.function()
@options.weights()
@options.outputs()
@options.quantizing("--scheme", "The quantizer.", default="int8")
@options.grouped("Quantizing")(
    "--save-layers", metavar="FILE", type=options.OUT, help="Write, for --layers, what is not held in 8 bits.")
@options.grouped("Quantizing")(
    "--resume", metavar="FILE", type=options.OUT,
    help="Save here what --effort best found, and learning, as it goes, and go on from it after a kill.")
@options.samples()
@options.images()
def quantize(
    model: Path, out: Path, quantize: str, page: Path | None, save_layers: Path | None, resume: Path | None, **given: Any,
) -> int:
    """Make integers of a float model.

    It is written as a module of the hub.
    """
    from transload.api import at_hub, save
    from transload.cli.process import note_written
    from transload.cli.quantized import all_rows, need_page, save_page, show_layers
    from transload.cli.show import console, seconds_text, table
    from transload.cli.waiting import going_through
    from transload.file_formats import writer_for
    from transload.quantization import Quantization
    from transload.read_again import command
    from transload.roles import hub

    from . import layers

    need_page(page, quantize, given.get("data"))
    writer_for(out, (hub().name,))  # refuses what it cannot be written to before, not after
    settings = {**options.take_quantizer(given), **({} if resume is None else {"resume": resume})}
    module, samples = opened(model, given)
    with going_through(samples) as clock:
        quantization = Quantization(quantize, settings, samples)
        made = quantization(at_hub(module, quantizing=True))
    save(made, out)
    note_written(out)
    report = quantization.report()
    if save_layers is not None:
        layers.save_layers(save_layers, report.details.get("layers", {}))
    save_page(report, page, str(model))
    console().print(f"{model} quantized by {quantize} in {seconds_text(clock.seconds)}", markup=False)
    console().print(table(("", ""), all_rows(report)))
    following = [command("convert", out, more=("--target", "NAME"), asked=False)]
    if module.cut is None:  # eval scores whole models
        following.append(command("eval", model, out, reading=module.reading, more=("--data", "SAMPLES", "--metric", "sqnr"),
                                 without=options.OF_SAMPLES))
    show_layers(report, page, ", ".join(f"`{line}`" for line in following))
    _say(samples, f"written to {out}")
    return 0


def opened(model: Path, given: dict[str, Any]) -> tuple[Module, Samples | None]:
    """The model, and the samples for it where there are some."""
    module, samples, _ = _opened(model, given)
    return module, samples


def _opened(model: Path, given: dict[str, Any]) -> tuple[Module, Samples | None, Preprocess | None]:
    """The model, the samples for it where there are some, and what becomes of images."""
    from transload.api import at_hub, load
    from transload.cli.arguments import parse_given
    from transload.cli.show import show_note
    from transload.input_shapes import static_inputs
    from transload.open_sizes import open_inputs, tried
    from transload.sizes_of_data import sizes_from

    said = options.said_of_images(given)
    preprocess, data = options.take_preprocess(given), options.take_data(given)
    shapes, _ = parse_given(given["shape"], ())
    how = {name: given[name] for name in ("format", "function", "weights", "outputs")}
    with sizes_from(data=data, preprocess=preprocess) as sizes, static_inputs() if data is not None else nullcontext():
        module = load(model, inputs=shapes, **how)
        if open_inputs(module):
            module, _ = tried(lambda: load(model, inputs=shapes, **how), lambda each: at_hub(each, quantizing=True), module)
    for note in sizes.notes:
        show_note(note)
    data = sizes.data
    samples = data.open(module, preprocess) if data is not None else None
    options.need_images(said, samples is not None and bool(samples.images))
    return module, samples, preprocess


def _say(samples: Samples | None, written: str) -> None:
    """What became of images, what was left out, and where the result is."""
    from transload.cli.show import console, show_note

    for image in samples.images.values() if samples is not None else ():
        show_note(f"images are made {image}")
    for name, why in samples.skipped.items() if samples is not None else ():
        show_note(f"left out {name}: {why}")
    console().print(written, markup=False)
