"""The hub dialect `top`: declarations by family, shape inference (`infer`), and numpy kernels (`kernels`)."""

from __future__ import annotations

from . import (  # noqa: F401 - each declares its ops in TOP
    activation,
    cast,
    constant,
    control,
    conv,
    elementwise,
    gather,
    matmul,
    movement,
    normalization,
    pool,
    recurrent,
    reduce,
    resize,
    space,
)
from .base import TOP
from .element_types import declare_element_types

for _declaration in TOP.ops.values():
    declare_element_types(_declaration)

__all__ = ["TOP"]
