"""Cases of `keras.ops` beyond those of one usual call: their other arguments, and inputs of other types and of several together.

Each is the name, the arguments, the shapes of the inputs (without the batch), and what else the case says.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ARRAYS", "OPTIONS", "TYPES"]

_INF = float("inf")

OPTIONS: list[tuple[str, dict[str, Any], list[tuple[int, ...]], dict[str, Any]]] = [
    *(("norm", {"ord": order, "axis": axis, "keepdims": keep}, [(3, 4)], {})
      for axis, orders in ((1, (1, 3, 0.5, 0, _INF, -_INF, -1)), ([1, 2], (1, -1, "fro", _INF, -_INF)), ([2, 1], (1, -_INF)))
      for order in orders for keep in (False, True)),
    ("norm", {"axis": [1, 2]}, [(3, 4)], {}),
    ("min", {"axis": -1, "initial": -0.5}, [(3, 4)], {}),
    ("max", {"initial": 0.5}, [(3, 4)], {}),
    ("argmax", {"keepdims": True}, [(3, 4)], {}),
    ("argmin", {"axis": 1, "keepdims": True}, [(3, 4)], {}),
    *(("normalize", more, [(3, 4)], {}) for more in ({"epsilon": 1.0}, {"order": 1}, {"order": 3, "axis": 1, "epsilon": 0.5})),
    *(("image.resize", {"size": size, **more}, [shape], {})
      for size, shape in (([6, 3], (6, 8, 2)), ([6, 12], (6, 8, 2)), ([3, 9], (7, 5, 1)))
      for more in ({"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True, "fill_value": 0.5}, {"antialias": True},
                   {"interpolation": "nearest"})),
    ("array_split", {"indices_or_sections": 3, "axis": -1}, [(3, 8)], {}),
    *(("einsum", {}, shapes, {"way": equation}) for equation, shapes in (
        ("...ij,...kj->...ik", [(2, 3, 4), (2, 5, 4)]), ("b...i,bi->b...", [(2, 3, 4), (4,)]), ("bij,bjk", [(3, 4), (4, 5)]))),
    ("tensordot", {"axes": [[1, 2], [2, 1]]}, [(3, 4), (4, 3)], {}),
    ("dot", {}, [(3, 4), (4, 5)], {}),
    ("round", {"decimals": 1}, [(3, 4)], {}),
    ("celu", {"alpha": 0.5}, [(3, 4)], {}),
    ("gelu", {"approximate": False}, [(3, 4)], {}),
    ("glu", {"axis": 1}, [(4, 3)], {}),
    ("leaky_relu", {"negative_slope": 0.3}, [(3, 4)], {}),
    ("squareplus", {"b": 2}, [(3, 4)], {}),
    ("sparsemax", {"axis": 1}, [(3, 4)], {}),
    ("one_hot", {"num_classes": 4, "axis": 1, "dtype": "int32"}, [(3,)], {"integers": 4}),
    ("full_like", {"fill_value": 2.5}, [(3, 4)], {}),
    ("unstack", {"axis": 1}, [(3, 4)], {}),
]
"""Arguments that are not at their defaults."""

TYPES: list[tuple[str, dict[str, Any], list[tuple[int, ...]], dict[str, Any]]] = [
    *((name, {"axis": -1}, [(3, 4)], {"types": [dtype], "integers": 90})
      for name in ("sum", "prod", "mean", "max", "cumsum", "cumprod")
      for dtype in ("int8", "int16", "uint8", "bool", "int32", "float16") if dtype != "float16" or name in ("mean", "max")),
    ("cumsum", {"axis": -1, "dtype": "int32"}, [(3, 4)], {"types": ["int8"], "integers": 90}),
    *(("saturate_cast", {"dtype": made}, [(3, 4)], {"types": [given], "integers": 300})
      for given, made in (("int32", "uint8"), ("int32", "int8"), ("int16", "uint8"), ("bool", "int8"), ("float32", "uint8"))),
    *((name, {"x2": number}, [(3, 4)], {"types": [dtype], "integers": 9})
      for name in ("multiply", "add", "floor_divide", "divide", "greater")
      for dtype, number in (("int32", 2.5), ("int8", 2), ("float16", 2.5), ("float16", 2))),
    *((name, {}, [(3, 4), (3, 4)], {"types": types, "integers": 9})
      for name in ("add", "subtract", "maximum", "less")
      for types in (["int8", "uint8"], ["int32", "float16"], ["int32", "float32"], ["float16", "float32"], ["uint8", "int32"])),
    ("multiply", {}, [(3, 4), (3, 4)], {"types": ["bool", "int8"], "integers": 9}),
    *((name, {"axis": 1}, [(3, 4), (3, 4)], {"way": "several", "types": types, "integers": 9})
      for name in ("concatenate", "stack") for types in (["float32", "int32"], ["int8", "bool"])),
    ("where", {}, [(3, 4)] * 3, {"types": ["bool", "int32", "float32"], "integers": 9}),
    *((name, {}, [(3, 4), (4, 5)], {"types": types, "integers": 90}) for name in ("matmul", "dot")
      for types in (["int8", "int8"], ["int32", "float32"], ["uint8", "int8"]) if name == "matmul" or types[0] != "int8"),
    ("arctan2", {}, [(3, 4), (3, 4)], {"types": ["int32", "int8"], "integers": 9}),
    ("sqrt", {}, [(3, 4)], {"types": ["uint8"], "integers": 9}),
]
"""Types other than float32, and several together."""

ARRAYS: list[tuple[str, dict[str, Any], list[tuple[int, ...]], dict[str, Any]]] = [
    *((name, more, [(3, 4)], {}) for name in ("sort", "argsort") for more in ({}, {"axis": 1})),
    ("sort", {}, [(3, 4)], {"types": ["int8"], "integers": 9}),
    ("argsort", {}, [(3, 4)], {"types": ["int32"], "integers": 3}),
    *(("median", more, [(3, 4)], {}) for more in ({}, {"axis": 1}, {"axis": [1, 2], "keepdims": True})),
    *(("quantile", {"q": q, **more}, [(3, 4)], {})
      for q in (0.3, [0.1, 0.5, 1.0]) for more in ({}, {"axis": 2, "keepdims": True})),
    *(("diff", more, [(3, 4)], {}) for more in ({}, {"n": 2, "axis": 1})),
    *((name, {"k": k}, [(3, 4)], {}) for name in ("tril", "triu") for k in (0, 1, -1)),
    *((name, {"offset": offset, "axis1": 1, "axis2": 2}, [(3, 4)], {})
      for name in ("diagonal", "trace") for offset in (0, 1, -1)),
    *(("count_nonzero", more, [(3, 4)], {"types": ["int32"], "integers": 2}) for more in ({}, {"axis": 1})),
    ("average", {"axis": 1}, [(3, 4)], {}),
    ("slice", {"start_indices": [0, 1, 2], "shape": [2, 2, 1]}, [(3, 4)], {}),
    ("take_along_axis", {"axis": 1}, [(3, 4), (2, 4)], {"types": ["float32", "int32"], "integers": 3}),
    ("take_along_axis", {"axis": -1}, [(3, 4), (1, 2)], {"types": ["float32", "int32"], "integers": 3}),
    *(("scatter_update", {"indices": [[0, 1], [1, 2], [0, 1]], "updates": [1.0, 2.0, 3.0], "reduction": how}, [(3,)], {})
      for how in ("add", "max", "min")),
    ("multi_hot", {"num_classes": 5}, [(3,)], {"integers": 5}),
    ("outer", {}, [(3,), (4,)], {}),
    ("inner", {}, [(3, 4), (5, 4)], {}),
    ("isclose", {"x2": 0.5, "atol": 0.5}, [(3, 4)], {}),
    ("logaddexp", {}, [(3, 4), (3, 4)], {}),
    ("cross", {}, [(4, 3), (4, 3)], {}),
    ("cross", {"axis": 1}, [(3, 4), (3, 4)], {}),
    ("nan_to_num", {"nan": 1.0}, [(3, 4)], {}),
    ("trunc", {}, [(3, 4)], {}),
    ("moments", {"axes": [1]}, [(3, 4)], {}),
    ("moments", {"axes": [0, 2], "keepdims": True}, [(3, 4)], {}),
    ("layer_normalization", {"epsilon": 0.1}, [(3, 4)], {}),
    ("rms_normalization", {"axis": 1}, [(3, 4)], {}),
    *(("dot_product_attention", more, [(5, 4, 8), (6, heads, 8), (6, heads, 8)], {})
      for heads, more in ((4, {}), (2, {}), (4, {"is_causal": True, "scale": 0.5}))),
    ("image.rgb_to_grayscale", {}, [(4, 5, 3)], {}),
    ("image.crop_images", {"top_cropping": 1, "left_cropping": 2, "target_height": 3, "target_width": 2}, [(6, 7, 2)], {}),
    ("image.pad_images", {"top_padding": 1, "right_padding": 2, "target_height": 9, "target_width": 10}, [(6, 7, 2)], {}),
]
"""Operations that are several of TensorFlow's."""
