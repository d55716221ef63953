"""Searches for mixed precision on real models: whether promises are kept on samples that no search saw, and what they cost.

    python benchmarks/search.py [--only CASE ...] [--promise KIND ...] [--samples N] [--json FILE] [--no-plain]

Five models (`quantizer_models`), four kinds of promise: a cosine, a signal-to-noise ratio, a drop of a metric (top-1 where
there are labels, else the agreement with the float model, or euclid where there are no classes), and a limit of operations
in floats. All samples of a case are mixed with a fixed seed; so many go to the search, and the others judge what comes of it: the
quantized module itself, by `transload.evaluate`'s scores. The limits of noise are a third of what all layers in 8 bits have there
(4.8 dB), so that something has to be given up; that of floats is 5 %.

`floats` is the share of operations in floats. Beside it stands the plain way's: layers are given up in the order of the loss
table, one after the other, all in floats, until the same judgement on the same samples that are held apart says that the promise
is kept. Both may choose floats alone (`--types` says otherwise for ours, and then nothing is compared).
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quantizer_cases import Case, Sample
from quantizer_models import rows_of_cases
from rich.console import Console
from rich.table import Table

import transload
from transload.evaluation.running import models_ready, run_ahead
from transload.evaluation.scores import estimate, find_scores
from transload.plugin import resolve
from transload_plugins.quantize.search.plain import plain_search
from transload_plugins.quantize.search.promise import Promise, promise_of
from transload_plugins.quantize.search.searching import Found, search

CASES = ("mobilenet_v1", "resnet8", "kws", "ultraface", "super_resolution")
KINDS = ("cos", "sqnr", "drop", "float")
NOISE = 3.0
"""By how much less noise is promised than all layers in 8 bits have."""
MOST_FLOAT = 0.05
DROPS = {"top1": 0.05, "agreement": 0.05}
"""By how much scores of right and wrong answers may be worse: of some hundred samples no promise can say less."""
LEAST_DROP = 0.01
"""The same of others."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES, action="append", help="this model; repeatable")
    parser.add_argument("--promise", choices=KINDS, action="append", help="this kind; repeatable")
    parser.add_argument("--samples", type=int, default=48, help="that each search is given")
    parser.add_argument("--types", default="F32", help="what layers may get")
    parser.add_argument("--no-plain", action="store_true", help="leave the plain way out")
    parser.add_argument("--json", type=Path, help="write all figures to this file, row by row")
    arguments = parser.parse_args()
    show(rows_of_cases(arguments.only or CASES, lambda case: searches(case, arguments), arguments.json))


def searches(case: Case, arguments: argparse.Namespace) -> Any:
    """A row for each kind of promise."""
    ending = ".onnx" if ".onnx" in case.files else ".tflite"
    seen, unseen, labels, others = divided(case, ending, arguments.samples)
    model = transload.load(case.files[ending])
    bare = search(model, seen, promise_of(min_sqnr=-100.0), types=["F32"])
    metric = "top1" if labels is not None else "agreement" if case.classes else "euclid"
    before = scored(model, bare.quantized.module, unseen, others, ["cos", "sqnr", metric])
    for kind in arguments.promise or KINDS:
        promise = promise_for(kind, before, metric)
        start = time.perf_counter()
        found = search(model, seen, promise, labels=labels, types=arguments.types.split(","))
        seconds = time.perf_counter() - start
        row = {"promise": promise.text, "seconds": seconds, "kept": found.kept, "floats": found.floats,
               "wide": found.wide, "unseen": judged(promise, model, found, unseen, others)}
        if not arguments.no_plain and promise.qualities and arguments.types == "F32":
            row["plain"] = plain_search(model, seen, promise, labels=labels).floats
        yield row


def divided(
    case: Case, ending: str, count: int,
) -> tuple[list[Sample], list[Sample], list[int] | None, list[int] | None]:
    """Samples for a search and to judge it by, with the labels of both where there are any: then all are of the evaluation's."""
    if case.labels is not None:
        pairs = list(zip(case.evaluation[ending], case.labels.tolist(), strict=True))
        random.Random(0).shuffle(pairs)
        samples, labels = [sample for sample, _ in pairs], [int(label) for _, label in pairs]
        count = min(8 * count, len(samples) // 2)  # a drop of answers shows among many
        return samples[:count], samples[count:], labels[:count], labels[count:]
    samples = [*case.calibration[ending], *case.evaluation[ending]]
    random.Random(0).shuffle(samples)
    count = min(8 * count, 3 * len(samples) // 5) if case.classes else min(count, len(samples) // 2)
    return samples[:count], samples[count:], None, None


def promise_for(kind: str, before: Mapping[str, float], metric: str) -> Promise:
    """A promise of a kind; of noise, one that all layers in 8 bits do not keep."""
    if kind == "cos":
        return promise_of(min_cos=1.0 - (1.0 - before["cos"]) / NOISE)
    if kind == "sqnr":
        return promise_of(min_sqnr=round(before["sqnr"] + 4.8, 1))
    if kind == "float":
        return promise_of(max_float=MOST_FLOAT)
    return promise_of(max_drop=DROPS.get(metric, LEAST_DROP), metric=metric)


def scored(
    model: transload.Module, made: transload.Module, samples: Sequence[Sample], labels: Sequence[int] | None,
    names: Sequence[str],
) -> dict[str, float]:
    """Scores of a quantized module beside the float model, as `transload eval` has them; of labels, the drop."""
    scores = find_scores(names)
    rows: dict[str, list[Any]] = {name: [] for name in scores}
    floats: dict[str, list[Any]] = {name: [] for name in scores}
    named = ((str(number), [sample, sample]) for number, sample in enumerate(samples))
    for place, (_, outputs) in enumerate(run_ahead(models_ready([model, made], {}, "auto"), named)):
        wanted, given = (dict(each()) for each in outputs)
        label = labels[place] if labels is not None else None
        for name, score in scores.items():
            rows[name].append(resolve(score.measure)(given, label, wanted))
            if "reference" not in score.needs:
                floats[name].append(resolve(score.measure)(wanted, label, wanted))
    return {
        name: estimate(score, rows[name]).value if not floats[name] else
        estimate(score, floats[name]).value - estimate(score, rows[name]).value for name, score in scores.items()}


def judged(
    promise: Promise, model: transload.Module, found: Found, unseen: Sequence[Sample], labels: Sequence[int] | None,
) -> dict[str, Any]:
    """Each quality of a promise on samples that the search did not see, and whether all of it is kept there."""
    names = [quality.score for quality in promise.qualities]
    values = scored(model, found.quantized.module, unseen, labels, names) if names else {}
    kept = promise.max_float is None or found.floats <= promise.max_float
    for quality in promise.qualities:
        value = values[quality.score]
        if quality.least is not None:
            kept &= value >= quality.least
        else:  # of a score beside the reference, 1 is the float model's own
            kept &= (value if quality.score == "top1" else 1.0 - value) <= (quality.most_drop or 0.0)
    return {"samples": len(unseen), "values": values, "kept": bool(kept)}


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table("model", "promise", "kept, by itself", "unseen", "kept there", "floats %", "16 bits %", "plain %", "seconds")
    for row in rows:
        if "error" in row:
            table.add_row(row["case"], row.get("promise", ""), row["error"])
            continue
        values = ", ".join(f"{name} {value:.5g}" for name, value in row["unseen"]["values"].items())
        plain = f"{100 * row['plain']:.2f}" if "plain" in row else "-"
        table.add_row(
            row["case"], row["promise"], str(row["kept"]), values, str(row["unseen"]["kept"]), f"{100 * row['floats']:.2f}",
            f"{100 * row['wide']:.2f}", plain, f"{row['seconds']:.1f}")
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
