"""What a user can choose of the conversions from and to ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transload.options import Options

if TYPE_CHECKING:  # what registers the plugin is imported by every command, numpy is not
    from transload.rewrite import Rewriter

__all__ = ["OPTIONS", "WRITTEN", "chosen"]

OPTIONS: Options = {
    "random": (
        ("refuse", "drawn"), "refuse",
        "random numbers: refused, or drawn once, by the model's seeds (0 where it has none), and the same in every run"),
    "found": (
        ("refuse", "padded"), "refuse",
        "what is found in data (NonMaxSuppression, NonZero): refused, or as many as there can be, -1 where there is nothing"),
}

WRITTEN: Options = {
    "opset": (int, 0, "the opset to write, 13 to 21; 0: 21, and 20 for quantized models where it has words for them"),
    "form": (
        ("auto", "qdq", "qoperator", "integers"), "auto",
        "quantized operators: on floats between DequantizeLinear and QuantizeLinear (qdq), on integers where there are such "
        "(qoperator), or written out in the integers that they stand for, to the last bit (integers); auto: integers where "
        "operators round otherwise than qdq does, as TFLite's, qoperator where the model has such operators (QLinearConv, "
        "QLinearMatMul, QLinearAdd, QLinearMul)"),
    "weights": (
        ("signed", "unsigned"), "signed",
        "integers of 8 bits that weights are stored as in QDQ form: unsigned ones stand for the same numbers, and onnxruntime "
        "multiplies them without saturating on x86 processors that lack VNNI, and slower on others"),
    "bits": (
        ("64", "32"), "64",
        "the widest numbers in which integers are written out: 32 for runtimes that compute those of 64 bits in 32 (OpenVINO)"),
}
"""Those of the conversion `top-to-onnx`."""


def chosen(rw: Rewriter, name: str) -> Any:
    """What the user chose of an option, or its default."""
    return rw.options.get(name, OPTIONS[name][1])
