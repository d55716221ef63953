"""What cannot be converted: operators as a whole, and forms of others; each with what the error says."""

from __future__ import annotations

from .spec import Case, axes, bools, cases, f32, i32, x

_DATA = "depends on the data"
_RANDOM = "random numbers"
_STRINGS = "strings, hash tables"
_NONE = "no conversion of .* is registered"
UNSUPPORTED: dict[str, str] = {
    "UNIQUE": _DATA,
    "RANDOM_UNIFORM": _RANDOM, "RANDOM_STANDARD_NORMAL": _RANDOM, "MULTINOMIAL": _RANDOM, "STABLEHLO_RNG_BIT_GENERATOR": _RANDOM,
    "HASHTABLE": _STRINGS, "HASHTABLE_FIND": _STRINGS, "HASHTABLE_IMPORT": _STRINGS, "HASHTABLE_SIZE": _STRINGS,
    "HASHTABLE_LOOKUP": _STRINGS, "LSH_PROJECTION": _STRINGS, "SKIP_GRAM": _STRINGS,
    "EMBEDDING_LOOKUP_SPARSE": _STRINGS, "CONCAT_EMBEDDINGS": _STRINGS,
    "DENSIFY": "sparse tensors", "DELEGATE": "compiled for a delegate",
    "REDUCE_WINDOW": _NONE, "STABLEHLO_CONVOLUTION": _NONE, "STABLEHLO_CUSTOM_CALL": _NONE,
    "STABLEHLO_REDUCE": _NONE, "STABLEHLO_REDUCE_WINDOW": _NONE, "STABLEHLO_SCATTER": _NONE, "STABLEHLO_GATHER": _NONE,
    "STABLEHLO_DYNAMIC_SLICE": _NONE, "STABLEHLO_DYNAMIC_UPDATE_SLICE": _NONE, "STABLEHLO_SORT": _NONE, "STABLEHLO_WHILE": _NONE,
    "STABLEHLO_CASE": _NONE,
}
"""Operators of the schema that have no conversion -> what the error says."""

FORMS: list[tuple[str, Case]] = [(why, case) for why, made in (
    ("the new shape must be a constant", cases("RESHAPE", x(4), i32(2, low=2, high=2), result=x(2, 2))),
    ("must be a constant", cases("TRANSPOSE", x(2, 3), i32(2), result=x(3, 2))),
    ("must be a constant", cases("SUM", x(2, 3), i32(1), result=x(2))),
    ("must be a constant", cases("FILL", i32(2), x(), result=x(2, 2))),
    ("must be a constant", cases("WHERE", bools(3), result=i32(1, 1))),
    ("raised to one constant power", cases("POW", x(3, low=0), x(3, low=0), formats="i32", result=x(3))),
    ("reads the bits", cases("BITCAST", f32(3), result=i32(3))),
    ("stored integers", cases("CAST", x(3), formats="i8t", result=f32(3), in_data_type="INT8", out_data_type="FLOAT32")),
    ("the fused activation SIGN_BIT", cases("ADD", x(3), x(3), result=x(3), fused_activation_function="SIGN_BIT")),
    ("to one place twice", cases("SCATTER_ND", i32(2, 1, data=[[1], [1]]), x(2), axes(4), formats="u8", result=x(4))),
) for case in made]
"""Forms of operators that are converted otherwise -> what the error says."""
