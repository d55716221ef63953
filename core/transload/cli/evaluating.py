"""The command eval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .answer import print_json
from .arguments import parse_given
from .options import said_of_images, take_data, take_preprocess
from .show import console, seconds_text, show_note, sized, table
from .waiting import Clock, going_through

__all__ = ["eval_command"]


def eval_command(
    models: Sequence[Path], labels: str | None, classes: Path | None, label_offset: int, metric: str, output: str | None,
    resume: Path | None, shape: Sequence[str], engine: str, format: str | None, weights: Path | None, function: str | None,
    json: bool, scheduler: str | None, **given: Any,
) -> int:
    from contextlib import ExitStack

    from ..evaluation.evaluate import evaluate

    preprocess = take_preprocess(given, models=models) if said_of_images(given) else None
    data = take_data(given)
    shapes, _ = parse_given(shape, ())
    clock = Clock()
    with ExitStack() as shown_while:
        def watch(samples: Any) -> None:
            nonlocal clock
            clock = shown_while.enter_context(going_through(samples))

        found = evaluate(
            list(models), data, metrics=[name for name in metric.split(",") if name], labels=labels, classes=classes,
            label_offset=label_offset, output=output, preprocess=preprocess, shapes=shapes, format=format, engine=engine,
            resume=resume, watch=watch, weights=weights, function=function, scheduler=scheduler)
    if json:
        print_json(found.as_dict())
        return 0
    for note in (*found.notes, *(f"left out {name}: {why}" for name, why in found.skipped.items())):
        show_note(note)
    _show(found)
    console().print(f"{sized(found.samples, 'sample')} in {seconds_text(clock.seconds)}; intervals hold 95 %", markup=False)
    return 0


def _show(found: Any) -> None:
    """A row a model, a column a score."""
    from ..evaluation.evaluate import shown

    names = list(dict.fromkeys(name for scores in found.scores.values() for name in scores))
    rows = [
        (model, *(shown(name, scores[name]) if name in scores else "" for name in names))
        for model, scores in found.scores.items()]
    console().print(table(("model", *names), rows, right=names))
