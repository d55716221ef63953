"""What a page says of constants: their range, how their numbers are distributed, and the first of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import TransloadError
from transload.ir import Dense

__all__ = ["Constants", "histogram"]

BARS = 48
"""Parts of a histogram."""
MOST = 1 << 18
"""Numbers of a constant that are looked at: of more, as many, in runs spread evenly over it."""
RUN = 1 << 12
"""Numbers in a run: a page of memory, so that a mapped file is not read whole."""
FIRST = 12
"""Numbers that are shown as they are."""


class Constants:
    """The constants of all stages, each once: stages share them."""

    def __init__(self) -> None:
        self.about: list[dict[str, Any]] = []
        self._places: dict[int, int] = {}
        self._held: list[Dense] = []

    def place(self, dense: Dense) -> int:
        """Where a constant stands in `about`."""
        known = self._places.get(id(dense))
        if known is None:
            known = self._places[id(dense)] = len(self.about)
            self._held.append(dense)  # so that its id stays its own
            self.about.append(_about(dense))
        return known


def _about(dense: Dense) -> dict[str, Any]:
    told: dict[str, Any] = {"type": str(dense.type)[:200], "bytes": dense.nbytes}
    try:
        numbers = _some(dense)
        told["of"] = int(np.prod(dense.shape, dtype=np.int64))
        told["looked"] = int(numbers.size)
        told["first"] = [_plain(each) for each in numbers[:FIRST]]
        told.update(_measured(numbers))
    except (TransloadError, TypeError, ValueError, OSError) as error:  # elided, text, or a file that is gone
        told["why"] = str(error)[:200]
    return told


def _some(dense: Dense) -> np.ndarray:
    """The numbers as a vector; of very many, runs spread over them."""
    splat = dense.splat_value()
    if splat is not None:
        return np.asarray(splat).reshape(-1)[:1]
    flat = np.asarray(dense.numpy()).reshape(-1)
    if flat.size <= MOST:
        return flat
    starts = np.linspace(0, flat.size - RUN, MOST // RUN).astype(np.int64)
    return np.concatenate([flat[start : start + RUN] for start in starts])


def _measured(numbers: np.ndarray) -> dict[str, Any]:
    """Range, mean, deviation, zeros and histogram of what has an order."""
    if numbers.dtype.kind == "c" or not numbers.size:
        return {}
    wide = numbers.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    if not finite.size:
        return {}
    return {
        "low": float(finite.min()), "high": float(finite.max()), "mean": float(finite.mean()), "std": float(finite.std()),
        "zeros": float((finite == 0.0).mean()), "odd": int(wide.size - finite.size), **histogram(finite)}


def histogram(numbers: np.ndarray, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    """Counts in equal parts of a range, which is all that is seen where it is not given; `numbers` are finite."""
    low = float(numbers.min(initial=np.inf)) if low is None else low
    high = float(numbers.max(initial=-np.inf)) if high is None else high
    if not low < high or not np.isfinite(high - low):
        return {"from": _finite(low), "to": _finite(high), "counts": [int(numbers.size)]}
    places = np.clip((numbers - low) * (BARS / (high - low)), 0, BARS - 1).astype(np.intp)
    return {"from": low, "to": high, "counts": np.bincount(places, minlength=BARS).tolist()}


def _finite(number: float) -> float:
    return number if np.isfinite(number) else 0.0


def _plain(number: Any) -> Any:
    """A number as JSON has it, and a text where it has none."""
    try:
        value = number.item() if hasattr(number, "item") else number
        if isinstance(value, bool | int):
            return value
        return float(value) if np.isfinite(float(value)) else str(value)
    except (TypeError, ValueError):
        return str(number)[:80]
