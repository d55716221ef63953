"""Write the PyTorch networks as StableHLO, by torch.export and torch-mlir, with inputs and outputs beside them.

    pip install torch torch-mlir
    python -m tests.networks.make_torch [FOLDER [NAME ...]]

torch is too large for an ordinary test run, so what this makes is kept in `tests/networks/torch`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

from tests.networks.torch_networks import NETWORKS


def exported(name: str) -> tuple[str, list[np.ndarray], list[np.ndarray]]:
    """A network as StableHLO text, its inputs, and what PyTorch computes of them."""
    from torch_mlir import fx

    model, inputs = NETWORKS[name]()
    with torch.no_grad():
        outputs = model(*inputs)
    module = fx.export_and_import(model, *inputs, output_type="stablehlo", func_name="main")
    found = outputs if isinstance(outputs, tuple) else (outputs,)
    return str(module), [x.numpy() for x in inputs], [x.numpy() for x in found]


def main(folder: str = str(Path(__file__).parent / "torch"), *names: str) -> None:
    """Write each network's `NAME.mlir` and `NAME.npz` (`in0`, ..., `out0`, ...) into a folder."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name in names or NETWORKS:
        text, inputs, outputs = exported(name)
        (place / f"{name}.mlir").write_text(text, encoding="utf-8")
        arrays = {f"in{i}": a for i, a in enumerate(inputs)} | {f"out{i}": a for i, a in enumerate(outputs)}
        np.savez_compressed(place / f"{name}.npz", **arrays)  # type: ignore[arg-type]
        print(f"{name}: {len(text)} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
