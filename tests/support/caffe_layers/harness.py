"""A case: a layer with its parameters, bottoms and blobs; run by the definition, and by Caffe's reader, the hub and TOSA."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transload.api import load, lower, run
from transload.ir import Module

from . import detection  # noqa: F401 - enters its definitions
from .definitions import DEFINITIONS

__all__ = ["Case", "content_of", "difference", "expected", "lowered", "parameter_text"]



@dataclass
class Case:
    """One layer. `parameters` are as a `.prototxt` has them, by the field that holds them."""

    type: str
    parameters: dict[str, dict[str, Any]]
    bottoms: list[np.ndarray]
    blobs: list[np.ndarray] = field(default_factory=list)
    tops: int = 1
    constants: tuple[int, ...] = ()
    """Bottoms that are constants of the network: blobs of layers Parameter."""

    @property
    def name(self) -> str:
        said = " ".join(f"{key}={value}" for held in self.parameters.values() for key, value in held.items())
        shapes = " ".join("x".join(map(str, value.shape)) or "scalar" for value in self.bottoms)
        return f"{self.type} {shapes} {said}".replace("'", "").strip()


def parameter_text(parameters: dict[str, Any]) -> str:
    """Parameters in text format."""
    parts = []
    for key, value in parameters.items():
        if key == "shape":
            parts.append(f"shape {{ {' '.join(f'dim: {size}' for size in value)} }}")
        elif isinstance(value, dict):
            parts.append(f"{key} {{ {parameter_text(value)} }}")
        else:
            parts += [f"{key}: {_word(key, each)}" for each in (value if isinstance(value, list) else [value])]
    return " ".join(parts)


def _word(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"' if key in ("anchors", "module", "layer", "param_str") else value
    return repr(value)


def content_of(case: Case) -> bytes:
    """The case as a `.caffemodel` that holds its network."""
    from transload_converters.caffe.network import parse_text

    lines = []
    for place, value in enumerate(case.bottoms):
        shape = " ".join(f"dim: {size}" for size in value.shape)
        kind, holder = ("Parameter", "parameter_param") if place in case.constants else ("Input", "input_param")
        lines.append(f'layer {{ name: "x{place}" type: "{kind}" top: "x{place}" {holder} {{ shape {{ {shape} }} }} }}')
    bottoms = " ".join(f'bottom: "x{place}"' for place in range(len(case.bottoms)))
    tops = " ".join(f'top: "y{place}"' for place in range(case.tops))
    held = " ".join(f"{key} {{ {parameter_text(value)} }}" for key, value in case.parameters.items())
    lines.append(f'layer {{ name: "subject" type: "{case.type}" {bottoms} {tops} {held} }}')
    net, _ = parse_text(memoryview("\n".join(lines).encode()), "case")
    for layer, blobs in [*((net.layer[place], [case.bottoms[place]]) for place in case.constants), (net.layer[-1], case.blobs)]:
        for array in blobs:
            blob = layer.blobs.add()
            blob.shape.dim.extend(array.shape)
            blob.data.extend(array.reshape(-1).tolist())
    content: bytes = net.SerializeToString()
    return content


def expected(case: Case) -> list[np.ndarray]:
    """What the definition gives, in double precision."""
    parameters = {key: value for held in case.parameters.values() for key, value in held.items()}
    given = [value.astype(np.float64) for value in case.bottoms]
    return DEFINITIONS[case.type](parameters, given, [blob.astype(np.float64) for blob in case.blobs], case.tops)


def lowered(case: Case, to: str = "tosa") -> Module:
    """The case in TOSA."""
    return lower(load(text=content_of(case), format="caffe"), to)


def difference(case: Case, module: Module) -> float:
    """By how much the worst element is off, relative to its size and a tenth of the greatest."""
    names = list(module.inputs)
    found = run(module, {name: case.bottoms[int(name[1:])] for name in names}, engine="reference")
    worst = 0.0
    for mine, theirs in zip(found.values(), expected(case), strict=True):
        assert mine.shape == theirs.shape, f"{mine.shape} for {theirs.shape}"
        if theirs.size:
            size = np.abs(theirs) + 0.1 * np.abs(theirs).max() + 1e-6
            off = np.abs(mine.astype(np.float64) - theirs) / size
            worst = max(worst, float(np.nan_to_num(off, nan=np.inf).max()))
    return worst
