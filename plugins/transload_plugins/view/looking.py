"""Everything that the page is told of one or two models: stages, comparison, costs, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transload import __version__
from transload.api import at_hub
from transload.cli.listings import describe
from transload.errors import TransloadError, UsageError
from transload.ir import Module, registry
from transload.json_text import plain
from transload.quantization import Quantization

from .comparing import beside, by_name, made_up
from .constants import Constants
from .costs import costs_of
from .lineage import Lineage
from .stages import Journeyed, journey_of, opened, plain_error, standing

__all__ = ["Looking"]


_DECLARED = ("doc", "operands", "results", "attributes", "regions", "constraints", "traits")


class Looking:
    """What is gathered of models, one after the other; `data` is what the page shows."""

    def __init__(self) -> None:
        self.constants, self.lineage = Constants(), Lineage()
        self.models: list[dict[str, Any]] = []
        self.comparison: dict[str, Any] | None = None
        self._compared: list[Module] = []

    def add(
        self, path: Path, target: str | None, *, options: Mapping[str, Any], quantization: Quantization | None = None,
        samples: Any = None, passes: str = "", alone: bool = False, **how: Any,
    ) -> None:
        """Look at one more model or artifact. The second is compared with the first; `alone` says that there will be none.

        Raises what reading it raises, and `UsageError`; what keeps a model from its target is on the page.
        """
        module, report, is_artifact = opened(path, alone, **how)
        if is_artifact and target is None and (quantization is not None or passes or options):
            raise UsageError(
                f"{path} is what was written, and is shown as that: it is not quantized, and no passes or options are for it",
                hint="give the model, or --target to go on from it")
        self.add_module(
            module, str(path), target, options=options, quantization=quantization, samples=samples, passes=passes, report=report,
            is_artifact=is_artifact)

    def add_module(
        self, module: Module, name: str, target: str | None = None, *, options: Mapping[str, Any] | None = None,
        quantization: Quantization | None = None, samples: Any = None, passes: str = "", report: dict[str, Any] | None = None,
        is_artifact: bool = False,
    ) -> None:
        """The same of a module that is there, which is taken to the target in place."""
        made = Journeyed()
        if is_artifact and target is None:
            made.stages.append(standing(module, "what was written", self.constants))
            made.target_report = dict((report or {}).get("target_report") or {})
            self._compared.append(module)
        else:
            source = module.clone()
            made = journey_of(
                module, target, self.constants, self.lineage, options=options or {}, quantization=quantization, passes=passes)
            self._compared.append(made.hub if made.hub is not None else source)
        self._compare(made, name, quantization, samples)
        self.models.append({
            "name": name, "stages": [vars(stage) for stage in made.stages], "target": made.target,
            "target_report": plain(made.target_report), "costs": costs_of(made.target_report), "refusal": made.refusal,
            "notes": made.notes, "report": report,
            "quantization": plain(quantization.report()) if quantization is not None and quantization.made is not None else None})

    def _compare(self, made: Journeyed, name: str, quantization: Quantization | None, samples: Any) -> None:
        """Put quantized beside float, or the second model beside the first."""
        if self.comparison is not None:
            return
        try:
            if made.quantized is not None and made.floats is not None and quantization is not None:
                self.comparison = beside(made.floats, made.quantized, samples, quantization.measured)
                self.comparison["of"] = ["the float model", f"quantized by {quantization.scheme}"]
            elif len(self._compared) == 2:
                self.comparison = self._second_beside_first(samples)
                self.comparison["of"] = [Path(each).name for each in (self.models[0]["name"], name)]
        except TransloadError as error:
            self.comparison = {"layers": [], "outputs": {}, "why": plain_error(error)}

    def _second_beside_first(self, samples: Any) -> dict[str, Any]:
        first, second = self._compared
        is_made_up = samples is None
        taken = [made_up(first, second)] if samples is None else samples
        if any(value.is_quantized for op in second.body_of_main for value in op.results) and _same_ops(first, second):
            told = beside(at_hub(first), second, taken)
        else:
            told = by_name(first, second, next(iter(taken)))
        return {**told, "random": is_made_up}

    def data(self, title: str) -> dict[str, Any]:
        """What the page shows, as JSON has it."""
        names = {op["op"] for model in self.models for stage in model["stages"] for op in stage["graph"]["ops"]}
        return {
            "title": title, "version": __version__, "models": self.models, "constants": self.constants.about,
            "rules": self.lineage.rules, "declarations": _declarations(sorted(names)), "comparison": self.comparison}


def _same_ops(first: Module, second: Module) -> bool:
    """Whether two modules of one dialect have ops in common, by op and name: as a float network and its quantized form."""
    mine = {(op.name, op.results[0].name) for op in first.body_of_main if op.results}
    shared = sum((op.name, op.results[0].name) in mine for op in second.body_of_main if op.results and op.results[0].name)
    return 2 * shared > len(mine)


def _declarations(names: Sequence[str]) -> dict[str, Any]:
    """What dialects declare of these ops; those that none declares are left out."""
    found = {}
    for name in names:
        declaration = registry.lookup(name)
        if declaration is not None:
            told = describe(declaration)
            found[name] = {key: told[key] for key in _DECLARED}
    return found
