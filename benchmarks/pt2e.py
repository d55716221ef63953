"""Layers and networks that torchao's pt2e quantizes: how many numbers are PyTorch's own, with finer and with plain biases.

    pip install torch torchao torchvision
    python benchmarks/pt2e.py [--only conv-3x3 ...] [--networks mobilenet_v2 ...]

pt2e leaves floats between `dequantize` and `quantize`; the hub, TOSA and StableHLO compute integers. Each layer is calibrated,
quantized, exported, read here and run on new inputs. What is told is the share of its numbers that lie another step than
PyTorch's, in parts of a million: of PyTorch itself in float64, and of TOSA (reference engine) with `bias=fine`, the default, and
`bias=plain`, what chips add that have one accumulator. Of networks, where a number that is another step moves others behind it:
how many steps the results lie from PyTorch's, on average.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import transload

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for `tests`, from wherever it is called
from tests.converters.pytorch.pt2e import quantized_by_pt2e

LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "conv-first": (lambda: nn.Conv2d(3, 32, 3, 2, 1), (4, 3, 128, 128)),
    "conv-1x1": (lambda: nn.Conv2d(64, 128, 1), (4, 64, 32, 32)),
    "conv-3x3": (lambda: nn.Conv2d(64, 64, 3, padding=1), (4, 64, 32, 32)),
    "conv-3x3-deep": (lambda: nn.Conv2d(512, 512, 3, padding=1), (4, 512, 8, 8)),
    "depthwise": (lambda: nn.Conv2d(64, 64, 3, padding=1, groups=64), (4, 64, 32, 32)),
    "groups": (lambda: nn.Conv2d(64, 64, 3, padding=1, groups=4), (4, 64, 32, 32)),
    "linear": (lambda: nn.Linear(768, 3072), (64, 768)),
    "linear-no-bias": (lambda: nn.Linear(768, 3072, bias=False), (64, 768)),
    "conv-relu": (lambda: nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()), (4, 64, 32, 32)),
}


class InDouble(torch.fx.Interpreter):
    """A quantized program whose floats are of 64 bits, but for the scales."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        name = str(target)
        if "quantize_per" not in name:
            args = torch.utils._pytree.tree_map_only(
                torch.Tensor, lambda x: x.double() if x.is_floating_point() else x, args)
            return super().call_function(target, args, kwargs)
        if "dequantize" in name:
            return super().call_function(target, args, kwargs).double()
        value, scale, point, low, high, dtype = args
        steps = torch.round(value.double() / scale) + point
        return torch.clamp(steps, low, high).to(dtype)


def stepped(program: Any, inputs: Sequence[torch.Tensor]) -> tuple[np.ndarray, np.ndarray]:
    """What PyTorch computes, in its own floats and in those of 64 bits."""
    with torch.no_grad():
        own = program.module()(*inputs)
        wide = InDouble(program.module()).run(*inputs)
    return own.numpy(), wide.numpy()


def ours(path: Path, inputs: Sequence[torch.Tensor]) -> dict[str, np.ndarray]:
    """What TOSA computes, by the form of its biases."""
    hub = transload.legalize(transload.load(path))
    made = {}
    for bias in ("fine", "plain"):
        tosa = transload.lower(hub, "tosa", bias=bias)
        given = dict(zip(tosa.inputs, [x.numpy() for x in inputs], strict=True))
        made[bias] = next(iter(transload.run(tosa, given, engine=ENGINE).values()))
    return made


ENGINE = "reference"


def saved(model: nn.Module, samples: Sequence[torch.Tensor], folder: str) -> tuple[Any, Path]:
    """A network, quantized and exported."""
    program = torch.export.export(quantized_by_pt2e(model, samples), (samples[0],))
    path = Path(folder) / "model.pt2"
    torch.export.save(program, path)
    return program, path


def measure_layer(name: str) -> str:
    """The row of a layer: parts of a million that are another step."""
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        program, path = saved(make().eval(), [torch.randn(shape) for _ in range(4)], folder)
        count, off = 0, np.zeros(3)
        for _ in range(4):
            x = torch.randn(shape)
            own, wide = stepped(program, [x])
            made = ours(path, [x])
            count += own.size
            near = 1e-5 * np.abs(own).max()
            off += [(np.abs(other - own) > near).sum() for other in (wide, made["fine"], made["plain"])]
    return f"{name:16} {count:9} " + " ".join(f"{each / count * 1e6:12.1f}" for each in off)


def measure_network(name: str) -> str:
    """The row of a network: the greatest difference as a part of the greatest number."""
    from benchmarks.torchvision_models import built

    model = built(name)
    with tempfile.TemporaryDirectory() as folder:
        program, path = saved(model, [torch.randn(1, 3, 96, 96) for _ in range(4)], folder)
        x = torch.randn(1, 3, 96, 96)
        own, wide = stepped(program, [x])
        made = ours(path, [x])
    step = np.diff(np.unique(own)).min()
    return f"{name:26} {own.size:8} " + " ".join(
        f"{np.abs(np.rint((other - own) / step)).mean():12.3f}" for other in (wide, made["fine"], made["plain"]))


def main() -> int:
    """The two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(LAYERS))
    parser.add_argument("--networks", nargs="*", default=["resnet18", "mobilenet_v2", "shufflenet_v2_x1_0"])
    given = parser.parse_args()
    print(f"{'layer':16} {'numbers':>9} {'torch f64':>12} {'fine':>12} {'plain':>12}   of a million another step")
    for name in given.only:
        print(measure_layer(name), flush=True)
    print(f"{'network':26} {'numbers':>8} {'torch f64':>12} {'fine':>12} {'plain':>12}   steps of the results, on average")
    for name in given.networks:
        print(measure_network(name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
