"""How near is near enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..errors import UsageError
from ..extraction import names_among
from ..plugin_host import host
from ..suggest import nearest

__all__ = ["Tolerance", "compared_among", "limit_texts", "need_possible"]


def limit_texts(limits: Mapping[str, Any] | Iterable[str]) -> list[str]:
    """Limits as texts like `"cos=0.999"`, of a mapping of numbers by their names, too. `UsageError` for one text."""
    if isinstance(limits, str):  # which would be read by letters
        raise UsageError(f"give tolerances as a list, [{limits!r}]")
    return [f"{name}={limit}" for name, limit in limits.items()] if isinstance(limits, Mapping) else list(limits)


def compared_among(texts: Iterable[str], known: Iterable[str]) -> frozenset[str]:
    """The names that texts say (`names_among`); `UsageError` for one that is not `known`."""
    if isinstance(texts, str):
        raise UsageError(f"give names of tensors as a list, [{texts!r}]")
    there = dict.fromkeys(known)
    names = frozenset(names_among(texts, there))
    unknown = next((name for name in sorted(names) if name not in there), None)
    if unknown is not None:
        guess = nearest(unknown, there)
        raise UsageError(
            f"no tensor that is compared is called {unknown!r}",
            hint=(f"did you mean {guess!r}? " if guess else "") + f"tensors: {', '.join(list(there)[:20])}")
    return names


def need_possible(name: str, limit: float) -> None:
    """Raise `UsageError` where a limit is no number, or one that nothing keeps, or breaks: beyond what there can be.

    What has no limit is said by the infinity on the side where everything is near enough.
    """
    metric = host().metrics.get(name)
    least, most = (0.0, math.inf) if metric is None else metric.bounds or (-math.inf, math.inf)
    open_end = -math.inf if metric is not None and metric.better == "higher" else math.inf
    if not isinstance(limit, int | float | np.number):
        raise UsageError(f"tolerance {name} must be a number, not {limit!r:.80}")
    if limit != open_end and not least <= limit <= most:
        ends = [f"{end:g} at {word}" for end, word in ((least, "least"), (most, "most")) if math.isfinite(end)]
        none = f"; {name}={open_end:g} is no limit" if metric is not None else ""
        raise UsageError(f"tolerance {name} cannot be {limit:g}", hint=f"it is {' and '.join(ends) or 'a number'}{none}")


@dataclass(frozen=True)
class Tolerance:
    """Limits that every output must keep; `UsageError` for numbers that cannot be (`need_possible`).

    `integer` is the greatest difference of integer outputs, in steps; a float output that is a dequantized
    integer may differ by as many steps of that, one step in few places (`others`). A step is all that truths have, and labels
    have none: of these few may be others (`truths`).
    Other float outputs need a cosine of at least `cos`, a euclidean similarity of at least `euclid`, and,
    where `max_abs` is set, no element that differs by more. A float output no element of which differs by more than
    `floor` is near enough whatever its cosine: runtimes compute sigmoid, tanh and softmax, whose range is 1, to about two
    units in the last place of 1.0, so that a map of scores of 1e-6 has no exact digits to compare.
    """

    integer: int = 1
    cos: float = 0.9999
    euclid: float = 0.98
    max_abs: float = float("inf")
    floor: float = 2.5e-7
    others: tuple[tuple[str, float], ...] = ()
    """Limits of other metrics, those of plugins too, by name: of every output."""
    excepts: frozenset[str] = frozenset()
    """The outputs that no limit holds for, by name."""

    def __post_init__(self) -> None:
        there = host().metrics
        for name, limit in self.limits().items():
            if name in there or name in ("integer", "floor"):
                need_possible(name, limit)

    @property
    def truths(self) -> float:
        """The share of truths and labels that may be others: as many as numbers of the least cosine have another sign."""
        return math.acos(min(max(self.cos, -1.0), 1.0)) / math.pi if self.integer else 0.0

    @property
    def keeps_floats(self) -> bool:
        """Whether floats have to be as near as usual: they may be farther where some are held in fewer bits."""
        return self.cos >= Tolerance.cos

    @property
    def is_of_sizes(self) -> bool:
        """Whether limits are of differences themselves, which grow with the numbers, and not of these beside the numbers."""
        return self.floor > Tolerance.floor or self.max_abs < Tolerance.max_abs

    def limits(self) -> dict[str, float]:
        """All limits by name."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("others", "excepts")}
        return {**own, **dict(self.others)}

    def leaving_out(self, texts: Iterable[str], known: Iterable[str]) -> Tolerance:
        """The same, which does not judge the outputs of these names, several in a text with commas between, of all `known`.

        Raises `UsageError` for names that there are not, and where none is left to judge.
        """
        left_out = compared_among(texts, known)
        if left_out and left_out >= set(known):
            raise UsageError("all outputs are excepted: nothing is left to judge", hint="--no-verify asks for no verification")
        return replace(self, excepts=left_out)

    @classmethod
    def parse(
        cls, settings: Mapping[str, Any] | Iterable[str], others: Tolerance | None = None, once: bool = False,
    ) -> Tolerance:
        """From texts like `"cos=0.999"`, or numbers by name, the rest as in `others`.

        Raises `UsageError` for unknown names, impossible numbers, one text. With `once`, also for a name that is there twice:
        of several targets each may say its own, and the last counts.
        """
        settings = limit_texts(settings)
        metrics = [name for name in host().metrics if name not in ("cos", "euclid", "max_abs")]
        kinds: dict[str, Any] = {name: int if name == "integer" else float for name in (*cls().limits(), *metrics)}
        tolerance = others or cls()
        names = [setting.partition("=")[0] for setting in settings]
        for name, setting in zip(names, settings, strict=True):
            value = setting.partition("=")[2]
            if once and names.count(name) > 1:
                raise UsageError(f"tolerance {name} is given twice", hint="say it once: the last one would silently count alone")
            if name not in kinds:
                raise UsageError(f"no tolerance is called {name!r}", hint=(
                    f"tolerances: {', '.join(kinds)} (as cos=0.999){host().absent()}"))
            try:
                limit = kinds[name](value)
            except ValueError:
                raise UsageError(f"tolerance {name} must be a number, not {value!r}") from None
            changed = {"others": tuple({**dict(tolerance.others), name: limit}.items())} if name in metrics else {name: limit}
            tolerance = replace(tolerance, **changed)
        return tolerance
