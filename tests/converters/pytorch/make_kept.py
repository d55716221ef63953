"""Write the networks as `.pt2` archives, by torch.export, with inputs and what PyTorch computes of them beside.

    pip install torch torchao
    python -m tests.converters.pytorch.make_kept [FOLDER [NAME ...]]

torch is too large for an ordinary test run, so what this makes is kept in `tests/converters/pytorch/kept`. What nobody reads
is left out of it: example inputs, which are a pickle, and where in which file each call was written.
"""

from __future__ import annotations

import copy
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.converters.pytorch import torchvision_ops  # declares torchvision's operators, where it does not itself
from tests.converters.pytorch.networks import NETWORKS, Network

__all__ = ["exported", "slimmed"]


def exported(name: str, path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Write a network's archive; its inputs, and what PyTorch computes of them, eagerly."""
    torchvision_ops.declare()
    made: Network = NETWORKS[name]()
    with torch.no_grad():
        program = torch.export.export(made.model, made.example, dynamic_shapes=made.dynamic)
        torch.export.save(program, path)
        outputs = copy.deepcopy(made.model)(*[x.clone() for x in made.given])
    found = torch.utils._pytree.tree_leaves(outputs)
    return [x.numpy() for x in made.given], [x.numpy() for x in found]


def slimmed(path: Path) -> None:
    """Write an archive again without what nobody reads, tensors stored as they were, text compressed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if "/sample_inputs/" not in name}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            text = name.endswith(".json")
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED if text else zipfile.ZIP_STORED
            archive.writestr(info, json.dumps(_without_traces(json.loads(data))).encode() if text else data)


def _without_traces(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_traces(each) for key, each in value.items() if key not in ("stack_trace", "torch_fn")}
    return [_without_traces(each) for each in value] if isinstance(value, list) else value


def main(folder: str = str(Path(__file__).parent / "kept"), *names: str) -> None:
    """Write each network's `NAME.pt2` and `NAME.npz` (`in0`, ..., `out0`, ...) into a folder."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name in names or NETWORKS:
        file = place / f"{name}.pt2"
        inputs, outputs = exported(name, file)
        slimmed(file)
        arrays = {f"in{i}": a for i, a in enumerate(inputs)} | {f"out{i}": a for i, a in enumerate(outputs)}
        np.savez_compressed(place / f"{name}.npz", **arrays)  # type: ignore[arg-type]
        print(f"{name}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
