"""Integers that we made of a float network, by every way out: the same bits wherever integers say what they are.

    python benchmarks/quantized_out.py [MODEL ...] [--scheme int8] [--samples 8] [--json FILE]

Each model is quantized by the default settings on 16 samples, goes out in every form, and is run on others (`model_samples`):

- our engines: the reference engine on the module of the hub (what the rest is compared with), and on StableHLO's form
- TOSA: our engine, and Arm's reference model on the `.tosa` file
- `.tflite`: LiteRT's reference kernels
- `.onnx` in QDQ form: onnxruntime at its four levels of optimization, which computes in floats, or in integers of its own

`same` counts outputs of samples whose bits are the same; other numbers are the share of an output's numbers that differ and by
how many steps of its scale at most. What goes out as ONNX is quantized as `convert --target onnx` does it.

onnxruntime does not say what a quantized model gives: a number that float sums bring to the other side of a middle is another
step, from level to level, and so are all that are computed of it. So its levels are runtimes of their own, and our integers are
one more. The distance of two is the root of the mean square of an output's differences, in steps of its scale, of a sample. Told,
in the mean of samples: how far we are from the nearest level and from the farthest, how far two levels that are farthest apart
are from each other, and on how many samples we are as near to a level as those two are, or nearer. One thread is used: more
change nothing.

`float64` is what the ONNX file means, by ONNX's reference evaluator on floats of 64 bits (`qdq_in_float64`), on the first
samples. By it the spread is that of rounding in float32: told are how far the nearest level, and how far we, are from it.

Without models: those of MLPerf Tiny and of the quantizer's goals, in the folder that `TRANSLOAD_MODELS` names. Each model is a
process of its own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from model_samples import FOLDER, Sample, load, samples_for
from peer import run_step
from qdq_in_float64 import opened
from rich.console import Console
from rich.table import Table

import transload
from transload.api import at_hub
from transload.errors import TransloadError
from transload.ir import Module
from transload.quantization import floats_in
from transload_targets.onnx.target import OnnxTarget

CALIBRATED = 16
IN_FLOAT64 = 8
"""Samples that are computed in float64, which takes its time."""
GOALS = (
    "tflite/mlperf_resnet8_float", "tflite/mlperf_kws_float", "tflite/mlperf_vww_float", "tflite/mlperf_ad_float",
    "onnx/derived_mobilenet_v1_0.25_224_f32", "onnx/ultraface_rfb_320", "onnx/yunet_n_320", "onnx/super_resolution",
    "onnx/derived_kwt1_transformer_f32", "tflite/support_deeplabv3_float")
Outputs = dict[str, np.ndarray]
Run = Callable[[Sample], Outputs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="float models, .onnx or .tflite")
    parser.add_argument("--scheme", default="int8")
    parser.add_argument("--samples", type=int, default=24, help="how many to judge by")
    parser.add_argument("--form", choices=FORMS, action="append", help="this form; repeatable; without, all")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    forms = arguments.form or list(FORMS)
    if arguments.step:
        print(json.dumps(measured(Path(arguments.step[1]), arguments.scheme, arguments.samples, forms)))
        return
    options = ["--scheme", arguments.scheme, "--samples", str(arguments.samples), *(f"--form={form}" for form in forms)]
    rows = []
    for path in arguments.models or [next((FOLDER / name).glob("*.*")) for name in GOALS]:
        rows.append({"model": path.parent.name} | run_step(__file__, "measured", path, options=options))
    show(rows, forms)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


def measured(path: Path, scheme: str, count: int, forms: Sequence[str]) -> dict[str, Any]:
    """For each form how far its outputs are from the hub's; or why there are none."""
    source = load(path)
    hub = at_hub(source, quantizing=True)
    samples = samples_for(path, hub, count, 2)
    row: dict[str, Any] = {}
    for as_onnx in (False, True):
        those = [form for form in forms if (form in AS_ONNX) == as_onnx]
        if not those:
            continue
        module = transload.quantize(hub, scheme, samples_for(path, hub, CALIBRATED, 1), **(ONNX if as_onnx else {}))
        wanted = [transload.run(module, sample, engine="reference") for sample in samples]
        steps = {name: step_of(module, number) for number, name in enumerate(module.outputs)}
        row["floats in ONNX" if as_onnx else "floats"] = len(floats_in(module))
        given: dict[str, list[Outputs]] = {}
        with TemporaryDirectory() as folder:
            for form in those:
                try:
                    run = FORMS[form](module, Path(folder))
                    given[form] = [run(sample) for sample in samples[: IN_FLOAT64 if form == "float64" else None]]
                    row[form] = far(wanted, given[form], steps)
                except Exception as error:  # runtimes have errors of their own
                    row[form] = {"error": f"{type(error).__name__}: {str(error)[:400]}"}
        if levels := [given[form] for form in LEVELS if form in given]:
            row["spread"] = spread(wanted, levels, steps) | from_float64(wanted, levels, given.get("float64", ()), steps)
    return row


def step_of(module: Module, number: int) -> float:
    """The step of an output's last quantized form; 1 where it has none."""
    value = module.body_of_main.last.operands[number]
    while value.op is not None and value.quant is None and len(value.op.operands) >= 1 and value.op.name != "top.Weight":
        value = value.op.operands[0]
    return float(value.quant.scales[0]) if value.quant is not None and value.quant.per_tensor else 1.0


def spread(ours: Sequence[Outputs], levels: Sequence[Sequence[Outputs]], steps: Mapping[str, float]) -> dict[str, float]:
    """How far onnxruntime's levels are from us and from each other, in steps, in the mean of samples; see the module."""
    from_us = np.array([distances(ours, level, steps) for level in levels])
    between = np.array([np.zeros(len(ours)), *(distances(*pair, steps) for pair in combinations(levels, 2))])
    nearest, farthest, apart = from_us.min(axis=0), from_us.max(axis=0), between.max(axis=0)
    return {"nearest": float(nearest.mean()), "farthest": float(farthest.mean()), "levels": float(apart.mean()),
            "within": int(np.sum(nearest <= apart)), "of": len(ours)}


def from_float64(
    ours: Sequence[Outputs], levels: Sequence[Sequence[Outputs]], real: Sequence[Outputs], steps: Mapping[str, float],
) -> dict[str, float]:
    """How far onnxruntime's nearest level, and we, are from what the file means, in steps, in the mean of its samples."""
    if not real:
        return {}
    theirs = np.array([distances(real, level[: len(real)], steps) for level in levels])
    return {"theirs from float64": float(theirs.min(axis=0).mean()),
            "ours from float64": float(distances(real, ours[: len(real)], steps).mean())}


def distances(one: Sequence[Outputs], other: Sequence[Outputs], steps: Mapping[str, float]) -> np.ndarray:
    """The root of the mean square of the differences in steps, of each sample [S], in the mean of outputs."""
    return np.array([
        np.mean([np.sqrt(np.mean(((a.astype(np.float64) - b) / steps[name]) ** 2))
                 for (name, a), b in zip(here.items(), there.values(), strict=True)])
        for here, there in zip(one, other, strict=True)])


def far(wanted: Sequence[Outputs], given: Sequence[Outputs], steps: Mapping[str, float]) -> dict[str, Any]:
    """How many outputs of samples are the same, and of the others how many numbers differ and by how many steps at most."""
    same = total = different = numbers = 0
    most = 0.0
    for one, other in zip(wanted, given, strict=False):  # in float64 there are fewer
        for (name, array), found in zip(one.items(), other.values(), strict=True):
            total, numbers = total + 1, numbers + array.size
            same += np.array_equal(array, found)
            different += int(np.sum(array != found))
            distance = np.abs(array.astype(np.float64) - found.astype(np.float64)).max(initial=0.0)
            most = max(most, float(distance) / steps[name])
    return {"same": same, "of": total, "differ": different / max(numbers, 1), "steps": most}


# --- the forms


def by_stablehlo(module: Module, folder: Path) -> Run:
    lowered = transload.lower(module, "stablehlo")
    return lambda sample: transload.run(lowered, sample)


def by_tosa(module: Module, folder: Path) -> Run:
    lowered = transload.lower(module, "tosa")
    return lambda sample: transload.run(lowered, sample, engine="reference")


def by_reference_model(module: Module, folder: Path) -> Run:
    import tosa_reference_model

    lowered = transload.lower(module, "tosa")
    content = transload.save(lowered, folder / "model.tosa").read_bytes()
    names = list(module.outputs)

    def run(sample: Sample) -> Outputs:
        outputs, status = tosa_reference_model.run(content, [np.ascontiguousarray(sample[name]) for name in lowered.inputs])
        if str(status).rsplit(".", 1)[-1] != "TOSA_VALID":
            raise TransloadError(f"the TOSA reference model says {status}")
        return dict(zip(names, outputs, strict=True))

    return run


def by_litert(module: Module, folder: Path) -> Run:
    from transload_converters.tflite.runtime import open_model

    lowered = transload.lower(module, "tfl")
    return open_model(transload.save(lowered, folder / "model.tflite"))


def by_onnxruntime(level: str) -> Callable[[Module, Path], Run]:
    def opened(module: Module, folder: Path) -> Run:
        import onnxruntime

        path = transload.save(transload.lower(module, "onnx"), folder / "model.onnx")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_{level}")
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return lambda sample: dict(zip(names, session.run(names, dict(sample)), strict=True))

    return opened


def by_float64(module: Module, folder: Path) -> Run:
    return opened(transload.save(transload.lower(module, "onnx"), folder / "real.onnx"))


def by_our_reading(module: Module, folder: Path) -> Run:
    again = transload.load(transload.save(transload.lower(module, "onnx"), folder / "again.onnx"))
    return lambda sample: transload.run(again, sample, engine="reference")


LEVELS = {
    "ort off": by_onnxruntime("DISABLE_ALL"), "ort basic": by_onnxruntime("ENABLE_BASIC"),
    "ort extended": by_onnxruntime("ENABLE_EXTENDED"), "ort all": by_onnxruntime("ENABLE_ALL")}
FORMS: dict[str, Callable[[Module, Path], Run]] = {
    "stablehlo": by_stablehlo, "tosa": by_tosa, "reference model": by_reference_model, "litert": by_litert, **LEVELS,
    "float64": by_float64, "our reading": by_our_reading}
AS_ONNX = {*LEVELS, "float64", "our reading"}
"""Forms of the module that is quantized for ONNX; the others' are as `transload.quantize` makes them by default."""
ONNX = dict(OnnxTarget.quantizing)


# --- the table


def show(rows: Sequence[Mapping[str, Any]], forms: Sequence[str]) -> None:
    table = Table(
        "model", "float ops", *forms,
        "in steps: the nearest level, the farthest; between them; within; from float64: they, we")
    for row in rows:
        floats = "/".join(str(row[key]) for key in ("floats", "floats in ONNX") if key in row)
        table.add_row(row["model"], floats, *(_text(row.get(form)) for form in forms), _spread(row.get("spread")))
    console = Console(width=190)
    console.print(table)
    for row in rows:
        for name, why in _errors(row):
            console.print(f"{row['model']}, {name}: {why}", markup=False)


def _text(found: Mapping[str, Any] | None) -> str:
    if found is None or "error" in found:
        return "-"
    if found["same"] == found["of"]:
        return f"same {found['of']}"
    return f"same {found['same']} of {found['of']}, {100 * found['differ']:.2g} %, {found['steps']:.3g} steps"


def _spread(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    real = f"; {found['theirs from float64']:.3f}, {found['ours from float64']:.3f}" if "ours from float64" in found else ""
    return f"{found['nearest']:.3f}, {found['farthest']:.3f}; {found['levels']:.3f}; {found['within']} of {found['of']}{real}"


def _errors(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "error" in row:
        yield "quantizing", row["error"]
    for name, found in row.items():
        if isinstance(found, dict) and "error" in found:
            yield name, found["error"]


if __name__ == "__main__":
    main()
