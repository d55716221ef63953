"""Weights alone in few bits, on real models: what they weigh, what they cost, and whether others' runtimes compute the same.

    python benchmarks/weight_only.py [--only CASE ...] [--group N ...] [--scheme NAME ...] [--samples N] [--no-judges]

Models and samples are those of `quantizer_models`; 32 samples calibrate, others, at most `--samples`, judge. A row is a scheme, a
group size, symmetric or with zero points, and how weights are rounded: to the nearest, or against each other on samples. `bits`
are those of a weight with its share of scales and zero points. `dB` and `agree` are of the outputs, before a softmax, beside the
float model. The judges run the converted file on a sample, and say how near it is to the quantized module, in decibels, and how
many kilobytes the file has: onnxruntime (optimized, but with activations of MatMulNBits in floats), LiteRT's reference kernels,
the TOSA reference model, and XLA.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from quantizer_cases import Case, Sample
from quantizer_models import MODELS, rows_of_cases
from quantizer_tools import tflite_run
from rich.console import Console
from rich.table import Table

import transload
from transload.api import at_hub
from transload.errors import UsageError
from transload.evaluation.running import models_ready, run_ahead
from transload.ir import Module
from transload.metrics import sqnr
from transload.quantization import quantize_at_hub

CASES = ("mobilenet_v1", "resnet8", "kwt1", "super_resolution")
CALIBRATE = 32
Arrays = Sequence[np.ndarray]
Judges = Mapping[str, tuple[str, str, Callable[[Module, Path, Sample], Arrays]]]


def parser_of(doc: str | None, schemes: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The options that benchmarks of schemes have in common."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(MODELS), action="append", help="this model; repeatable")
    parser.add_argument("--samples", type=int, default=100, help="that judge, at most")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    if schemes:
        parser.add_argument("--scheme", choices=schemes, action="append", help="this scheme; repeatable")
        parser.add_argument("--no-judges", action="store_true", help="run no converted files")
    return parser


def main() -> None:
    parser = parser_of(__doc__, ("w4a16", "w8a16"))
    parser.add_argument("--group", type=int, action="append", help="this size of groups, 0 for a channel; repeatable")
    parser.add_argument("--effort", choices=("default", "best"), default="default", help="of the rows on samples")
    arguments = parser.parse_args()
    show(rows_of_cases(arguments.only or CASES, lambda case: measured(case, arguments), arguments.json))


def measured(case: Case, arguments: argparse.Namespace) -> Any:
    """The rows of a case, one after the other."""
    source = at_hub(transload.load(case.files[".onnx"]))
    calibration = list(case.calibration[".onnx"])[:CALIBRATE]
    judging = list(case.evaluation[".onnx"])[:arguments.samples]
    for scheme in arguments.scheme or ("w4a16", "w8a16"):
        for group in arguments.group if arguments.group is not None else (32, 128, 0):
            for asymmetric in (False, True):
                for rounding in (False, True):
                    options = {"q_group_size": group, "asymmetric": asymmetric, "rounding": rounding}
                    if rounding:
                        options["effort"] = arguments.effort
                    made = quantize_at_hub(source, scheme, calibration, options)
                    told = made.report["weights"]
                    judges = {} if arguments.no_judges or not rounding else judged(made.module, judging[0])
                    held = told["bytes of integers"] + told["bytes of scales"]
                    if arguments.effort == "best" and rounding:
                        judges = {"effort": made.report["effort"]["scaling"], "scaled": len(told.get("scaled", ())), **judges}
                    yield {
                        "scheme": scheme, "group": group, "zero points": asymmetric, "on samples": rounding,
                        "float kB": told["bytes before"] / 1e3, "kB": held / 1e3, "bits": 32 * held / told["bytes before"],
                        **nearness(source, made.module, judging, case.classes), **judges}


def nearness(floats: Module, made: Module, samples: Sequence[Sample], classes: bool) -> dict[str, Any]:
    """How near the outputs are, all samples together; of several the least near."""
    models = models_ready([floats, made], {}, "auto")
    pairs = []
    for _, outputs in run_ahead(models, ((str(number), [sample, sample]) for number, sample in enumerate(samples))):
        pairs.append([[np.asarray(array) for array in each().values()] for each in outputs])
    wanted, found = ([np.stack(arrays) for arrays in zip(*each, strict=True)] for each in zip(*pairs, strict=True))
    result: dict[str, Any] = {"dB": min(sqnr(y, q) for y, q in zip(wanted, found, strict=True))}
    if classes:
        result["agree"] = 100.0 * float(np.mean(wanted[0].argmax(axis=-1) == found[0].argmax(axis=-1)))
    return result


def judged(module: Module, sample: Sample, judges: Judges | None = None) -> dict[str, Any]:
    """By each runtime how near what it computes is to the quantized module, and how large the file is that it is given.

    Without `judges` by all.
    """
    wanted = [np.asarray(array) for array in transload.run(module, sample, engine="reference").values()]
    result: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        for name, (target, ending, run) in (judges or JUDGES).items():
            path = Path(folder) / f"model.{ending}"
            lowered = lowered_for(module, target)
            transload.save(lowered, path)
            found = run(lowered, path, sample)
            result[name] = min(sqnr(y, np.asarray(q).reshape(y.shape)) for y, q in zip(wanted, found, strict=True))
            result[f"{name} kB"] = path.stat().st_size / 1e3
    return result


def lowered_for(module: Module, target: str) -> Module:
    """A module in a dialect, as the target of that name has it; floats go to StableHLO by a way that knows no integers."""
    try:
        return transload.lower(module, target, **AS_TARGETS.get(target, {}))
    except UsageError:
        return transload.lower(module, target)


def by_onnxruntime(module: Module, path: Path, sample: Sample) -> Arrays:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    found: Arrays = session.run(list(module.outputs), dict(sample))
    return found


def by_litert(module: Module, path: Path, sample: Sample) -> Arrays:
    arrays = {name: array if type_.static_shape == array.shape else array.transpose(0, 2, 3, 1)
              for (name, array), type_ in zip(sample.items(), module.inputs.values(), strict=True)}
    found = tflite_run(path.read_bytes())(arrays)
    return [found[name] for name in module.outputs]


def by_reference_model(module: Module, path: Path, sample: Sample) -> Arrays:
    import tosa_reference_model

    given = [np.ascontiguousarray(array.reshape(type_.static_shape))
             for array, type_ in zip(sample.values(), module.inputs.values(), strict=True)]
    outputs, status = tosa_reference_model.run(path.read_bytes(), given, tosa_level="NONE")
    if status != tosa_reference_model.GraphStatus.TOSA_VALID:
        raise SystemExit(f"the TOSA reference model refuses {path.name}: {status.name}")
    return list(outputs)


def by_xla(module: Module, path: Path, sample: Sample) -> Arrays:
    return list(transload.run(module, sample, engine="xla").values())


JUDGES: Judges = {
    "onnxruntime": ("onnx", "onnx", by_onnxruntime),
    "LiteRT": ("tfl", "tflite", by_litert),
    "TOSA": ("tosa", "tosa", by_reference_model),
    "XLA": ("stablehlo", "mlirbc", by_xla),
}


AS_TARGETS: Mapping[str, Mapping[str, Any]] = {"tosa": {"int4": True}, "stablehlo": {"int4": True}}
"""What targets of these dialects ask a conversion for."""


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """All figures, as a table a case."""
    for case in dict.fromkeys(row["case"] for row in rows):
        mine = [row for row in rows if row["case"] == case]
        columns = list(dict.fromkeys(key for row in mine for key in row if key != "case"))
        table = Table(*columns, title=case)
        for row in mine:
            table.add_row(*(_text(row.get(column, "")) for column in columns))
        Console(width=200).print(table)


def _text(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float) else "yes" if value is True else "" if value is False else str(value)


if __name__ == "__main__":
    main()
