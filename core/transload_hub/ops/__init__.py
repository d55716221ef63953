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

__all__ = ["TOP"]
