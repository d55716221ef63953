"""Floats of 8 bits, on real models: what they weigh, what they cost, and whether others' runtimes compute the same.

    python benchmarks/float8.py [--only CASE ...] [--scheme NAME ...] [--samples N] [--no-judges] [--json FILE]

Models and samples are those of `quantizer_models`; 32 samples calibrate, others, at most `--samples`, judge. A row is a scheme,
with all products in floats of 8 bits and with those that cost most left as they are (`islands`, the default). `dB` and `agree`
are of the outputs, before a softmax, beside the float model. The judges are those of `weight_only`, without LiteRT, which has no
such floats: they run the converted file on a sample, and say how near it is to the quantized module, in decibels, and how many
kilobytes the file has.
"""

from __future__ import annotations

import argparse
from typing import Any

from quantizer_cases import Case
from quantizer_models import rows_of_cases
from weight_only import CALIBRATE, JUDGES, judged, nearness, parser_of, show

import transload
from transload.api import at_hub
from transload.quantization import quantize_at_hub

CASES = ("kws", "resnet8", "mobilenet_v1", "kwt1", "ultraface")
SCHEMES = ("f8e4m3", "f8e5m2")


def main() -> None:
    arguments = parser_of(__doc__, SCHEMES).parse_args()
    show(rows_of_cases(arguments.only or CASES, lambda case: measured(case, arguments), arguments.json))


def measured(case: Case, arguments: argparse.Namespace) -> Any:
    """The rows of a case, one after the other."""
    source = at_hub(transload.load(case.files[".onnx"]))
    calibration = list(case.calibration[".onnx"])[:CALIBRATE]
    judging = list(case.evaluation[".onnx"])[:arguments.samples]
    judges = {name: judge for name, judge in JUDGES.items() if name != "LiteRT"}
    for scheme in arguments.scheme or SCHEMES:
        for islands in ("none", "float"):
            made = quantize_at_hub(source, scheme, calibration, {"islands": islands})
            told, words = made.report["weights"], list(made.report["layers"].values())
            yield {
                "scheme": scheme, "layers": len(words), "float": words.count("F32"),
                "float kB": told["bytes before"] / 1e3, "kB": told["bytes"] / 1e3,
                **nearness(source, made.module, judging, case.classes),
                **({} if arguments.no_judges else judged(made.module, judging[0], judges))}


if __name__ == "__main__":
    main()
