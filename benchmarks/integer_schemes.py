"""Integers of other widths than 8, on real models: what they weigh and cost, and whether others' runtimes compute the same.

    python benchmarks/integer_schemes.py [--only CASE ...] [--scheme NAME ...] [--samples N] [--no-judges] [--json FILE]

Models and samples are those of `quantizer_models`; 32 samples calibrate, others, at most `--samples`, judge. A row is a scheme:
`w4a8`, weights of 4 bits beside activations of 8, with a scale a channel or in groups, `int16x8`, weights of 8 bits beside
activations of 16, and `int8` to compare with. `float` and `wide` are how many tensors are floats or have 16 bits because 8 do not
hold them. `dB` and `agree` are of the outputs, before a softmax, beside the float model. The judges are those of `weight_only`:
they run the converted file on a sample, and say how near it is to the quantized module, in decibels, and how many kilobytes the
file has.
"""

from __future__ import annotations

from typing import Any

from quantizer_cases import Case
from quantizer_models import rows_of_cases
from weight_only import CALIBRATE, JUDGES, judged, nearness, parser_of, show

import transload
from transload.api import at_hub
from transload.contents import constant_bytes
from transload.ir import Module
from transload.plugin import Quantized
from transload.quantization import quantize_at_hub

CASES = ("kws", "resnet8", "mobilenet_v1", "ultraface", "kwt1")
SCHEMES = ("w4a8", "int16x8", "int8")
GROUPS = (0, 32, 128)
"""Sizes of groups of weights of 4 bits; 0: all of an output channel, and integers throughout."""


def main() -> None:
    arguments = parser_of(__doc__, SCHEMES).parse_args()
    show(rows_of_cases(arguments.only or CASES, lambda case: measured(case, arguments), arguments.json))


def measured(case: Case, arguments: Any) -> Any:
    """The rows of a case, one after the other."""
    source = at_hub(transload.load(case.files[".onnx"]))
    calibration = list(case.calibration[".onnx"])[:CALIBRATE]
    judging = list(case.evaluation[".onnx"])[:arguments.samples]
    for scheme in arguments.scheme or SCHEMES:
        for group in GROUPS if scheme == "w4a8" else (0,):
            made = quantize_at_hub(source, scheme, calibration, {"q_group_size": group} if group else {})
            yield row_of(source, made, judging, case.classes, arguments.no_judges) | {"scheme": scheme, "group": group}


def row_of(source: Module, made: Quantized, judging: Any, classes: bool, no_judges: bool) -> dict[str, Any]:
    return {
        "scheme": "", "group": 0, "float": len(made.floats), "wide": len(made.report.get("islands of 16 bits", ())),
        "float kB": constant_bytes(source) / 1e3, "kB": constant_bytes(made.module) / 1e3,
        **nearness(source, made.module, judging, classes), **({} if no_judges else judged(made.module, judging[0], JUDGES))}


if __name__ == "__main__":
    main()
