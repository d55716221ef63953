"""Which part of its operands an op needs for a part of its result: what cutting into slices rests on.

A rule is a function `(work, part) -> Need | None`, registered for an op's name as a fact of the kind `region`. `None` says that
this part cannot be computed alone.
"""

from .boxes import Box, Range, Shape, cut, hull, volume, whole
from .rules import RULES, Need, Work

__all__ = ["RULES", "Box", "Need", "Range", "Shape", "Work", "cut", "hull", "volume", "whole"]
