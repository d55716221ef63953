"""Bytecode that asks for more work than it is long."""

from __future__ import annotations

import base64
import io
import zlib

import pytest

import transload
from transload.errors import ReadError, TransloadError

pytest.importorskip("jaxlib", reason="jaxlib writes the bytecode")
from transload_converters.stablehlo import bindings, worker

PROGRAM = (
    "module {{\nfunc.func @main(%x0: tensor<3xf32>) -> tensor<3xf32> {{\n{}\nreturn %x{} : tensor<3xf32>\n}}\n}}")


def _bytecode(count: int, make: object) -> bytes:
    """A chain of ops, each of which has the attribute."""
    ir = bindings._modules()[0]
    lines = "\n".join(f"%x{place + 1} = stablehlo.abs %x{place} : tensor<3xf32>" for place in range(count))
    with bindings._context(), ir.Location.unknown():
        module = ir.Module.parse(PROGRAM.format(lines, count))
        attribute = make(ir)  # type: ignore[operator]
        for op in module.body.operations[0].regions[0].blocks[0].operations:
            op.operation.attributes["x.y"] = attribute
        out = io.BytesIO()
        module.operation.write_bytecode(out)
    return out.getvalue()


def _dag(ir: object, depth: int) -> object:
    """Lists that hold the same list twice, so many deep."""
    attribute = ir.ArrayAttr.get([])  # type: ignore[attr-defined]
    for _ in range(depth):
        attribute = ir.ArrayAttr.get([attribute, attribute])  # type: ignore[attr-defined]
    return attribute


def test_a_shared_attribute_counts_as_often_as_it_stands() -> None:
    with pytest.raises(TransloadError, match="stand for more than can be read"):
        transload.load(text=_bytecode(3, lambda ir: _dag(ir, 18)), format="stablehlo")
    assert transload.load(text=_bytecode(20, lambda ir: _dag(ir, 5)), format="stablehlo").functions


@pytest.mark.parametrize(("width", "read"), [(128, True), (4000, True), (1 << 20, False)])
def test_wide_numbers(width: int, read: bool) -> None:
    data = _bytecode(1, lambda ir: ir.Attribute.parse(f"{(1 << min(width - 2, 4000)) - 3} : i{width}"))
    if read:
        module = transload.load(text=data, format="stablehlo")
        (op,) = [op for op in module.walk() if op.name == "stablehlo.abs"]
        assert int(op.attributes["x.y"]) == (1 << (width - 2)) - 3
    else:
        with pytest.raises(TransloadError, match=f"a number of {width} bits"):
            transload.load(text=data, format="stablehlo")


ENDLESS = (
    "eNo9UcFqFEEQ7dqamrIpmmFslnYZliEs6kEMwc0PiCdJAjE/IJvsRAd2Z3EzA9GDG8gp1/gD3jz7B+Jd8OBPeDKEEDAQtUbXPHivq6qr6jX01uaPHbe1+X"
    "Tn0XB1bXXtRVkbuGuBrHOAHokDc5YP8Fk+gFy8iFeE0KqHXmAJmgwfiDDJxsaHvSedUyQfAMCl1A2AqBwoj5U/lbfbwmcVSgOw0ipF6ThT157A4/bEVrJW"
    "+hnaPEPze4kVErDiEmKATgdW2CKh+YdPC/mFV6jvR3Nx/e3w+72PbzsRnbNoD17qFZv1YYuDxTJ4t1jO3jliIF3m/y8zR3CmfvnXVix2w7L8fgF5Pzoh2E"
    "bg6DWq2bZFjgr0QVC8C0mW5t5w3EVGsHFAQOG4pxlJnOmAcxT1KUljjcF8CUJ2cD9Juk7S3aac1GVl9ptqz7xqRlVtDurR7qR4OZmZ6WzcTAozL+pmXpmm"
    "Kvdn8+nzcfG3r3xT3JRuCqPx2Dw005FuvBWI9FvUERj+ADTmXYw=")
"""Compressed: bytecode in which one number of a table was changed. MLIR 23 goes round in it for ever."""


@pytest.mark.timeout(60)  # without a limit it never ends
def test_reading_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "READING_SECONDS", 3.0)
    damaged = zlib.decompress(base64.b64decode(ENDLESS))
    with pytest.raises(ReadError, match="was not read: MLIR took longer than 3 s to read it"):
        worker.bytecode_of(damaged, "m")
    with pytest.raises(ReadError, match="type 0 is inside of itself"):  # which our own reader sees before
        transload.load(text=damaged, format="stablehlo")
