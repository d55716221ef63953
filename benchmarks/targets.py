"""Every model of a folder for every target: right, or refused and why, how fast beside the source's runtime, how large.

    TRANSLOAD_MODELS=FOLDER python benchmarks/targets.py [--only PART ...] [--target NAME ...] [--json build/bench/targets.json]
    python benchmarks/targets.py --page docs/targets.md                        # writes the tables into the page, runs nothing

Each cell, a model for a target, is a process of its own, with limits on time and memory. What is known stays in the JSON file,
and the next run goes on from there (`--again` measures anew). A cell is judged as `transload convert` judges: the artifact, in
the target's own runtime where that is here, beside the source's runtime on a sample (`model_samples`); networks of TensorFlow
and Keras beside what TensorFlow computed (`tensorflow_models`). Times are the least of some runs, with one thread where that can
be said: of the artifact, and of the source in its own runtime (LiteRT's default kernels, onnxruntime, OpenCV).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from model_samples import FOLDER, SHAPES, load, models, samples_for
from target_page import write_page
from target_runs import of_artifact, of_source
from tensorflow_models import CASES, RECORDED

import transload
from transload.errors import TransloadError
from transload.files import atomic_path
from transload.metrics import cosine
from transload.plugin_host import host
from transload.written import written_at

TARGETS = (
    "tosa", "stablehlo", "xla-cpu", "tflite", "tflm", "onnx", "openvino", "iree-llvm-cpu", "ethos-u85-256", "coreml")
MEMORY = 8 << 30
"""Bytes that a cell may take."""
NEAR = 0.9999
"""The least cosine of floats, where there is no verification to say what is near enough."""
Cell = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="a part of the names of models to take; repeatable")
    parser.add_argument("--target", action="append", help="a target; repeatable; without, all that can be used here")
    parser.add_argument("--json", type=Path, default=Path("build/bench/targets.json"), help="what is known, and is added to")
    parser.add_argument("--seconds", type=int, default=240, help="what a cell may take")
    parser.add_argument("--again", action="store_true", help="measure what is known, too")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        print(json.dumps(measured(*asked.step)))
        return
    known: dict[str, dict[str, Cell]] = json.loads(asked.json.read_text()) if asked.json.exists() else {}
    if asked.page:
        write_page(asked.page, known, TARGETS)
        return
    commit = commit_here()
    for name in asked.target or TARGETS:
        for model in all_models():
            if not any(part in model for part in asked.only or [""]):
                continue
            row = known.setdefault(model, {})
            if name in row and not asked.again:
                continue
            row[name] = {**in_a_process(model, name, asked.seconds), "commit": commit}
            print(f"{model:55} {name:15} {row[name]['verdict']:12} {row[name].get('why', '')[:90]}", flush=True)
            asked.json.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(asked.json) as temporary:  # whoever is stopped here goes on from what is known
                temporary.write_text(json.dumps(known, indent=1))


def commit_here() -> str:
    """The commit of the checkout that is measured, with a `+` where files were changed since."""
    said = subprocess.run(
        ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=7", "--exclude=*", "--dirty=+"],
        capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


def all_models() -> Iterator[str]:
    """The models, by path below the folder, or by the name of a case of TensorFlow's."""
    for path in models(FOLDER):
        yield str(path.relative_to(FOLDER))
    for path in sorted(FOLDER.glob("caffe/*/*.prototxt")):
        yield str(path.relative_to(FOLDER))
    yield from (f"tensorflow:{name}" for name, case in CASES.items() if (FOLDER / case.file).exists())


def in_a_process(model: str, target: str, seconds: int) -> Cell:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    start = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--step", model, target], capture_output=True, text=True, timeout=seconds, check=False,
            preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return {"verdict": "refused", "why": f"takes longer than {seconds} s", "seconds": seconds}
    lines = done.stdout.strip().splitlines()
    if lines:  # the last is the most that is known: other people's code may have ended the process while it was timed
        return {**json.loads(lines[-1]), "seconds": round(time.perf_counter() - start, 1)}
    said = [line for line in done.stderr.strip().splitlines() if line.strip()]
    return {"verdict": "ended", "why": said[-1][:200] if said else f"ended with {done.returncode}"}


OTHERWISE = {
    "tflite": {"rounding": "litert"}, "tflm": {"rounding": "litert", "recurrent": "micro"}, "openvino": {"form": "qdq"},
    "coreml": {"rounding": "coreml"}}
"""Options with which a target takes what was quantized for other runtimes, which it refuses without them."""


def measured(model: str, target: str, options: Mapping[str, str] = MappingProxyType({})) -> Cell:
    """One cell; a refusal of ours is a cell, too. What only rounds otherwise is tried with `OTHERWISE`."""
    why = host().get("targets", target).available()
    if why is not None:
        return {"verdict": "absent", "why": why}
    try:
        source, sample, wanted = opened(model)
        with tempfile.TemporaryDirectory() as folder:
            case = CASES.get(model.removeprefix("tensorflow:"))
            compare = wanted is None
            artifact = transload.convert(
                source, target, folder, verify=compare, input_data=sample if compare else None,
                options={**(case.options if case is not None else {}), **options})
            cell = {**judged(artifact, sample, wanted), **sized(artifact)}
            print(json.dumps(cell), flush=True)
            return {**cell, **timed(artifact, source, sample)}
    except TransloadError as error:
        findings = getattr(error, "findings", ())
        other = OTHERWISE.get(target, options)
        told = [f"{finding.what}: {finding.why}" for finding in findings][:3]
        hints = " ".join(each.hint for each in findings)
        named = any("LiteRT's" in each.why for each in findings) or any(f"{key}={value}" in hints for key, value in other.items())
        if other is not options and named:
            cell = {**measured(model, target, other), "options": dict(other)}
            if cell["verdict"] != "failed":
                return cell
            written = " ".join(f"--option {key}={value}" for key, value in other.items())
            told.append(f"with {written}: {cell['why']}")
            return {**cell, "verdict": "refused", "why": "; ".join(told)}
        return {"verdict": "refused", "why": "; ".join(told) or error.message}


def opened(model: str) -> tuple[Any, dict[str, np.ndarray], list[np.ndarray] | None]:
    """A model, a sample, and what TensorFlow computed of that, where there is no runtime here to ask."""
    if model.startswith("tensorflow:"):
        name = model.removeprefix("tensorflow:")
        case = CASES[name]
        sample = {key: np.asarray(array) for key, array in case.inputs(FOLDER).items()}
        source = transload.load(
            FOLDER / case.file, inputs={key: array.shape for key, array in sample.items()}, outputs=case.outputs)
        recorded = np.load(RECORDED)
        return source, sample, [recorded[key] for key in recorded.files if key.startswith(f"{name}:")]
    path = FOLDER / model
    source = load(path) if path.parent.name in SHAPES else transload.load(path)
    if "main" not in source.functions:
        source = transload.load(path, function=next(iter(source.functions)))
    (sample,) = samples_for(path, source, 1, 0)
    return source, dict(sample), None


def judged(artifact: Any, sample: dict[str, np.ndarray], wanted: Sequence[np.ndarray] | None) -> Cell:
    """What came of the comparison."""
    if wanted is None:
        found = artifact.verification
        worst = {
            "cos": min((tensor.metrics["cos"] for tensor in found.tensors if "cos" in tensor.metrics), default=None),
            "max_abs": max((tensor.metrics["max_abs"] for tensor in found.tensors), default=None),
            "integers": bool(found.tensors) and all(np.dtype(tensor.dtype).kind in "iu" for tensor in found.tensors)}
        return {"verdict": found.status, "why": found.why or "; ".join(found.broken), "by": found.engine, "judge": found.runtime,
                "notes": list(found.notes)[:3], **worst}
    inputs = {**sample, **{state.input: state.initial.numpy() for state in artifact.module.states}}
    given = {name: inputs[name] for name in artifact.module.inputs}
    runs = getattr(host().get("targets", artifact.target), "run", None) is not None
    written = written_at(artifact.directory) if runs else None  # what nothing here runs is judged by the module it was made of
    run = written.run if written is not None else None
    outputs = list((run(given) if run is not None else transload.run(artifact.module, given)).values())
    cos = min(float(cosine(np.asarray(a, np.float64), np.asarray(b, np.float64).reshape(np.shape(a))))
              for a, b in zip(wanted, outputs, strict=False))
    far = max(float(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64).reshape(np.shape(a))).max(initial=0.0))
              for a, b in zip(wanted, outputs, strict=False))
    return {"verdict": "passed" if cos >= NEAR else "failed", "cos": cos, "max_abs": far, "integers": False,
            "by": written.note if written is not None else "", "judge": "tensorflow, recorded"}


def sized(artifact: Any) -> Cell:
    cut = artifact.report.partition
    return {"bytes": next(iter(artifact.report.files.values()), 0), "parts": len(cut.parts) if cut is not None else 1}


def timed(artifact: Any, source: Any, sample: dict[str, np.ndarray]) -> Cell:
    """Milliseconds of the artifact, and of the source in its own runtime; nothing where there is no way to measure them."""
    cell: Cell = {}
    for key, make in (("ms", lambda: of_artifact(artifact, sample)), ("own_ms", lambda: of_source(source, sample))):
        try:
            run = make()
            if run is not None:
                cell[key] = least(run)
        except Exception as error:  # runtimes have errors of their own
            cell[f"{key}_why"] = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
    return cell


def least(run: Any, most: float = 0.7) -> float:
    """The least of some runs in milliseconds, after one that is not counted."""
    run()
    taken, begun = [], time.perf_counter()
    while not taken or (len(taken) < 30 and time.perf_counter() - begun < most):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken) * 1e3


if __name__ == "__main__":
    main()
