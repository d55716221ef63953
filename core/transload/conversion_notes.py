"""What a conversion notes of its journey: how long its stages take, and what the module is at the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import roles
from .ir import Module
from .journey import HUB, QUANTIZE, Observer, Stage
from .telling import Tell

if TYPE_CHECKING:
    from .samples.fused import Fused

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

    def other_inputs(self, fused: Fused | None = None) -> str:
        """Why the model's runtime cannot be given what the module takes, where passes at the hub made other inputs of those it
        came with; `fused` are those that take pixels, of which it is known what the model is given. Empty where none did."""
        if self.module is None or self.floats is None:
            return ""
        before, after = self.module.inputs, self.floats.inputs
        known = fused.images if fused is not None else {}
        others = [f"{name!r}, {type_}, is {after.get(name) or 'no input'}" for name, type_ in before.items()
                  if name not in known and after.get(name) != type_]
        others += [f"{name!r}, {type_}, is new" for name, type_ in after.items() if name not in before]
        if not others:
            return ""
        return (f"passes made other inputs than the model's: {', '.join(others)} (what makes numbers of pixels is verified with "
                "--fuse-preprocess)")
