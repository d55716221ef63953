"""From the hub to TOSA, for float and quantized models.

A module a family of ops, each with a `RewriteTable`; rewrites of quantized forms come before those of floats.
The last ones take any op that nothing else converts in its quantized form: by a table if it is a function of
one quantized number, else through floats.
"""

from __future__ import annotations

import importlib

from transload.rewrite import RewriteTable

from . import quantized, quantized_functions
from .driver import lower

__all__ = ["TABLE", "lower"]

_MODULES = ("cast", "conv", "matmul", "pool", "quantized", "quantized_functions", "activation", "softmax", "elementwise", "functions", "movement", "reduce", "resize",
            "gather", "ordering", "normalization", "recurrent", "control")
TABLE = RewriteTable()
for _name in _MODULES:
    try:
        TABLE = TABLE + importlib.import_module(f"{__name__}.{_name}").TABLE
    except ImportError as _e:
        print("DEVELOPMENT: missing", _name, _e)
TABLE = TABLE + quantized_functions.FALLBACK + quantized.FALLBACK
