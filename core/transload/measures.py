"""What a plugin registers that measures: a model by its samples, or arrays by others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Metric", "Score"]


@dataclass(frozen=True)
class Score:
    """What a model is worth on samples: `measure(outputs, label, reference)` says it of one, in numbers.

    `outputs` are arrays of real numbers by name; `label` is what is known of the sample, or None; `reference` has the outputs of
    the first of the models that are evaluated. It gives a number, or lists of numbers, as JSON holds them. `total(rows)` makes
    one number of what was measured of all samples; without it, that is their mean.
    """

    name: str
    measure: Any
    total: Any = None
    doc: str = ""
    needs: tuple[str, ...] = ()
    """"label", "reference": what it cannot be measured without."""
    better: str = "higher"
    unit: str = ""
    """"%" of a share, "dB", or nothing: how it is shown."""
    spread: bool = True
    """Whether an interval of confidence is told, for which `total` is asked many times."""
    available: Any = None
    """`available()` gives None, or the reason why it cannot be had here (what to install)."""
    bounds: tuple[float, float] | None = None
    """The least and the greatest that there can be, beyond which no interval reaches; where None, 0 and 1 of a share."""
    by_row: bool = False
    """Whether `measure` gives a list where a sample is a batch, a number for each row; the mean, or `total`, is of all rows."""
    pictured: bool = False
    """Whether `measure` takes the label with what the model sees of a picture (`transload.evaluation.seen.Seen`)."""
    least: Any = None
    """`least(rows)` is what `total` may come to where samples that lose more than all of these are yet to come."""


@dataclass(frozen=True)
class Metric:
    """A number that says how near two arrays are: `measure(reference, actual) -> float`."""

    name: str
    measure: Any
    doc: str = ""
    better: str = "lower"
    heading: str = ""
    """Of its column in tables; its name where it says none."""
    bounds: tuple[float, float] | None = None
    """The least and the greatest that there can be: no tolerance is beyond them."""
