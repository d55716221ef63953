"""The dialect `tosa030`: all operators of TOSA 0.30."""

from . import elementwise, movement, tensor
from .base import TOSA030

__all__ = ["TOSA030", "elementwise", "movement", "tensor"]
