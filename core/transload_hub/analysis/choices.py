"""Which ops of `top` choose, and which compute chosen numbers of such: facts of kind "choice" (`transload.analysis.choices`)."""

from __future__ import annotations

from transload.analysis.choices import Choice
from transload.facts import FactTable

__all__ = ["CHOICES"]

CHOICES = FactTable("top")

CHOICES.add(Choice((0,)), "Arg", "NonZero")
CHOICES.add(Choice((1,)), "TopK")
CHOICES.add(
    Choice(keeps=True), "Abs", "Add", "AddConst", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Div", "FloorDiv",
    "FloorMod", "Mul", "MulConst", "Neg", "ShiftLeft", "ShiftRight", "Sign", "Square", "SquaredDifference", "Sub", "TruncMod")
