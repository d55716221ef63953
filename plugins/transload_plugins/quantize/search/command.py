"""The command `transload search`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transload.cli import options

if TYPE_CHECKING:
    from .searching import Found

__all__ = ["search"]

_PROMISE = options.grouped("The promise")
_PROMISED = ("min_cos", "min_sqnr", "max_drop", "metric", "max_float", "max_cycles", "target")


@click.command(cls=options.OwnCommand, context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@options.model()
@click.option("--out", "-o", type=options.OUT, default=Path("mixed.txt"), help="The quantize table to write, for --layers.")
@_PROMISE("--min-cos", type=float, metavar="X", help="The least cosine of the outputs.")
@_PROMISE("--min-sqnr", type=float, metavar="DB", help="The least signal-to-noise ratio of the outputs.")
@_PROMISE("--max-drop", metavar="SHARE", help="The most that --metric may get worse: 0.5%. It may need --labels.")
@_PROMISE("--metric", metavar="NAME", shell_complete=options.names_of("scores"), help="What --max-drop is of, top1 without it.")
@_PROMISE("--max-float", metavar="SHARE", help="The most operations that may be computed with floats: 5%.")
@_PROMISE("--max-cycles", type=float, metavar="N", help="The most cycles that --target may report.")
@_PROMISE("--target", "-t", metavar="NAME", shell_complete=options.names_of("targets"), help="Whose cycles are counted.")
@click.option("--scheme", metavar="NAME", default="int8", help="The quantizer of the layers that get no more bits.")
@click.option("--table", type=options.PATH, metavar="FILE", help="A calibration table.")
@click.option("--method", metavar="NAME", shell_complete=options.names_of("calibrators"), help="How ranges are chosen.")
@click.option("--types", metavar="WORDS", default="INT16,F32", help="What layers may get: INT16, F16, BF16, F32.")
@click.option("--layers", type=options.PATH, metavar="FILE", help="A quantize table to begin with, which is kept to.")
@click.option("--excepts", metavar="NAMES", help="Layers that stay in 8 bits: names or patterns, as head/*, with commas between.")
@click.option("--loss-table", type=options.OUT, metavar="FILE", help="Write what each layer alone gains, as TPU-MLIR does.")
@click.option("--curve", type=options.SVG_OR_TABLE, metavar="FILE", help="Write what is had for what: an .svg, or a table.")
@click.option("--module", "made", type=options.OUT, metavar="FILE", help="Write the module that was judged, as MLIR text.")
@click.option("--resume", type=options.OUT, metavar="FILE", help="Keep measurements here, and go on from them after a kill.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask's scheduler, whose workers measure: tcp://host:8786.")
@options.shapes()
@options.format()
@options.function()
@options.weights()
@options.outputs()
@options.json()
@click.option("--labels", metavar="PATH", help="Labels of the samples, as transload eval takes them.")
@click.option("--classes", metavar="FILE", type=options.PATH, help="Names of the classes, one a line, in order.")
@click.option("--label-offset", metavar="N", type=int, default=0, help="Added to labels.")
@options.samples(needed=True)
@options.images()
def search(model: Path, out: Path, json: bool, **given: Any) -> int:
    """Find the layers that need more than 8 bits.

    As few operations as can be get more, and the promise is judged on samples that nothing was chosen on. Exit code 4: it cannot
    be kept; the table has what comes nearest. Exit code 2, and no table: a limit is passed with all layers in 8 bits already.
    """
    from transload.api import save
    from transload.cli.answer import print_json
    from transload.cli.process import note_written
    from transload.cli.session import session
    from transload.cli.show import console, seconds_text
    from transload.cli.waiting import going_through, progress
    from transload.extraction import names_among, tensors_of

    from ..commands import opened
    from . import searching, tables
    from .promise import promise_of

    promise = promise_of(**{name: given.pop(name) for name in _PROMISED})
    loss_table, curve, made = (given.pop(name) for name in ("loss_table", "curve", "made"))
    asked = {name: given.pop(name) for name in ("scheme", "method", "layers", "scheduler", "resume")}
    asked["calibration"] = given.pop("table")
    types, excepts = [word for word in (given.pop("types") or "").split(",") if word], given.pop("excepts")
    known = {name: given.pop(name) for name in ("labels", "classes", "label_offset")}
    module, samples = opened(model, given)
    assert samples is not None, "--data is required"
    named = list(islice(samples.named(), searching.MOST))
    labels = _labels(samples, [name for name, _ in named], promise, **known)
    with going_through(None) as clock, progress(session().quiet or json) as tell:
        found = searching.search(
            module, [sample for _, sample in named], promise, labels=labels, types=types,
            excepts=names_among([excepts], tensors_of(module)) if excepts else (),
            losses=loss_table is not None, tell=tell, **asked)
    chip = promise.target or "any"
    tables.save_quantize_table(out, found, chip)
    if loss_table is not None:
        tables.save_loss_table(loss_table, found, chip)
    if curve is not None:
        tables.save_curve(curve, found)
    if made is not None:
        save(found.quantized.module, made)
    note_written(out)
    if json:
        print_json(_as_data(found))
    else:
        _show(found, promise.text)
        console().print(f"{model} searched in {seconds_text(clock.seconds)}, written to {out}", markup=False)
        if found.kept:
            console().print(_next(model, module.reading, out, asked["scheme"]), markup=False)
    return 0 if found.kept else 4


def _labels(samples: Any, names: list[str], promise: Any, labels: Any, classes: Any, label_offset: int) -> list[Any] | None:
    from transload.errors import UsageError
    from transload.evaluation.labels import labels_of

    if not any(each.needs_label for each in promise.qualities):
        if labels is not None or classes is not None or label_offset:
            raise UsageError("labels are for --max-drop of a metric that needs them", hint="--max-drop 0.5% --metric top1")
        return None
    find = labels_of(samples, labels, classes, label_offset)
    found = [find(name) for name in names]
    missing = next((name for name, label in zip(names, found, strict=True) if label is None), None)
    if missing is not None:
        raise UsageError(f"{missing!r} has no label", hint="--labels FILE, or samples in a folder for each class")
    return found


def _show(found: Found, promise: str) -> None:
    from transload.cli.show import console, sized, table

    from .promise import least_drop

    rows = [
        ("promise", promise),
        ("kept", "yes" if found.kept else "no: what comes nearest is written"),
        *((each.score, f"{each.value:.5g}, surely {each.sure:.5g}; {before.value:.5g} with all layers in 8 bits")
          for each, before in zip(found.judged, found.before, strict=True)),
        ("floats", f"{found.floats:.2%} of the operations"), ("16 bits", f"{found.wide:.2%} of those on integers")]
    rows += [] if found.cycles is None else [("cycles", f"{found.cycles:,.0f}")]
    rows.append(("samples", f"{found.samples[0]} chose, {found.samples[1]} judged"))
    console().print(table(("", ""), rows))
    for each in found.judged:
        if each.few:
            console().print(f"{each.few} samples can promise no {each.score} below {least_drop(each.few):.1%}: that none is "
                            "worse is all they tell; give more samples (-n) for less", markup=False)
    if found.layers:
        words = list(found.layers.values())
        counted = ", ".join(f"{words.count(word)} in {word}" for word in dict.fromkeys(words))
        console().print(f"{sized(len(words), 'tensor')} with more bits: {counted}", markup=False)


def _next(model: Path, reading: Sequence[str], out: Path, scheme: str) -> str:
    from transload.read_again import command

    line = command("convert", model, reading=reading, more=("--quantize", scheme, "--layers", out), needs={"--target": "NAME"},
                   without=["--excepts"])  # of search they are layers, of convert outputs
    return f"next: `{line}`"


def _as_data(found: Found) -> dict[str, Any]:
    def scores(each: list[Any]) -> list[dict[str, Any]]:
        return [{"score": one.score, "value": one.value, "sure": one.sure, "kept": one.kept, "few": one.few} for one in each]

    return {
        "kept": found.kept, "judged": scores(found.judged), "before": scores(found.before), "floats": found.floats,
        "wide": found.wide, "cycles": found.cycles, "samples": list(found.samples), "layers": found.layers,
        "losses": found.losses, "curve": [
            {"layers": len(point.assignment), "floats": point.floats, "wide": point.wide, "price": point.price,
             "sqnr": point.decibels, "judged": scores(point.judged)} for point in found.curve]}
