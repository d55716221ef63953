"""The layers of `keras.layers` that networks use at inference, one function each, a file a family.

They are entered into `LAYERS` where these modules are imported.
"""

from ..layer import LAYERS
from . import (
    activations,
    attention,
    convolution,
    core,
    functions,
    merging,
    movement,
    normalization,
    operations,
    pooling,
    preprocessing,
    recurrent,
    reshaping,
)

__all__ = ["LAYERS", "activations", "attention", "convolution", "core", "functions", "merging", "movement", "normalization",
           "operations", "pooling", "preprocessing", "recurrent", "reshaping"]
