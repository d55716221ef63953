"""Run TOSA's conformance tests in the reference engine, and print a table of the results by operator.

    python benchmarks/tosa_conformance.py [--profile int fp int16 ...] [--operators add conv2d ...] [--sample N] [--jobs N]
                                     [--json results.json] [--cache build/conformance]

Positive tests must give what the reference model gives: integers exactly, floats within the bounds by which
`tosa_verify` judges, which is the library called here. Negative tests must be refused, when the file is read, by
the verifier, by the checks of the target `tosa` (profile, level), or when it runs. Tests that the reference model
finds unpredictable prove nothing and are counted apart. Needs `tosa-tools`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import tosa_conformance_suite as suite

ROOT = Path(__file__).parents[1]
OUTCOMES = ("passed", "refused", "unpredictable", "wrong", "accepted", "failed")
"""`wrong`: other numbers; `accepted`: a negative test that ran; `failed`: a positive test that was refused or crashed."""
GOOD = ("passed", "refused", "unpredictable")


@dataclass
class Outcome:
    """What became of one test."""

    operator: str
    profile: str
    test: str
    outcome: str
    why: str = ""


def run_test(folder: Path) -> tuple[str, str]:
    """The outcome of the test in a folder, and why it is not a good one."""
    from transload.errors import TransloadError

    description = json.loads((folder / "desc.json").read_text())
    negative = bool(description["expected_failure"])
    try:
        outputs = _execute(folder, description)
    except TransloadError as error:
        return ("refused", "") if negative else ("failed", str(error).replace("\n", " ")[:600])
    except Exception as error:  # a crash of ours fails this test, not the run
        return "failed", f"{type(error).__name__}: {error}"[:600]
    if negative:
        return "accepted", description.get("expected_failure_desc", "")
    status = suite.expected_results(folder, description)
    if status == "unpredictable":
        return status, ""
    if status != "valid":
        return "failed", f"the reference model says {status!r} of a positive test"
    if len(outputs) != len(description["ofm_name"]):
        return "wrong", f"{len(outputs)} results instead of {len(description['ofm_name'])}"
    for name, file, ours in zip(description["ofm_name"], description["ofm_file"], outputs, strict=True):
        why = _judge(folder, description, name, file, ours)
        if why:
            return "wrong", why
    suite.forget_large_results(folder, description)
    return "passed", ""


def _execute(folder: Path, description: dict[str, Any]) -> list[np.ndarray]:
    """Read, check and run the test's graph; a `TransloadError` where it is refused."""
    from transload.engine import run_function
    from transload.errors import TargetError
    from transload.ir import verify
    from transload.plugin import Source, resolve
    from transload.plugin_host import host

    path = folder / description["tosa_file"]
    module = resolve(host().get("readers", "tosa").read)(Source(path, path.read_bytes(), path.name), {})
    verify(module)
    target = host().get("targets", "tosa")
    options = {name: default for name, (_, default, _) in target.options().items()}
    findings = target.check(module, options)
    if findings:
        raise TargetError("the target refuses the graph", findings)
    inputs = {
        name: _of_type(np.load(folder / file), module.inputs[name])
        for name, file in zip(description["ifm_name"], description["ifm_file"], strict=True)}
    return list(run_function(module, inputs).values())


def _of_type(array: np.ndarray, type_: Any) -> np.ndarray:
    """An array from a file, where small floats are bytes without a type, booleans and i4 may be int8, and unsigned ones, too."""
    from transload.ir import dtype_of

    wanted = dtype_of(type_.element)
    if array.dtype != wanted and (array.dtype.kind in "Vu" or wanted.kind == "u") and array.dtype.itemsize == wanted.itemsize:
        return array.view(wanted)
    return array.astype(wanted) if array.dtype.kind in "iub" else array


@cache
def _verifier() -> Any:
    from checker.verifier import VerifierLibrary

    return VerifierLibrary(suite.library("verify"))


def _judge(folder: Path, description: dict[str, Any], name: str, file: str, ours: np.ndarray) -> str:
    """Why a result is not compliant, or nothing."""
    compliance = description["meta"]["compliance"]
    reference = np.load(folder / file)
    if reference.shape != ours.shape:
        return f"{name} has shape {ours.shape}, not {reference.shape}"
    if ours.dtype.kind in "iub" and reference.dtype.kind in "iub" and compliance["tensors"][name].get("mode") == "EXACT":
        differ = np.asarray(ours != reference.astype(ours.dtype, copy=False))
        return f"{name} differs in {int(differ.sum())} of {differ.size} numbers" if differ.any() else ""
    bounds = folder / f"bounds_{file}"
    bound = np.load(bounds) if bounds.is_file() else None
    if _verifier().verify_data(name, compliance, _as_judged(ours, compliance["tensors"][name]["data_type"]), reference, bound):
        return ""
    with np.errstate(all="ignore"):
        difference = np.abs(ours.astype(np.float64) - reference.astype(np.float64))
        worst = int(np.nanargmax(np.where(np.isnan(difference), -1, difference)))
    mode = compliance["tensors"][name].get("mode", "?")
    return f"{name} is outside the bounds of {mode}: {ours.reshape(-1)[worst]} for {reference.reshape(-1)[worst]}"


def _as_judged(array: np.ndarray, data_type: str) -> np.ndarray:
    """A result as the judge takes it: small floats as bytes, i4 in int8."""
    array = np.array(array, order="C")
    if data_type == "INT4":
        return array.astype(np.int8)
    views = {"BF16": "V2", "FP8E4M3": "V1", "FP8E5M2": "u1"}
    return array.view(views[data_type]) if data_type in views else array


def _run_operator(task: tuple[Path, str, str, int | None]) -> list[Outcome]:
    """All tests of an operator and profile, made and run."""
    root, operator, profile, sample = task
    with suite.held(root, operator, profile):
        return _make_and_run(root, operator, profile, sample)


def _make_and_run(root: Path, operator: str, profile: str, sample: int | None) -> list[Outcome]:
    try:
        folders = suite.make_tests(root, operator, profile, sample)
    except Exception as error:  # the suite's generator: whatever stops it
        return [Outcome(operator, profile, "(generator)", "failed", f"{type(error).__name__}: {error}")]
    outcomes = []
    for folder in folders:
        try:
            outcome, why = run_test(folder)
        except Exception as error:  # a result that cannot be judged is a failure of this test alone
            outcome, why = "failed", f"{type(error).__name__}: {error}"
        outcomes.append(Outcome(operator, profile, folder.name, outcome, why))
    return outcomes


def run_suite(
    root: Path, operators: Sequence[str] | None = None, profiles: Iterable[str] = ("int", "fp"), sample: int | None = None,
    jobs: int = 1, progress: Callable[[list[Outcome]], None] = lambda part: None,
) -> list[Outcome]:
    """Every outcome; with `sample`, of at most so many tests an operator, from its profiles in equal parts.

    `progress` is called with the outcomes of each operator and profile when they are there.
    """
    profiles = tuple(profiles)
    has = {profile: set(suite.operators(profile)) for profile in profiles}
    tasks = []
    for operator in sorted(set().union(*has.values())):
        if operators and operator not in operators:
            continue
        mine = [profile for profile in profiles if operator in has[profile]]
        share = None if sample is None else -(-sample // len(mine))
        tasks += [(root, operator, profile, share) for profile in mine]
    outcomes: list[Outcome] = []
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for part in map(_run_operator, tasks) if jobs == 1 else pool.imap_unordered(_run_operator, tasks):
            outcomes += part
            progress(part)
    return outcomes


def _report_bad(outcomes: Iterable[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.outcome not in GOOD:
            print(f"{outcome.outcome}: {outcome.profile} {outcome.test}: {outcome.why}", flush=True)


def table(outcomes: Sequence[Outcome]) -> str:
    """Counts by operator and profile."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for outcome in outcomes:
        counts.setdefault((outcome.operator, outcome.profile), Counter())[outcome.outcome] += 1
    for profile in sorted({outcome.profile for outcome in outcomes}):
        counts["all", profile] = Counter(o.outcome for o in outcomes if o.profile == profile)
    lines = [f"{'operator':26} {'profile':8}" + "".join(f"{name:>14}" for name in OUTCOMES)]
    for (operator, profile), found in sorted(counts.items(), key=lambda item: (item[0][0] == "all", item[0])):
        lines.append(f"{operator:26} {profile:8}" + "".join(f"{found[name] or '':>14}" for name in OUTCOMES))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", nargs="*", help="only these operators")
    parser.add_argument(
        "--profile", nargs="*", choices=(*suite.PROFILES, *suite.EXTENSIONS), default=list(suite.PROFILES),
        help="profiles and extensions: " + ", ".join((*suite.PROFILES, *suite.EXTENSIONS)), metavar="NAME")
    parser.add_argument("--sample", type=int, help="at most so many tests an operator")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "conformance", help="where the tests are kept")
    arguments = parser.parse_args()
    missing = suite.available()
    if missing:
        print(missing, file=sys.stderr)
        return 2
    start = time.perf_counter()
    outcomes = run_suite(
        arguments.cache.resolve(), arguments.operators, arguments.profile, arguments.sample, arguments.jobs, _report_bad)
    bad = [outcome for outcome in outcomes if outcome.outcome not in GOOD]
    print(table(outcomes))
    print(f"{len(outcomes) - len(bad)} of {len(outcomes)} tests as they should be, in {time.perf_counter() - start:.0f} s")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(
            {"generator": suite.cache_folder(Path()).name, "sample": arguments.sample, "outcomes": [asdict(o) for o in outcomes]},
            indent=1))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
