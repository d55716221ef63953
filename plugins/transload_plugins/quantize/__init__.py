"""The quantizer: a float module of the hub and samples become a module that computes with integers."""

from __future__ import annotations

from typing import Any

from transload.facts import FactKind, Facts
from transload.hookspecs import hookimpl
from transload.plugin import Calibrator, Quantizer

_HERE = __name__
_BIASES = "corrects biases"
"""What samples do for quantizers of integers, and of floats of 8 bits, beside measuring (`Quantizer.samples_do`)."""
_FILES, _SAVES = ("calibration", "layers"), ("resume",)
"""Which options are tables, and where learning, and what tries much, saves how far it is (`Quantizer.files`, `saves`)."""


@hookimpl
def register_facts(register: Any) -> None:
    register(FactKind(
        "quantization", "how it is quantized: a `Rule`, or a function of the op that gives one or None", "the quantizer",
        f"{_HERE}.rules:FACT", gives=(f"{_HERE}.rules:Rule", None)))
    register(Facts("quantization", "top", f"{_HERE}.rules:QUANTIZATION"))


@hookimpl
def register_commands(register: Any) -> None:
    from .commands import calibrate, quantize
    from .search.command import search

    register(("calibrate", calibrate))
    register(("quantize", quantize))
    register(("search", search))


@hookimpl
def register_quantizers(register: Any) -> None:
    for name, doc in (
        ("int8", "8 bits, activations with a zero point, weights by channel."),
        ("int8-asym", "The same, by the name that says it."),
        ("int8-sym", "8 bits, activations symmetric, weights by channel."),
        ("int8-per-tensor", "8 bits, activations with a zero point, weights with one scale."),
        ("int16x8", "16-bit activations, 8-bit weights by channel."),
        ("uint8", "8 bits without a sign, activations with a zero point, weights signed, by channel."),
    ):
        register(Quantizer(name, f"{_HERE}.run:{name.replace('-', '_')}", doc, options=("islands", "rounds"),
                           files=_FILES, saves=_SAVES, samples_do=_BIASES,
                           finer="w8a16" if name == "int16x8" else "--method minmax or int16x8"))
    register(Quantizer("w4a8", f"{_HERE}.grouped:w4a8", "8 bits; weights of 4 bits, by channel or in groups.",
                       options=("islands", "rounds"), files=_FILES, saves=_SAVES,
                       samples_do=_BIASES, finer="--quantizer-option q_group_size=32 or int8"))
    for name in ("f16", "bf16"):
        register(Quantizer(name, f"{_HERE}.run:{name}", f"Weights and activations in {name}.", files=_FILES, saves=_SAVES))
    for name, doc in (("f8e4m3", "4 bits of exponent and 3 of fraction"), ("f8e5m2", "5 bits of exponent and 2 of fraction")):
        register(Quantizer(name, f"{_HERE}.float8:{name}", f"Products of floats of 8 bits, {doc}.",
                           files=_FILES, saves=_SAVES, samples_do=_BIASES, finer="int8 or int16x8"))
    register(Quantizer("dynamic", f"{_HERE}.dynamic:dynamic",
                       "Weights of 8 bits by channel; LiteRT rounds activations as it runs, others compute with floats.",
                       files=_FILES, saves=_SAVES, finer="--floats NAME, int8 or w8a16"))
    for name in ("int4", "w4a4"):
        register(Quantizer(name, f"{_HERE}.dynamic:dynamic", "Refused, with what to take instead.", refusal=(
            "no target computes with activations of 4 bits: TOSA, LiteRT and Ethos-U have 4 bits for weights alone, and ONNX and "
            "StableHLO store such numbers, and compute with floats",
            "w4a8 for weights of 4 bits and activations of 8, w4a16 for activations of floats, int8 for integers throughout, "
            "f8e4m3 for floats of 8 bits")))
    register(Quantizer("float", f"{_HERE}.requantize:floats", "A quantized model as one of floats."))
    for bits in (8, 4):
        doc = f"Weights of {bits} bits in groups, activations float."
        finer = "--quantizer-option q_group_size=32, asymmetric=true" + (" or w8a16" if bits == 4 else "")
        register(Quantizer(f"w{bits}a16", f"{_HERE}.weight_only:w{bits}a16", doc, files=_FILES, saves=_SAVES, finer=finer))


@hookimpl
def register_calibrators(register: Any) -> None:
    for name, doc in (
        ("auto", "For each tensor the range with the least error at the outputs of its users."),
        ("minmax", "All that was seen."),
        ("percentile", "All but one number in ten thousand at either end."),
        ("kl", "What diverges least from the distribution seen, as TPU-MLIR does it."),
        ("entropy", "The same at finer cuts, without the numbers next to zero."),
        ("mse", "The least squared error of rounding and saturation together."),
        ("aciq", "The best cut of a normal or a Laplace distribution."),
    ):
        register(Calibrator(name, f"{_HERE}.run:calibrate", doc))
