"""Write the JAX networks as StableHLO portable artifacts, with inputs and outputs beside them.

    python -m tests.networks.make_jax FOLDER [NAME ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
from jax import export

from tests.networks.jax_networks import INTEGER_NETWORKS, NETWORKS


def exported(name: str) -> tuple[bytes, dict[str, np.ndarray], list[np.ndarray]]:
    """A network's `jax.export` module as StableHLO text, its inputs by name, and what JAX computes of them."""
    forward, inputs = {**NETWORKS, **INTEGER_NETWORKS}[name]()
    arrays = list(inputs.values())
    whole = export.export(jax.jit(forward))(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays))
    outputs = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(forward)(*arrays))]
    return whole.mlir_module().encode(), inputs, outputs


def main(folder: str, *names: str) -> None:
    """Write each network's `NAME.mlir` and `NAME.npz` (`in0`, ..., `out0`, ...) into a folder."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name in names or (*NETWORKS, *INTEGER_NETWORKS):
        text, inputs, outputs = exported(name)
        (place / f"{name}.mlir").write_bytes(text)
        arrays = {f"in{i}": a for i, a in enumerate(inputs.values())} | {f"out{i}": a for i, a in enumerate(outputs)}
        np.savez_compressed(place / f"{name}.npz", **arrays)  # type: ignore[arg-type]
        print(f"{name}: {len(text)} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
