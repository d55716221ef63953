"""What cannot be converted: operators as a whole, and forms of others; each with what the error says."""

from __future__ import annotations

from .spec import Case, axes, bools, cases, f32, i32, i64, w, x

_RANDOM = "random numbers"
_HASHTABLE = "hash table"
UNSUPPORTED: dict[str, str] = {
    "RANDOM_UNIFORM": _RANDOM, "RANDOM_STANDARD_NORMAL": _RANDOM, "MULTINOMIAL": _RANDOM,
    "HASHTABLE": _HASHTABLE, "HASHTABLE_FIND": _HASHTABLE, "HASHTABLE_IMPORT": _HASHTABLE, "HASHTABLE_SIZE": _HASHTABLE,
    "LSH_PROJECTION": "64 bits", "SKIP_GRAM": "strings", "CONCAT_EMBEDDINGS": "no kernel", "DELEGATE": "compiled for a delegate",
}
"""Operators of the schema that have no conversion -> what the error says."""

_BITS = "its kernel takes the bits for those of floats"
_ALPHA = "its kernel takes alpha for numbers of the input's type"
_AS_THEY_WERE = "its kernel says that it knows no bools, and leaves the result as it was"
_OTHER_TYPE = "its kernel copies the bytes of a table that has smaller elements than the result"
NO_MEANING: dict[tuple[str, str], str] = {
    **dict.fromkeys([("FAKE_QUANT", name) for name in ("i8t", "u8", "i16t", "i32", "i64", "bool")], _BITS),
    ("MATRIX_DIAG", "bool"): _AS_THEY_WERE, ("MATRIX_SET_DIAG", "bool"): _AS_THEY_WERE,
    ("EMBEDDING_LOOKUP", "i16"): _OTHER_TYPE, ("EMBEDDING_LOOKUP", "i4"): _OTHER_TYPE,
    ("EMBEDDING_LOOKUP", "i2"): _OTHER_TYPE, ("CONV_2D", "hybrid2"): "its kernel takes weights of 2 bits for bytes",
    **dict.fromkeys([("PRELU", name) for name in ("i4", "i2", "hybrid", "hybrid_axis", "hybrid4", "hybrid2")], _ALPHA),
    ("DEPTHWISE_CONV_2D", "hybrid"): "its kernel reads a scale for each channel, beyond the only one",
    ("QUANTIZE", "i32"): "plain integers have no scale to start from",
}
"""Operator and format that LiteRT runs, though what it computes means nothing -> how that is known."""

FORMS: list[tuple[str, Case]] = [(why, case) for why, made in (
    ("the new shape must be a constant", cases("RESHAPE", x(4), i32(2, low=2, high=2), result=x(2, 2))),
    ("must be a constant", cases("TRANSPOSE", x(2, 3), i32(2), result=x(3, 2))),
    ("must be a constant", cases("SUM", x(2, 3), i32(1), result=x(2))),
    ("must be a constant", cases("FILL", i32(2), x(), result=x(2, 2))),
    ("depends on the data", cases("UNIQUE", x(3), result=x(3), results=[x(3), i32(3)], idx_out_type="INT32")),
    ("must be a constant", cases("WHERE", bools(3), result=i64(1, 1))),
    ("reads the bits", cases("BITCAST", f32(3), result=i32(3))),
    ("the fused activation SIGN_BIT", cases("ADD", x(3), x(3), result=x(3), fused_activation_function="SIGN_BIT")),
    ("windows where the input has 4", cases(
        "CONV_3D_TRANSPOSE", axes(1, 6, 6, 6, 3), w(2, 2, 2, 3, 2), x(1, 4, 4, 4, 2), result=x(1, 6, 6, 6, 3), padding="VALID",
        stride_d=1, stride_h=1, stride_w=1)),
    ("the fused activation RELU, with which", cases(
        "CONCATENATION", x(2, 3), x(2, 3), result=x(2, 6), axis=1, fused_activation_function="RELU", formats="f32 i8t")),
    ("the fused activation RELU6, with which", cases("L2_NORMALIZATION", x(2, 3), fused_activation_function="RELU6")),
    ("keep_num_dims with an input of shape", cases(
        "FULLY_CONNECTED", x(2, 2, 3), w(4, 6), result=x(2, 4), keep_num_dims=True, formats="f32")),
    ("to one place twice", cases("SCATTER_ND", i32(2, 1, data=[[1], [1]]), x(2), axes(4), formats="u8", result=x(4))),
) for case in made]
"""Forms of operators that are converted otherwise -> what the error says."""
