"""What the outputs of a model are, by their places, as far as it says what may be asked of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..analysis.choices import chosen_outputs
from ..ir import Module
from .differences import TensorDifference
from .exact import exact_outputs
from .fineness import coarse_outputs, output_steps, plain_outputs
from .limits import broken_limits, passes_if_constant
from .offsets import unit_of_module
from .tolerance import Tolerance

__all__ = ["OutputKinds"]


class OutputKinds:
    """The places of the outputs of each kind, found in the model's form in the `hub`; all are of none where it has no such form.

    `keeps_floats` is whether floats on whose way nothing is rounded have to be the same, too.
    """

    def __init__(self, source: Module, result: Module, hub: Module | None, tolerance: Tolerance, keeps_floats: bool) -> None:
        self.tolerance = tolerance
        exact = exact_outputs(hub, keeps_floats, source) if hub is not None else []
        self.exact = {index for index, is_exact in enumerate(exact) if is_exact}
        """On whose way nothing is rounded: no last bits move them."""
        self.plain = plain_outputs(hub) if hub is not None else frozenset[int]()
        """Of integers that nothing gives a scale."""
        self.unit = None if hub is None else max(map(unit_of_module, (source, result)))
        """What floats are rounded by; None where nothing says it."""
        self.coarse = coarse_outputs(hub) if hub is not None else frozenset[int]()
        """On whose way numbers are rounded to steps."""
        self.chosen = chosen_outputs(hub) if hub is not None else frozenset[int]()
        """Truths or labels: how far apart two are says nothing."""
        self._steps = output_steps(hub) if hub is not None else []

    def steps(self, number: int) -> list[float | None]:
        """The step between the numbers of each of so many outputs; None where it is not quantized."""
        steps = self._steps[:number]
        return steps + [None] * (number - len(steps))

    def limits_broken(
        self, tensors: Sequence[TensorDifference], exact: Collection[int] | None = None,
    ) -> dict[int, list[str]]:
        """By place of the output, which limits it breaks; `exact` are the places of those that have to be the same, none
        where the inputs are others."""
        found = {index: self.limits_broken_at(index, tensor, len(tensors), exact) for index, tensor in enumerate(tensors)}
        return {index: reasons for index, reasons in found.items() if reasons}

    def limits_broken_at(
        self, place: int, tensor: TensorDifference, number: int, exact: Collection[int] | None = None,
    ) -> list[str]:
        """Which limits the output at a place breaks, of so many outputs; `exact` as in `limits_broken`."""
        return broken_limits(
            tensor, self.tolerance, self.steps(number)[place], place in (self.exact if exact is None else exact),
            place in self.plain, place in self.chosen, self.unit, place in self.coarse)

    def least_of_varying(self, place: int) -> float | None:
        """How near (`euclid`) an output is to be to what varies of it alone; None where that is not asked: of what is rounded."""
        is_asked = self.unit is not None and self.tolerance.keeps_floats and place not in self.coarse
        return self.tolerance.euclid if is_asked and (self.steps(place + 1)[place] is None) else None

    def as_if_constant(self, tensors: Sequence[TensorDifference]) -> set[int]:
        """The places of outputs whose steps are so few that one number throughout would pass."""
        return {index for index, step in enumerate(self.steps(len(tensors))) if index not in self.exact
                and passes_if_constant(tensors[index], self.tolerance, step, index in self.plain, index in self.chosen)}
