"""What a judge found on the last inputs that it judged on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .differences import TensorDifference

__all__ = ["Last"]


@dataclass
class Last:
    """The last inputs, and what was found on them."""

    given: Mapping[str, np.ndarray] | None = None
    tensors: Sequence[TensorDifference] = ()
    """How far the outputs were."""
    broken: set[int] = field(default_factory=set)
    """Places of the outputs that were beyond the limits."""
    excused: set[int] = field(default_factory=set)
    """Places of those that were, and are near enough all the same."""
    endless: bool = False
    """Whether an output was not finite, in the source or in the result."""
    ends_alone: bool = False
    """Whether an output of the result was not finite, and all of the source's were."""
    no_number: str = ""
    """The output that is NaN throughout in the source: they are none that the model is for."""
