"""What is drawn of all that a model takes, beside the inputs that it is judged on first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Drawn"]

Inputs = Mapping[str, np.ndarray]


@dataclass
class Drawn:
    """Inputs, each by name, made when they are asked for; where inputs are given, none but `turned` ones."""

    of_ways: Iterable[Inputs] = ()
    """On which a runtime's own ways to compute a model are compared (`ways`)."""
    of_steady: Iterable[Inputs] = ()
    """Which follow where all outputs were the same, or nearly, on all that was tried."""
    further: Iterable[Inputs] = ()
    """Of the usual size, that what has passed is to pass on, too (`further`)."""
    many: Iterable[Inputs] = ()
    """The same of a model of floats whose inputs are few numbers, for as long as there is time (`further`)."""
    choosing: Iterable[Inputs] = ()
    """Of the usual size, that all outputs which are few choices are to be the same on (`choosing`)."""
    reaching: Iterable[Sequence[Inputs]] = ()
    """That it is to pass on, too: lists, of each of which the first counts that the runtime does not give up on (`reaching`)."""
    halves: Iterable[Inputs] = ()
    """That it is to pass on, too: on borders (`halves`)."""
    turned: Sequence[Inputs] = ()
    """That it is to pass on, too, of a single input that is given (`turned`)."""
    larger: Iterable[Inputs] = ()
    """That it is to pass on, too, where the runtime does not give up on them (`larger`)."""
