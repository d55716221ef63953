"""What executes programs of the machine, and what checks that they keep to its rules."""

from .execution import Operations, Simulator, check
from .order import Order

__all__ = ["Operations", "Order", "Simulator", "check"]
