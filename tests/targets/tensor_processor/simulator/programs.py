"""Programs written by hand, and what they compute: small enough to be followed with a pencil."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from transload.errors import UsageError
from transload_targets.tensor_processor.instructions import Program, assemble


def scaled(x: np.ndarray, factor: np.ndarray, *, dtype: str, offset: int = 0) -> np.ndarray:
    """Each channel by a factor of its own."""
    return (x.astype(np.int64) * factor.reshape(1, -1, 1, 1) + offset).astype(dtype)


def plus(a: np.ndarray, b: np.ndarray, *, dtype: str) -> np.ndarray:
    return (a.astype(np.int64) + b).astype(dtype)


def looked_up(x: np.ndarray, table: np.ndarray, *, dtype: str) -> np.ndarray:
    return table[x.astype(np.int64) + 128].astype(dtype)


def product(x: np.ndarray, weights: np.ndarray, *, dtype: str) -> np.ndarray:
    """A convolution of one by one."""
    return np.einsum("nchw,oc->nohw", x.astype(np.int64), weights[:, :, 0, 0].astype(np.int64)).astype(dtype)


OPERATIONS = {"scaled": scaled, "plus": plus, "looked_up": looked_up, "product": product}


def operation(name: str) -> Callable[..., Any]:
    if name not in OPERATIONS:
        raise UsageError(f"no operation {name!r} is known")
    return OPERATIONS[name]


def may_overwrite(name: str) -> bool:
    """Those that go element by element, but for the first, of which nobody says so."""
    return name in ("plus", "looked_up")


SLICES = """
program "slices" global_bytes=256
machine "four lanes" lanes=4 local_bytes=256 banks=4 eu_bytes=8 cores=1
tensor %0 "x" 1x6x4x4
tensor %1 "factor" 6
tensor %2 "y" 1x6x4x4
input "x" int8 1x6x4x4 at 0x0 %0
output "y" int8 1x6x4x4 at 0x80 %2
dma.1 wait 0 load (G[0x60] int8 6 %1) -> (L[0x0] int8 6 channels %1) "factor"
dma.2 wait 0 load (G[0x0] int8 1x6x2x4 strides=96,16,4,1 %0) -> (L[0x40] int8 1x6x2x4 aligned %0) "x"
tiu.1 wait 2 scaled (L[0x40] int8 1x6x2x4 aligned %0, L[0x0] int8 6 channels %1) -> (L[0x50] int8 1x6x2x4 aligned %2) "y"
dma.3 wait 0 load (G[0x8] int8 1x6x2x4 strides=96,16,4,1 %0+0,0,2,0) -> (L[0x80] int8 1x6x2x4 aligned %0+0,0,2,0) "x"
tiu.2 wait 3 scaled (L[0x80] int8 1x6x2x4 aligned %0+0,0,2,0, L[0x0] int8 6 channels %1) \
-> (L[0x90] int8 1x6x2x4 aligned %2+0,0,2,0) "y"
dma.4 wait 1 store (L[0x50] int8 1x6x2x4 aligned %2) -> (G[0x80] int8 1x6x2x4 strides=96,16,4,1 %2) "y"
dma.5 wait 2 store (L[0x90] int8 1x6x2x4 aligned %2+0,0,2,0) -> (G[0x88] int8 1x6x2x4 strides=96,16,4,1 %2+0,0,2,0) "y"
weights "factor" int8 at 0x60 %1 AQIDBAUG
"""
"""Two slices over the height: while the first is computed, the second is loaded; while the second is, the first is stored."""

CORES = """
program "cores" global_bytes=256
machine "two cores" lanes=2 local_bytes=64 banks=2 eu_bytes=4 cores=2
tensor %0 "x" 2x3
tensor %1 "y" 2x3
tensor %2 "sum" 2x3
input "x" int16 2x3 at 0x0 %0
output "sum" int16 2x3 at 0x40 %2
dma.1 wait 0 load (G[0x0] int16 2x3 %0) -> (L[0x0] int16 2x3 aligned %0) "x"
1:dma.1 wait 0 load (G[0x0] int16 2x3 %0) -> (L[0x8] int16 2x3 aligned %0) "x"
1:tiu.1 wait 1 plus (L[0x8] int16 2x3 aligned %0, L[0x8] int16 2x3 aligned %0) -> (L[0x8] int16 2x3 aligned %1) "y"
1:dma.2 wait 1 store (L[0x8] int16 2x3 aligned %1) -> (G[0x20] int16 2x3 %1) "y"
1:dma.3 wait 0 barrier () -> ()
dma.2 wait 0 barrier () -> ()
dma.3 wait 0 load (G[0x20] int16 2x3 %1) -> (L[0x10] int16 2x3 aligned %1) "y"
tiu.1 wait 3 plus (L[0x0] int16 2x3 aligned %0, L[0x10] int16 2x3 aligned %1) -> (L[0x0] int16 2x3 aligned %2) "sum"
dma.4 wait 1 store (L[0x0] int16 2x3 aligned %2) -> (G[0x40] int16 2x3 %2) "sum"
"""
"""The second core doubles, and the first adds what it had: a barrier between what one stores and the other loads."""

TABLES = """
program "tables" global_bytes=1024
machine "three lanes" lanes=3 local_bytes=512 banks=2 eu_bytes=4 cores=1
tensor %0 "image" 1x2x2x4
tensor %1 "image/planes" 1x4x2x2
tensor %2 "weights" 5x4x1x1
tensor %3 "table" 256
tensor %4 "product" 1x5x2x2
tensor %5 "result" 1x5x2x2
tensor %6 "result/flat" 20 alias %5
input "image" uint8 1x2x2x4 at 0x0 %0
output "result" int8 20 at 0x40 %6
dma.1 wait 0 load (G[0x0] uint8 1x4x2x2 strides=16,1,8,4 %0*16,1,8,4) -> (L[0x0] uint8 1x4x2x2 aligned lane=1 %1) "image"
dma.2 wait 0 load (G[0x100] int4 5x4x1x1 %2) -> (L[0x10] int4 5x4x1x1 weights lane=2 %2) "weights"
dma.3 wait 0 load (G[0x200] int8 256 %3) -> (L[0x40] int8 256 copies %3) "table"
tiu.1 wait 3 product (L[0x0] uint8 1x4x2x2 aligned lane=1 %1, L[0x10] int4 5x4x1x1 weights lane=2 %2) \
-> (L[0x20] int8 1x5x2x2 compact %4) "product"
tiu.2 wait 0 looked_up (L[0x20] int8 1x5x2x2 compact %4, L[0x40] int8 256 copies %3) -> (L[0x20] int8 1x5x2x2 compact %5) "result"
dma.4 wait 2 store (L[0x20] int8 1x5x2x2 compact %5) -> (G[0x40] int8 1x5x2x2 %5) "result"
weights "weights" int4 at 0x100 %2 {weights}
weights "table" int8 at 0x200 %3 {table}
"""
"""All layouts, lanes that do not begin at the first, a transposed load, weights of four bits, a table in every lane, in place."""


def programs() -> dict[str, Program]:
    data = {"table": np.arange(256) * 7 % 256, "weights": np.arange(10) * 37 % 256}
    held = {name: base64.b64encode(array.astype(np.uint8)).decode() for name, array in data.items()}
    return {"slices": assemble(SLICES), "cores": assemble(CORES), "tables": assemble(TABLES.format(**held))}


def inputs_of(program: Program, seed: int = 0) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(seed)
    return {
        port.name: chance.integers(*((-8, 8) if port.dtype[0] == "i" else (0, 16)), port.shape).astype(port.dtype)
        for port in program.inputs}
