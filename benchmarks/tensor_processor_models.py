"""Every model of a folder on the tensor processors that come along: wholly on the chip, right, and the kernels' bits?

    TRANSLOAD_MODELS=FOLDER python benchmarks/tensor_processor_models.py [--only PART] [--chips tp-large,tp-small,tp-tiny]
        [--forms asis,float16,bfloat16,int8] [--json build/bench/tensor_processor_models.json] [--show]

A cell is a model in a form on a chip, and a process of its own. Forms: as the file has it; floats computed in 16 bits; a float
model quantized by us (`--quantize int8`, on samples of `model_samples`). Told is what `transload convert` says of it: which ops
stay on the host, the verification's verdict (the simulator beside the source's runtime; networks of TensorFlow beside what
TensorFlow computed), and whether the simulator gives what the kernels of dialect `tpu` give, bit for bit. What is known stays in
the JSON file, and the next run goes on from there. `--show` prints the table of what is known.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from model_samples import FOLDER, is_float, samples_for
from targets import all_models, judged, opened
from tensorflow_models import CASES

import transload
from transload.engine.quantized import quantize
from transload.errors import TransloadError
from transload.files import atomic_path
from transload.ir import QuantType
from transload.partitioning import work_of
from transload.written import written_at

CHIPS = "tp-large,tp-small,tp-tiny"
MEMORY = 8 << 30
"""Bytes that a cell may take."""
SAMPLES = 4
"""On how many a float model is calibrated."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a part of the names of models to take")
    parser.add_argument("--chips", default=CHIPS)
    parser.add_argument("--forms", default="asis", help="asis, float16, bfloat16, int8")
    parser.add_argument("--json", type=Path, default=Path("build/bench/tensor_processor_models.json"))
    parser.add_argument("--seconds", type=int, default=300, help="what a cell may take")
    parser.add_argument("--show", action="store_true", help="print what is known, and measure nothing")
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        print(json.dumps(measured(*asked.step)))
        return
    known: dict[str, Any] = json.loads(asked.json.read_text()) if asked.json.exists() else {}
    if asked.show:
        show(known)
        return
    for form in asked.forms.split(","):
        for chip in asked.chips.split(","):
            for model in all_models():
                key = f"{model}|{form}|{chip}"
                if asked.only not in model or key in known:
                    continue
                known[key] = in_a_process(model, form, chip, asked.seconds)
                print(f"{key:80} {told(known[key])}", flush=True)
                asked.json.parent.mkdir(parents=True, exist_ok=True)
                with atomic_path(asked.json) as temporary:
                    temporary.write_text(json.dumps(known, indent=1))


def in_a_process(model: str, form: str, chip: str, seconds: int) -> dict[str, Any]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    try:
        done = subprocess.run(
            [sys.executable, __file__, "--step", model, form, chip], capture_output=True, text=True, timeout=seconds, check=False,
            preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return {"verdict": "slow", "why": f"takes longer than {seconds} s"}
    lines = done.stdout.strip().splitlines()
    said = [line for line in done.stderr.strip().splitlines() if line.strip()]
    return json.loads(lines[-1]) if lines else {"verdict": "ended", "why": (said or ["without a word"])[-1][:200]}


def measured(model: str, form: str, chip: str) -> dict[str, Any]:
    """One cell; a refusal is a cell, too."""
    try:
        source, sample, wanted = opened(model)
        floats = is_float(source) if wanted is None else True
        if form != "asis" and not floats:
            return {"verdict": "", "why": "is quantized"}
        case = CASES.get(model.removeprefix("tensorflow:"))
        how: dict[str, Any] = {"options": dict(case.options) if case is not None else {}}
        if form in ("float16", "bfloat16"):
            how["options"]["floats"] = form
        if form == "int8":
            how.update(quantize="int8", data=_samples(model, source, sample))
        elif wanted is None:
            how.update(input_data=sample)
        with tempfile.TemporaryDirectory() as folder:
            compare = wanted is None or form == "int8"
            artifact = transload.convert(source, chip, folder, verify=compare, **how)
            cell = judged(artifact, sample, None if compare else wanted)
            cut = artifact.report.partition
            on_chip = artifact.module
            left = Counter(op.name for op in work_of(on_chip) if op.dialect == "top")
            return {**cell, "ops": len(work_of(on_chip)), "left": dict(left), "parts": len(cut.parts) if cut is not None else 1,
                    "same": same_bits(artifact, sample)}
    except TransloadError as error:
        findings = [f"{finding.what}: {finding.why}" for finding in getattr(error, "findings", ())][:3]
        return {"verdict": "refused", "why": "; ".join(findings) or error.message}


def _samples(model: str, source: Any, sample: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    if model.startswith("tensorflow:"):
        return [sample]
    return [dict(each) for each in samples_for(FOLDER / model, source, SAMPLES, 1)]


def same_bits(artifact: Any, sample: dict[str, np.ndarray]) -> bool:
    """Whether the simulator, and the host for what is left to it, gives what the kernels of `tpu` give."""
    states = [state.initial.numpy() for state in artifact.module.states]
    inputs = {}
    for (name, type_), array in zip(artifact.module.inputs.items(), (*sample.values(), *states), strict=True):
        stored = isinstance(type_.element, QuantType) and array.dtype.kind == "f"
        inputs[name] = quantize(array, type_.element) if stored else array
    written = written_at(artifact.directory)
    if written is None or written.run is None:
        return False
    expected = transload.run(artifact.module, inputs, engine="reference")
    found = written.run(inputs)
    return all(np.array_equal(expected[name], found[name], equal_nan=expected[name].dtype.kind == "f") for name in expected)


def told(cell: dict[str, Any]) -> str:
    """A cell in a line."""
    if cell["verdict"] in ("refused", "slow", "ended", ""):
        return f"{cell['verdict'] or '-'} {cell.get('why', '')[:100]}"
    left = ", ".join(f"{count} {name[4:]}" for name, count in cell["left"].items())
    place = f"host: {left}" if left else "wholly"
    return f"{cell['verdict']} {'same bits' if cell['same'] else 'OTHER BITS'} {place} {cell.get('why', '')[:60]}"


def show(known: dict[str, Any]) -> None:
    """The table, and sums."""
    rows: dict[str, dict[str, str]] = {}
    sums: dict[str, Counter[str]] = {}
    for key, cell in known.items():
        model, form, chip = key.split("|")
        if cell["verdict"] == "":
            continue
        rows.setdefault(model, {})[f"{chip} {form}"] = told(cell)
        counts = sums.setdefault(f"{chip} {form}", Counter())
        counts[cell["verdict"]] += 1
        counts["cells"] += 1
        counts["wholly"] += int("left" in cell and not cell["left"])
        counts["other bits"] += int("same" in cell and not cell["same"])
    for model, cells in rows.items():
        for column, text in cells.items():
            print(f"| {model} | {column} | {text} |")
    for column, counts in sums.items():
        print(column, dict(counts))


if __name__ == "__main__":
    main()
