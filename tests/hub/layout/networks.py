"""Small networks to change the layout of."""

from __future__ import annotations

from typing import Any

from transload.ir import Module

from tests.support.graphs import Graph


class Network(Graph):
    """A graph with convolutions in either layout."""

    def conv(self, x: Any, outputs: int, layout: str = "NCHW", kernel: int = 3, **attributes: Any) -> Any:
        """A convolution that keeps the spatial sizes."""
        rank = x.rank - 2
        inputs = x.shape[1 if layout == "NCHW" else -1]
        sizes = (kernel,) * rank
        filter_ = self.random(outputs, inputs, *sizes) if layout == "NCHW" else self.random(outputs, *sizes, inputs)
        return self.Conv(
            x, filter_, self.random(outputs), kernel_shape=sizes, pads=(kernel // 2,) * (2 * rank), layout=layout, **attributes)


def names(module: Module) -> list[str]:
    """Names of all ops, without `top.`"""
    return [op.name.partition(".")[2] for op in module.ops()]
