"""Modules of one op of the hub, as text."""

from __future__ import annotations

from transload.ir import Module
from transload.text import parse_module

__all__ = ["one_op", "tensor"]


def one_op(op: str, attributes: str, types: dict[str, str], result: str) -> Module:
    """A module of one op of the hub, whose operands are the inputs."""
    inputs = ", ".join(f'%{name}: {type_} loc("{name}")' for name, type_ in types.items())
    operands, taken = ", ".join(f"%{name}" for name in types), ", ".join(types.values())
    return parse_module(f"""
        "func.func"() ({{
        ^bb0({inputs}):
          %r = "{op}"({operands}) {{{attributes}}} : ({taken}) -> {result} loc("r")
          "func.return"(%r) : ({result}) -> ()
        }}) {{function_type = ({taken}) -> {result}, sym_name = "main"}} : () -> ()""")


def tensor(shape: tuple[int, ...], element: str = "f32") -> str:
    """The text of a tensor type."""
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"
