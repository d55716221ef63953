"""Buffers of a block's values, and the picture of where they lie."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import transload
from transload.engine.memory import peak_bytes
from transload.memory import Buffer, buffers_of, check, lower_bound, picture, plan, save_picture
from transload.text import parse_module


@pytest.fixture(scope="module")
def module() -> transload.Module:
    folder = Path(__file__).resolve().parents[3] / "examples" / "digits"
    return transload.lower(transload.load(folder / "digits_int8.tflite"))


def test_the_bound_is_what_the_engine_counts(module: transload.Module) -> None:
    block = module.main.regions[0].block
    buffers = buffers_of(block)
    found = plan(buffers)
    assert found.bound.bytes == peak_bytes(block) == found.peak and not check(buffers, found.offsets)
    assert not set(block.arguments) & {each.name for each in buffers_of(block, arguments=False)}


CHAIN = """
"func.func"() ({
^bb0(%x: tensor<16xi8>):
  %a = "acme.half"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  %b = "acme.add"(%a, %x) : (tensor<16xi8>, tensor<16xi8>) -> tensor<16xi8>
  %c = "acme.wide"(%b) : (tensor<16xi8>) -> tensor<16xi32>
  %d = "acme.narrow"(%c) : (tensor<16xi32>) -> tensor<16xi8>
  "func.return"(%d) : (tensor<16xi8>) -> ()
}) {function_type = (tensor<16xi8>) -> tensor<16xi8>, sym_name = "main"} : () -> ()
"""


def test_ops_in_place_take_less() -> None:
    """A result lies where the operand lay that dies with the op, and has as many bytes."""
    block = parse_module(CHAIN).main.regions[0].block
    x, (a, b, c, d) = block.arguments[0], [op.results[0] for op in list(block)[:4]]
    found = buffers_of(block, in_place=lambda op: op.operands[0] if op.operands else None)
    assert found == [
        Buffer(x, 0, 2, 16), Buffer(a, 0, 2, 16), Buffer(b, 1, 3, 16, shares=a), Buffer(c, 2, 4, 64), Buffer(d, 3, 5, 16)]
    assert lower_bound(buffers_of(block)[:3]).bytes == 48 and plan(found[:3]).peak == 32


def test_real_networks_take_what_is_alive_at_once(module: transload.Module) -> None:
    found = plan(buffers_of(module.main.regions[0].block), alignment=16)
    assert found.ratio <= 1.02 and not check(buffers_of(module.main.regions[0].block), found.offsets, alignment=16)


def test_the_picture_is_svg_whatever_the_names(tmp_path: Path) -> None:
    found = plan([("<script>&\"'", 0, 3, 100), ("\x00\x1b\ud800", 1, 2, 50), Buffer("x" * 1000, 2, 4, 60)], capacity=200)
    root = ElementTree.fromstring(picture(found, "a <b>"))
    names = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(name.startswith("<script>&\"'\nsteps 0 until before 3, offset") for name in names)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script")) and max(map(len, names)) < 300
    assert save_picture(found, tmp_path / "arena.svg").read_text(encoding="utf-8").startswith("<svg")
    ElementTree.fromstring(picture(plan([])))
    assert str(found) == (
        "3 buffers in 160 of 200 bytes, 1.0000 of the lower bound of 160 at step 2; the least there is (by replay)")
