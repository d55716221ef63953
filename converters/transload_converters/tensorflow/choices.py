"""What a user can choose of the conversion `tf-to-top`."""

from __future__ import annotations

from transload.options import Options
from transload_hub.choices import LOOP_OPTIONS

__all__ = ["OPTIONS"]

OPTIONS: Options = {
    **LOOP_OPTIONS,
    "fake_quant": (
        ("litert", "once"), "litert",
        "how integers that FakeQuant nodes made are rounded: as LiteRT's kernels do, for which such models are trained, or once, "
        "to what the nodes compute"),
    "random": (
        ("refuse", "drawn"), "refuse",
        "random numbers: refused, or drawn once, those of TensorFlow's first run with the model's seeds"),
}
