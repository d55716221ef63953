"""Writes a TFLite model with Acme's custom op: `python -m transload_acme.make_model OUT.tflite [--int8]`."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from transload_converters.tflite.writer import ModelWriter


def make_model(int8: bool = False, gain: float = 1.5) -> bytes:
    """`y = HardMish(x)` on a 1×4×4×2 tensor."""
    writer = ModelWriter(description="Acme HardMish")
    dtype = "int8" if int8 else "float32"
    quantization = [([0.05], [3]), ([0.07], [-100])] if int8 else [None, None]
    x = writer.add_tensor("x", (1, 4, 4, 2), dtype, quantization=quantization[0])
    y = writer.add_tensor("y", (1, 4, 4, 2), dtype, quantization=quantization[1])
    writer.add_custom_operator("AcmeHardMish", [x], [y], struct.pack("<f", gain))
    writer.inputs, writer.outputs = [x], [y]
    return writer.finish()


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--int8"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    Path(arguments[0]).write_bytes(make_model("--int8" in sys.argv))


if __name__ == "__main__":
    main()
