"""The layers of `keras.layers` that networks use at inference, one function each, a file a family.

They are entered into `LAYERS` where these modules are imported.
"""

from ..layer import LAYERS
from . import (
    activations,
    arrays,
    attention,
    convolution,
    core,
    functions,
    images,
    merging,
    movement,
    normalization,
    operations,
    pooling,
    preprocessing,
    products,
    recurrent,
    reductions,
    reshaping,
)

__all__ = ["LAYERS", "activations", "arrays", "attention", "convolution", "core", "functions", "images", "merging", "movement",
           "normalization", "operations", "pooling", "preprocessing", "products", "recurrent", "reductions", "reshaping"]
