"""The source in its runtime, made to take and to give what the result does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..ir import Module
from ..plugin import Runtime
from .last_bits import still_inputs
from .runtimes import run_of

if TYPE_CHECKING:
    from ..postprocess import Postprocess
    from ..samples.fused import Fused

__all__ = ["Reference"]

Run = Callable[..., dict[str, np.ndarray]]


class Reference:
    """What a result is judged by: `run` takes what the result takes, `bare` what the model itself does."""

    def __init__(
        self, source: Module, runtime: Runtime, taking: Module | None, fused: Fused | None = None,
        post: Postprocess | None = None,
    ) -> None:
        self.source, self.runtime, self.fused, self.post = source, runtime, fused, post
        self.taking = taking
        """The hub's form of the model, whose inputs are the model's."""
        self._run: Run | None = None
        """None until it is opened."""
        self._bare: Run | None = None

    def take(self, opened: Run | None) -> None:
        """Judge by what runs the source already, where somebody has made that ready."""
        if opened is not None:
            self._bare, self._run = self._given_as_result(opened), self.of_model(opened)

    def run(self, given: Mapping[str, np.ndarray], **how: bool) -> dict[str, np.ndarray]:
        """The outputs of inputs as the result takes them; with `keep`, the tensors between, too."""
        self._open()
        assert self._run is not None
        return self._run(given, **how)

    def bare(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs of inputs as the model itself takes them, which a program makes of pixels (`fused`)."""
        self._open()
        assert self._bare is not None
        return self._bare(given)

    def _open(self) -> None:
        if self._run is None:
            self.take(run_of(self.runtime, self.source, self.taking if self.post is None else None))

    def inside(self, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """What the model is given, for what the result is."""
        return given if self.fused is None else self.fused.inside(given)

    def still(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Which elements of inputs the model reads as they are given (`still_inputs`); none of pixels that a program takes."""
        return still_inputs(self.taking, given) if self.taking is not None and self.fused is None else {}

    def of_model(self, run: Run) -> Run:
        """What runs the model, made to take and give what the result does."""
        bare = self._given_as_result(run)
        return bare if self.fused is None else lambda given, **how: bare(self.inside(given), **how)

    def _given_as_result(self, run: Run) -> Run:
        """What runs the model, made to give what the result does."""
        post = self.post
        return run if post is None else lambda given: post.outputs(run(given))
