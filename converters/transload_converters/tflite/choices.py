"""What a user can choose of the conversion `tfl-to-top`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transload.options import Options
from transload_hub.choices import LOOP_OPTIONS

if TYPE_CHECKING:  # what registers the plugin is imported by every command, numpy is not
    from transload.rewrite import Rewriter

__all__ = ["OPTIONS", "chosen"]

OPTIONS: Options = {
    "hybrid": (
        ("exact", "float"), "exact",
        "float activations with integer weights: as LiteRT's hybrid kernels compute, or in floats with the real weights"),
    "state": (
        ("zero", "explicit"), "zero",
        "variables and recurrent state: they begin anew at each run, or are inputs and outputs of the model"),
    "gates": (
        ("exact", "table"), "exact",
        "sigmoid and tanh in an LSTM of integers: as LiteRT's, to the last bit, or by tables of 513 entries as chips have them"),
    "postprocess": (
        ("lower", "custom"), "lower",
        "non-maximum suppression and detection post-processing: as ordinary operations, or as one custom operation each"),
    **LOOP_OPTIONS,
}


def chosen(rw: Rewriter, name: str) -> Any:
    """What the user chose of an option, or its default."""
    return rw.options.get(name, OPTIONS[name][1])
