"""Is a wrong artifact told as passed? Mistakes are made on the way to a target, and verification is to see them.

    python benchmarks/mistakes.py [--count 1000] [--seed 0] [--only digits_float:tosa#17] [--results build/mistakes/results.jsonl]

A model is converted rightly, and then with one mistake after the other (`mistakes_kinds`): by a pass of a plugin that runs last
before the target checks and writes, as a wrong rule of a plugin would. What verification says of each conversion is held against
what the mistake does, which is judged apart from it: the right and the wrong module run in the reference engine on held-out
inputs, those that the model is for and others, and what is farther than the limits of docs/verification.md is wrong.

Models are the example's, PyTorch's networks of the tests, models of one operator of the tests, and small ones of
TRANSLOAD_MODELS; targets TOSA, StableHLO, ONNX and TFLite, and quantized ones. Each mistake has a number in its case, and is the
same whenever it is made again; `right` in its place is the conversion without one. Outcomes are kept in a file, to which another
run adds what it has not. `--each 0` makes no mistakes: what is failed then is a false alarm. The exit status is 1 where a wrong
artifact passed, or a right one failed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for `tests`

from mistakes_kinds import Mistake, make_mistake
from model_samples import FOLDER, Sample, load, models, samples_for
from rich.console import Console
from rich.table import Table

import transload
from transload import hookimpl, host
from transload.api import at_hub, runnable
from transload.engine.choice import work_of
from transload.engine.reference import prepare
from transload.errors import TransloadError, UsageError
from transload.ir import Module, initial_states
from transload.meanings import as_stored
from transload.plugin import Pass, Target
from transload.verification.fineness import output_steps
from transload.verification.inputs import plain_integers, random_inputs

from tests.fuzz.seeds import seed_files

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("tosa", "stablehlo", "onnx", "tflite", "tosa+int8", "tflite+int8")
"""Targets, and schemes by which the model is quantized on the way."""
OPERATORS = 40
"""Models of one operator, of each format."""
LARGEST, OPS, PRODUCTS, ELEMENTS = 1_000_000, 400, 1 << 23, 1 << 20
"""Bytes of a file, and the work of a run: it is run some thirty times for each mistake."""
HELD_OUT, OTHERS = 12, 4
"""Inputs that a model is for, and those that are ten times as large, and as small."""
RIGHT = "right"
"""In place of a kind and a number: the conversion without a mistake."""
SEED = 1 << 20
"""Of held-out inputs: no verification draws with it."""


class Mistaken:
    """A plugin: the pass `mistake`, and for each target another one, `TARGET-mistaken`, in which it runs last."""

    def __init__(self, targets: Iterable[str]) -> None:
        self.called = ""
        """The name of the mistake that is made; none is without one."""
        self.made: Mistake | None = None
        self.targets = [self._mistaken(host().targets[name]) for name in targets]

    @hookimpl
    def register_passes(self, register: Any) -> None:
        def mistake(module: Module) -> bool:
            self.made = make_mistake(module, self.called) if self.called else None
            return self.made is not None

        register(Pass("mistake", mistake, "Make one mistake."))

    @hookimpl
    def register_targets(self, register: Any) -> None:
        for target in self.targets:
            register(target)

    def _mistaken(self, target: Target) -> Target:
        made = object.__new__(target.__class__)  # what is registered is one, and its copy itself
        vars(made).update(
            target.__dict__, name=f"{target.name}-mistaken", default=False, pipeline=f"{target.pipeline},mistake".strip(","))
        return made


# --- what a mistake does

@dataclass(frozen=True)
class Distance:
    """How far outputs are from right ones: whether beyond the limits, the greatest error in ranges of the output, the cosine, and
    the share of integers and of greatest places that are others."""

    beyond: bool = False
    far: float = 0.0
    cosine: float = 1.0
    others: float = 0.0


def distance(right: np.ndarray, wrong: np.ndarray, step: float | None = None) -> Distance:
    """How far an output is from the right one, by the limits of docs/verification.md; `step` is that of dequantized integers."""
    right, wrong = np.asarray(right), np.asarray(wrong)
    if right.shape != wrong.shape:
        return Distance(True, np.inf, 0.0, 1.0)
    if not right.size:
        return Distance()
    a, b = (np.asarray(each, np.float64).ravel() for each in (right, wrong))
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return Distance(True, np.inf, 0.0, 1.0)
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    if not a.size:
        return Distance()
    error, size = float(np.abs(a - b).max()), float(np.linalg.norm(a))
    apart = float(np.linalg.norm(a - b)) / size if size else float(error > 0)
    cosine = float(a @ b / size / np.linalg.norm(b)) if size and b.any() else float(not a.any() and not b.any())
    far = error / float(np.ptp(a)) if np.ptp(a) else error / max(abs(float(a[0])), 1e-30)
    others = float((a != b).mean())
    unit = step if right.dtype.kind == "f" else 1.0
    if right.dtype.kind == "b" or (right.dtype.kind in "iu" and right.dtype.itemsize > 2):
        beyond = others > 0.0045
    elif unit is not None:
        moved = float((np.abs(a - b) > unit / 64).mean())
        beyond = error > 1.001 * unit or moved > 0.1 + 2 * np.sqrt(0.09 / a.size)
    else:
        others = float(a.argmax() != b.argmax())
        beyond = error > 2.5e-7 and (cosine < 0.9999 or apart > 0.02)
    return Distance(bool(beyond), far, cosine, others)


@dataclass
class Truth:
    """What a mistake does: on how many of the inputs that the model is for an output is beyond the limits, and of the others."""

    wrong: float = 0.0
    wrong_elsewhere: float = 0.0
    far: float = 0.0
    cosine: float = 1.0
    others: float = 0.0
    """The greatest error, the least cosine, and the greatest share of others, on what the model is for."""

    @property
    def says(self) -> str:
        """`wrong` where it is on some of what the model is for, `elsewhere` where on other inputs alone, else `equivalent`."""
        return "wrong" if self.wrong else "elsewhere" if self.wrong_elsewhere else "equivalent"


# --- cases

@dataclass
class Case:
    """A model and a target, converted rightly, with held-out inputs and what is right for them."""

    name: str
    model: Any
    to: str
    options: dict[str, Any]
    right: Module
    steps: list[float | None]
    held: list[tuple[bool, Sample, dict[str, np.ndarray]]] = field(default_factory=list)
    """Inputs, whether the model is for them, and the right outputs."""

    def truth(self, wrong: Module) -> Truth | None:
        """What the reference engine makes of a wrong module, beside the right one; None where it does not run that."""
        truth, beyond, execute = Truth(), {True: list[bool](), False: list[bool]()}, runner(wrong)
        for is_for, given, right in self.held:
            try:
                found = execute(given)
            except (TransloadError, ValueError):
                return None
            apart = [distance(*each) for each in zip(right.values(), found.values(), self.steps, strict=False)]
            beyond[is_for].append(any(each.beyond for each in apart))
            if is_for:
                truth.far = max(truth.far, *(each.far for each in apart))
                truth.cosine = min(truth.cosine, *(each.cosine for each in apart))
                truth.others = max(truth.others, *(each.others for each in apart))
        truth.wrong, truth.wrong_elsewhere = (float(np.mean(each)) if each else 0.0 for each in (beyond[True], beyond[False]))
        return truth


def runner(module: Module) -> Callable[[Sample], dict[str, np.ndarray]]:
    """What runs a module in the reference engine as `transload.run` does, made ready once; errors are raised when it runs."""
    execute, before = list[Any](), dict[str, np.ndarray]()

    def run(given: Sample) -> dict[str, np.ndarray]:
        if not execute:
            ready = runnable(module)
            before.update(as_stored(initial_states(ready), ready.inputs))
            execute.append(prepare(ready))
        found: dict[str, np.ndarray] = execute[0]({**before, **given})
        return found

    return run


def files(place: Path) -> dict[str, Path]:
    """The model files by name: the example's, the tests' networks and operators, and small ones of TRANSLOAD_MODELS."""
    digits, torch = ROOT / "examples" / "digits", ROOT / "tests" / "networks" / "torch"
    examples = (*sorted(digits.glob("*.onnx")), *sorted(digits.glob("*.tflite")))
    found = {f"{path.stem}_{path.suffix[1:]}": path for path in examples}
    found |= {f"torch_{path.stem}": path for path in sorted(torch.glob("*.mlir"))}
    found |= {path.parent.name: path for path in (models(FOLDER) if FOLDER.is_dir() else ()) if path.stat().st_size < LARGEST}
    for format, seeds in seed_files(place / "operators", formats=("onnx", "tflite")).items():
        chosen = random.Random(format).sample(seeds, min(OPERATORS, len(seeds)))
        found |= {f"{format}_{path.name}": path for path in chosen}
    return found


def _loaded(name: str, path: Path) -> Module:
    format = name.partition("_")[0] if path.suffix == "" else None
    return load(path) if format is None else transload.load(path, format=format)


def case_of(name: str, path: Path, to: str, out: Path, seed: int = 0) -> tuple[Case | None, str, str]:
    """A case with the verdict on it, and why; None where it is not converted, or not judged, when all is right.

    `UsageError` where it is converted in a way that there is not, which says nothing of the model.
    """
    target, _, scheme = to.partition("+")
    try:
        model = _loaded(name, path)
        hub = at_hub(model)
        is_for = _inputs(path, model, hub, HELD_OUT, SEED)
        options = _options(scheme, _inputs(path, model, hub, 8, 2 * SEED + 8 * seed) if scheme else [], seed)
        work = work_of(hub)
        if work.ops > OPS or work.products > PRODUCTS or work.elements > ELEMENTS:
            return None, "skipped", "it is too large"
        made = transload.convert(model, f"{target}-mistaken", out, **options)
        assert made.verification is not None
        why = (made.verification.broken[:1] or [made.verification.why])[0]
        if not made.verification.passed:
            return None, made.verification.status, why
        quantized = transload.legalize(made.module) if scheme else hub
        case = Case(f"{name}:{to}", model, target, options, made.module, output_steps(quantized))
        inputs = [(True, each) for each in is_for] + [(False, _times(each, by)) for by in (10.0, 0.1) for each in is_for[:OTHERS]]
        execute = runner(made.module)
        case.held = [(is_it, given, execute(given)) for is_it, given in inputs]
    except UsageError:
        raise
    except (TransloadError, ValueError, KeyError, TypeError) as error:  # no numbers can be drawn for text, and sequences
        return None, "refused", f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
    return case, "passed", ""


def _options(scheme: str, samples: list[Sample], seed: int) -> dict[str, Any]:
    """How a case is converted, rightly and with mistakes: by a scheme on `samples`, or on random inputs, which have a seed."""
    return {"quantize": scheme, "data": samples} if scheme else {"seed": seed}


def _inputs(path: Path, model: Module, hub: Module, count: int, seed: int) -> list[Sample]:
    """What a model is for: photographs and the like; of one operator all that it takes, which is no division by 0."""
    if path.suffix:
        return samples_for(path, model, count, seed)
    signed = plain_integers(hub)
    return [random_inputs(model, hub, seed + each, signed=signed) for each in range(count)]


def _times(sample: Sample, by: float) -> Sample:
    return {name: (array * by).astype(array.dtype) if array.dtype.kind == "f" else array for name, array in sample.items()}


# --- outcomes

@dataclass
class Outcome:
    """What was said of one mistake, and what it does."""

    id: str
    kind: str
    op: str
    what: str
    verdict: str
    """`passed`, `failed`, `inconclusive`, `skipped`, or `refused` with what no target takes."""
    why: str
    truth: Truth

    @property
    def is_right(self) -> bool:
        """Whether no mistake was made."""
        return self.kind == RIGHT

    @property
    def is_bad(self) -> bool:
        """Whether a wrong artifact passed, or a right one failed."""
        return self.verdict == "failed" if self.is_right else self.verdict == "passed" and self.truth.says == "wrong"

    def __str__(self) -> str:
        truth = self.truth
        does = "" if self.is_right else (
            f"; wrong on {truth.wrong:.0%} of the inputs, {truth.wrong_elsewhere:.0%} of others, {truth.far:.2g} of the range, "
            f"cos {truth.cosine:.5f}, others {truth.others:.1%}")
        return f"{self.id}: {self.kind}, {self.op}: {self.what}\n    {self.verdict} {self.why}{does}"


def attempt(case: Case, plugin: Mistaken, number: int, out: Path) -> Outcome | None:
    """Convert with the mistake of this number; None where the module has none to make, or nothing says what it does."""
    plugin.called, plugin.made = f"{case.name}#{number}", None
    try:
        made = transload.convert(case.model, f"{case.to}-mistaken", out, **case.options)
    except TransloadError as error:
        verdict, why = "refused", str(error).splitlines()[0][:160]
        truth: Truth | None = Truth()
    else:
        assert made.verification is not None
        verdict, why = made.verification.status, (made.verification.broken[:1] or [made.verification.why])[0]
        truth = case.truth(made.module)
    finally:
        plugin.called = ""
    mistake = plugin.made
    return None if mistake is None or truth is None else Outcome(
        f"{case.name}#{number}", mistake.kind, mistake.op, mistake.what, verdict, why, truth)


def table(outcomes: Iterable[Outcome], by: str) -> Table:
    """How many mistakes of each target, or kind, were caught, escaped, and so on."""
    counts = defaultdict[str, Counter[str]](Counter)
    for each in outcomes:
        if each.is_right:
            continue
        row = _target_of(each) if by == "target" else each.kind
        said = each.truth.says if each.verdict != "refused" else "refused"
        for key in (row, "all"):
            counts[key][f"{said} {each.verdict}" if said in ("wrong", "refused") else said] += 1
            counts[key]["false"] += said == "equivalent" and each.verdict == "failed"
    shown = Table(by, "mistakes", "refused", "wrong, caught", "wrong, passed", "wrong, not conclusive", "wrong elsewhere alone",
                  "equivalent", "of these failed")
    for key in [*sorted(counts.keys() - {"all"}), "all"]:
        row, silent = counts[key], counts[key]["wrong inconclusive"] + counts[key]["wrong skipped"]
        numbers = (row.total() - row["false"], row["refused refused"], row["wrong failed"], row["wrong passed"], silent,
                   row["elsewhere"], row["equivalent"], row["false"])
        shown.add_row(key, *map(str, numbers))
    return shown


def told_of_right(outcomes: Iterable[Outcome]) -> str:
    """What became of the conversions without a mistake; of those that took none then, too, why, and how many of a target."""
    rights = [each for each in outcomes if each.is_right]
    told = ", ".join(f"{number} {verdict}" for verdict, number in Counter(each.verdict for each in rights).items())
    without = Counter((_target_of(each), each.verdict, each.why) for each in rights if each.verdict != "passed")
    return "\n".join([f"right conversions: {told}", *(
        f"    no mistakes in {number} to {to}, {verdict}: {why}" for (to, verdict, why), number in sorted(without.items()))])


def _target_of(outcome: Outcome) -> str:
    """The target of a case, with the scheme."""
    return outcome.id.partition("#")[0].rpartition(":")[2]


def kept(file: Path) -> dict[str, Outcome]:
    """The outcomes that a file holds, by the names of the mistakes."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else ()
    rows = [json.loads(line) for line in lines]
    return {row["id"]: Outcome(**{**row, "truth": Truth(**row["truth"])}) for row in rows}


def run(plugin: Mistaken, there: Mapping[str, Path], given: argparse.Namespace) -> Iterator[Outcome]:
    """The outcomes of mistakes, some of each case in turn; those that are kept are not made again."""
    known = kept(given.results)
    wanted, _, one = given.only.partition("#")
    names = [(name, to) for name in there for to in TARGETS if re.search(wanted, f"{name}:{to}")]
    random.Random(given.seed).shuffle(names)
    first = given.seed * 1_000_000

    def new(outcome: Outcome) -> Outcome:
        with given.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
        return outcome

    with TemporaryDirectory() as folder:
        for name, to in names:
            called = f"{name}:{to}"
            turns = [int(one)] if one else range(first, first + given.each)
            asked = [f"{called}#{RIGHT}", *(f"{called}#{turn}" for turn in turns)]
            right = known.get(asked[0])
            if right is not None and not one and (right.verdict != "passed" or all(each in known for each in asked)):
                yield from (known[each] for each in asked if each in known)
                continue
            case, verdict, why = case_of(name, there[name], to, Path(folder) / "right", given.seed)
            yield new(Outcome(asked[0], RIGHT, "", "", verdict, why, Truth()))
            for turn in turns if case is not None else ():
                outcome = attempt(case, plugin, turn, Path(folder) / "out")
                if outcome is not None:
                    yield new(outcome)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="mistakes")
    parser.add_argument("--each", type=int, default=6, help="mistakes of each case")
    parser.add_argument("--seed", type=int, default=0, help="others draw other mistakes")
    parser.add_argument("--only", default="", help="cases (a regular expression), or one mistake by its name")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mistakes" / "results.jsonl", help="what is kept")
    given = parser.parse_args()
    given.results.parent.mkdir(parents=True, exist_ok=True)
    plugin = Mistaken(sorted({to.partition("+")[0] for to in TARGETS}))
    host().register(plugin, "mistaken")
    outcomes, left = [], given.count
    for outcome in run(plugin, files(ROOT / "build" / "mistakes"), given):
        outcomes.append(outcome)
        if outcome.is_bad or "#" in given.only:
            print(outcome, flush=True)
        left -= not outcome.is_right
        if left == 0:
            break
    print(told_of_right(outcomes))
    Console(width=150).print(table(outcomes, "target"), table(outcomes, "kind"))
    return int(any(outcome.is_bad for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
