"""Weights of 8 bits whose activations LiteRT rounds as it runs, on real models: what they cost, and what the file means.

    python benchmarks/dynamic.py [--only CASE ...] [--samples N] [--json FILE]

Models and samples are those of `quantizer_models`; none calibrates. `hub` and `LiteRT` are how near the quantized module, which
computes with floats, and LiteRT's reference kernels with the `.tflite` file are to the float model, in decibels, all samples
together, before a softmax; `agree` is LiteRT's share of samples with the same answer. `read` is how near the same file, read back
with `hybrid=exact`, is to LiteRT, and `weights` how near it is with `hybrid=float` to the hub's module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from quantizer_cases import Case
from quantizer_models import rows_of_cases
from quantizer_tools import tflite_run
from weight_only import parser_of, show

import transload
from transload.api import at_hub
from transload.ir import Module
from transload.metrics import sqnr
from transload.plugin import resolve
from transload.plugin_host import host
from transload.quantization import quantize_at_hub

READ = 8
"""Samples on which the file that is read back runs, op by op: compiled, sums differ in last bits, which rounding makes steps."""
CASES = ("kws", "resnet8", "mobilenet_v1", "kwt1", "ultraface")


def main() -> None:
    arguments = parser_of(__doc__).parse_args()
    show(rows_of_cases(arguments.only or CASES, lambda case: [measured(case, arguments.samples)], arguments.json))


def measured(case: Case, most: int) -> dict[str, Any]:
    """The row of a case."""
    source = at_hub(transload.load(case.files[".onnx"]))
    made = quantize_at_hub(source, "dynamic", None, {})
    lowered = transload.lower(made.module, "tfl")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.tflite"
        transload.save(lowered, path)
        back, kilobytes, run = transload.load(path), path.stat().st_size / 1e3, tflite_run(path.read_bytes())
        exact, floats = (transload.lower(back, "top", hybrid=word) for word in ("exact", "float"))
        found: dict[str, list[list[np.ndarray]]] = {name: [] for name in ("float", "hub", "LiteRT", "exact", "floats")}
        ready = {"float": prepared(source, "xla"), "hub": prepared(made.module, "xla"), "exact": prepared(exact, "reference"),
                 "floats": prepared(floats, "xla")}
        for number, sample in enumerate(list(case.evaluation[".onnx"])[:most]):
            arrays = {name: array if type_.static_shape == array.shape else array.transpose(0, 2, 3, 1)
                      for (name, array), type_ in zip(sample.items(), lowered.inputs.values(), strict=True)}
            theirs = run(arrays)
            outputs = {"LiteRT": [theirs[name] for name in lowered.outputs],
                       **{name: ready[name](sample) for name in ("float", "hub")}, "floats": ready["floats"](arrays)}
            if number < READ:
                outputs["exact"] = ready["exact"](arrays)
            for name, each in outputs.items():
                shapes = [array.shape for array in outputs["float"]]
                found[name].append([np.asarray(array).reshape(shape) for array, shape in zip(each, shapes, strict=True)])

    def near(a: str, b: str) -> float:
        count = min(len(found[a]), len(found[b]))
        return min(sqnr(np.stack(x), np.stack(y)) for x, y in
                   zip(zip(*found[a][:count], strict=True), zip(*found[b][:count], strict=True), strict=True))

    told = made.report["weights"]
    row = {"layers": len(made.report["layers by their range"]), "float": len(made.floats or {}),
           "float kB": told["bytes before"] / 1e3, "kB": told["bytes"] / 1e3, "file kB": kilobytes,
           "hub": near("float", "hub"), "LiteRT": near("float", "LiteRT"), "read": near("LiteRT", "exact"),
           "weights": near("hub", "floats")}
    if case.classes:
        answers = [np.array([each[0].argmax() for each in found[name]]) for name in ("float", "LiteRT")]
        row["agree"] = 100.0 * float(np.mean(answers[0] == answers[1]))
    return row


def prepared(module: Module, engine: str) -> Callable[[Mapping[str, np.ndarray]], list[np.ndarray]]:
    """What gives a module's outputs."""
    run = resolve(host().get("engines", engine).prepare)(module, "main")
    return lambda sample: list(run(dict(zip(module.inputs, sample.values(), strict=True)), False).values())


if __name__ == "__main__":
    main()
