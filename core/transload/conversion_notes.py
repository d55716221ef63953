"""What a conversion notes of its journey: how long its stages take, and what the module is at the hub."""

from __future__ import annotations

from . import roles
from .ir import Module
from .journey import HUB, QUANTIZE, Observer, Stage
from .telling import Tell

__all__ = ["AtHub", "Times"]


class Times(Observer):
    """How long each stage took; `tell(name, share)` is told when one begins (a progress bar), with the share of stages done."""

    def __init__(self, tell: Tell | None = None) -> None:
        self.tell = tell
        self.seconds: dict[str, float] = {}
        self.planned: list[str] = []
        """All stages, as soon as they are known."""

    def enters(self, stage: Stage) -> None:
        if self.tell is not None:
            known = stage.name in self.planned
            self.tell(stage.name, self.planned.index(stage.name) / len(self.planned) if known else None)

    def leaves(self, stage: Stage, module: Module | None, seconds: float) -> None:
        self.seconds[stage.name] = self.seconds.get(stage.name, 0.0) + seconds


class AtHub(Observer):
    """Keeps the module as it first is in the hub: verification takes bounds and steps of quantized outputs from it.

    And, where it is quantized on the way, as it is before and after that.
    """

    def __init__(self) -> None:
        self.name = roles.hub().name
        self.module: Module | None = None
        self.floats: Module | None = None
        self.quantized: Module | None = None

    def leaves(self, stage: Stage, module: Module | None, seconds: float) -> None:
        arrives = stage.name == HUB or (stage.conversion is not None and stage.conversion.target == self.name)
        if arrives and self.module is None and module is not None:
            self.module = module.clone()
        if stage.name == HUB and module is not None:
            self.floats = module.clone()
        if stage.name == QUANTIZE and module is not None:
            self.quantized = module.clone()
