"""From VHLO to StableHLO, for every version of VHLO.

VHLO says everything that StableHLO leaves to defaults, keeps lists of dimensions as tensors, and takes structures apart;
older versions of an operation have fewer attributes. What stands here puts that together again, as upstream's
`vhlo-to-version` and `vhlo-legalize-to-stablehlo` do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from transload.ir.attributes import OpaqueAttr, Symbol
from transload.ir.constants import Dense
from transload.ir.types import BOOL, I64, NONE, FunctionType, Type
from transload.text.attribute_text import attribute_text

from . import stablehlo
from .cursor import BytecodeError, UnknownConstruct
from .operations import PROPERTIES

__all__ = ["NEWEST", "OLDEST", "PRODUCER", "properties_of", "upgraded"]

PRODUCER = re.compile(r"StableHLO_v(\d+)\.(\d+)\.(\d+)").match
"""How a portable artifact names the version that it is written in."""
OLDEST, NEWEST = (0, 9), (1, 20)

Attributes = dict[str, Any]

_VERSIONED = re.compile(r"vhlo\.([a-z0-9_-]+)_v(\d+)").fullmatch
_PLAIN = frozenset((
    "abs", "add", "after_all", "and", "async_done", "async_start", "atan2", "bitcast_convert", "case", "cbrt", "ceil",
    "clamp", "complex", "convert", "cosine", "count_leading_zeros", "create_token", "divide", "dynamic_pad",
    "dynamic_reshape", "dynamic_update_slice", "exponential", "exponential_minus_one", "floor", "if", "imag", "is_finite",
    "log", "log_plus_one", "logistic", "maximum", "minimum", "multiply", "negate", "not", "optimization_barrier", "or",
    "partition_id", "popcnt", "power", "real", "real_dynamic_slice", "remainder", "replica_id", "reshape", "return",
    "round_nearest_afz", "round_nearest_even", "rsqrt", "select", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh", "tuple", "uniform_dequantize",
    "uniform_quantize", "while", "xor",
))
"""Operations whose first version has no attributes."""
_SECOND = frozenset((
    "all_gather", "all_reduce", "all_to_all", "cbrt", "collective_broadcast", "composite", "cosine", "custom_call",
    "dot_general", "dynamic_conv", "dynamic_gather", "exponential", "exponential_minus_one", "gather", "log", "log_plus_one",
    "logistic", "recv", "rsqrt", "scatter", "send", "sine", "sqrt", "tan", "tanh",
))
"""Operations that have a second version."""


def _parts(name: str) -> str:
    """The operation's name without dialect and version."""
    match = _VERSIONED(name)
    if match is not None:
        base, version = match[1], int(match[2])
        known = base in _PLAIN or f"vhlo.{base}" in PROPERTIES
        if known and version in ((1, 2) if base in _SECOND else (1,)):
            return base
    raise UnknownConstruct(f"the operation {name} is not known")


def properties_of(name: str) -> tuple[tuple[str, bool], ...]:
    """The attributes of an operation of VHLO, in the order of bytecode."""
    base = _parts(name)
    return PROPERTIES.get(name) or PROPERTIES.get(f"vhlo.{base}", ())


def upgraded(name: str, attributes: Attributes) -> tuple[str, Attributes]:
    """The operation of StableHLO (or `func`) that one of VHLO is, and its attributes.

    `return` is `stablehlo.return`; inside of a function it is `func.return`, which the caller knows.
    """
    base = _parts(name)
    missing = next((key for key, optional in properties_of(name) if not optional and key not in attributes), None)
    if missing is not None:  # a default of StableHLO is no default of VHLO
        raise BytecodeError(f"{name} has no attribute {missing!r}")
    found: Attributes = {}
    for key, value in attributes.items():
        found[key] = _numbers(value, BOOL if key == "window_reversal" else I64) if key in _LISTS else value
    for rule in _RULES.get(base, ()):
        rule(found)
    for key, default in (*_DEFAULTS.get(base, ()), *_EVERYWHERE):
        if key in found and _is(found[key], default):
            del found[key]
    return _NAMES.get(base, f"stablehlo.{base}"), {key: found[key] for key in sorted(found, key=_rank)}


def _rank(key: str) -> tuple[bool, str]:
    """An operation's own attributes stand before those of other dialects."""
    return "." in key, key


_NAMES = {"func": "func.func", "call": "func.call"}

# --- lists of dimensions, which VHLO keeps as tensors

_LISTS = frozenset((
    "base_dilations", "broadcast_dimensions", "broadcast_sizes", "dimensions", "edge_padding_high", "edge_padding_low",
    "fft_length", "interior_padding", "known_expanding_dimensions", "known_nonexpanding_dimensions", "lhs_dilation",
    "limit_indices", "permutation", "rhs_dilation", "slice_sizes", "start_indices", "strides", "window_dilations",
    "window_dimensions", "window_reversal", "window_strides",
))
MAX_LIST = 1 << 16


def _numbers(value: Any, element: Type = I64) -> tuple[Any, ...]:
    if not isinstance(value, Dense) or len(value.shape) != 1 or value.shape[0] > MAX_LIST or value.type.element != element:
        raise BytecodeError(f"a list of dimensions is no tensor of {element}")
    return tuple(value.numpy().tolist())


def _number(value: Any) -> int:
    """A number of 64 bits, which alone is a plain one."""
    if type(value) is not int:
        raise BytecodeError("a dimension is no integer of 64 bits")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BytecodeError("whether something is so is no truth value")
    return value


def _tensor(value: Any, what: str) -> Dense:
    if not isinstance(value, Dense):
        raise BytecodeError(f"{what} is no tensor")
    return value


# --- structures, which VHLO takes apart


def _gathered(target: str, mnemonic: str) -> Callable[[Attributes], None]:
    """A rule that makes a structure of the attributes that are its members."""
    members = stablehlo.SHAPES[mnemonic]

    def rule(found: Attributes) -> None:
        values: list[Any] = []
        for member in members:
            if member[0] != "[":
                values.append(_number(found.pop(member)))
            elif member.endswith("_batching_dims]"):  # the first version of gather and scatter had no batches
                values.append(_numbers(found.pop(member[1:-1])) if member[1:-1] in found else ())
            else:
                values.append(_numbers(found.pop(member[1:-1])))
        found[target] = stablehlo.structure(mnemonic, values)

    return rule


def _channel(found: Attributes) -> None:
    if "source_target_pairs" in found and 0 in _tensor(found["source_target_pairs"], "source_target_pairs").shape:
        del found["source_target_pairs"]
    found["channel_handle"] = stablehlo.structure(
        "channel_handle", [_number(found.pop("channel_id")), _number(found.pop("channel_type"))])


def _channel_of_collective(found: Attributes) -> None:
    handle = _number(found.pop("channel_id"))
    if handle:
        found["channel_handle"] = stablehlo.structure("channel_handle", [handle, 0])


def _present(key: str) -> Callable[[Attributes], None]:
    """A rule that makes of a truth value an attribute that is there or not."""
    def rule(found: Attributes) -> None:
        if key in found and _truth(found.pop(key)):
            found[key] = None

    return rule


_global_ids, _dynamic_root = _present("use_global_device_ids"), _present("has_dynamic_root")


_ALGORITHM = (
    "lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count", "rhs_component_count",
    "num_primitive_operations", "allow_imprecise_accumulation",
)
_KINDS = (Type, Type, Type, int, int, int, bool)


def _algorithm(found: Attributes) -> None:
    """The algorithm of a dot product; none where all of it is `none`, and in the first version."""
    values = {key: found.pop(key) for key in _ALGORITHM if key in found}
    if all(value == NONE for value in values.values()):
        return
    kinds = (type(value) if value == NONE or not isinstance(value, Type) else Type for value in values.values())
    if tuple(kinds) != _KINDS:
        raise BytecodeError("the algorithm of a dot product is none")
    parts = [f"{key} = {attribute_text(value) if isinstance(value, bool) else value}" for key, value in values.items()]
    found["algorithm"] = OpaqueAttr(f"#stablehlo.dot_algorithm<{', '.join(parts)}>")


def _symbol(key: str) -> Callable[[Attributes], None]:
    def rule(found: Attributes) -> None:
        if not isinstance(found[key], str):
            raise BytecodeError("a function's name is no text")
        found[key] = Symbol(found[key])

    return rule


def _computations(found: Attributes) -> None:
    names = found["called_computations"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BytecodeError("called_computations is no list of names")
    found["called_computations"] = [Symbol(name) for name in names]


def _function(found: Attributes) -> None:
    if not isinstance(found["sym_name"], str) or not isinstance(found["function_type"], FunctionType):
        raise BytecodeError("a function has no name or type")


def _padding(found: Attributes) -> None:
    """The first version of a dynamic convolution had its padding twice: that of the operand holds."""
    if "padding" in found:
        _tensor(found.pop("padding"), "padding")


_CONV, _CHANNELS = _gathered("dimension_numbers", "conv"), (_channel_of_collective,)
_RULES: dict[str, tuple[Callable[[Attributes], None], ...]] = {
    "all_gather": (_channel_of_collective, _global_ids), "all_reduce": (_channel_of_collective, _global_ids),
    "reduce_scatter": (_channel_of_collective, _global_ids), "all_to_all": _CHANNELS, "collective_permute": _CHANNELS,
    "collective_broadcast": (_channel_of_collective, _dynamic_root),
    "collective_reduce": (_channel_of_collective, _global_ids, _dynamic_root),
    "send": (_channel,), "recv": (_channel,), "call": (_symbol("callee"),),
    "composite": (_symbol("decomposition"),), "custom_call": (_computations,), "func": (_function,),
    "convolution": (_CONV,), "dynamic_conv": (_CONV, _padding),
    "dot_general": (_gathered("dot_dimension_numbers", "dot"), _algorithm),
    "gather": (_gathered("dimension_numbers", "gather"),), "dynamic_gather": (_gathered("dimension_numbers", "gather"),),
    "scatter": (_gathered("scatter_dimension_numbers", "scatter"),),
}

# --- defaults, which StableHLO leaves out


class _All:
    """A list or constant that holds one value everywhere."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _is(value: Any, default: Any) -> bool:
    if type(default) is int:
        return isinstance(value, int) and not isinstance(value, bool) and int(value) == default
    if not isinstance(default, _All):
        return type(value) is type(default) and bool(value == default)
    if isinstance(value, Dense):
        one = value.splat_value()
        return one is not None and one.item() == default.value
    return isinstance(value, (list, tuple)) and bool(value or isinstance(value, list)) and all(v == default.value for v in value)


_ONES, _ZEROS, _NO = _All(1), _All(0), _All(False)
_PRECISE = ("precision_config", _All(stablehlo.enum_attribute("precision", "DEFAULT")))
_EMPTY: list[Any] = []
_WINDOW = (
    ("window_strides", _ONES), ("lhs_dilation", _ONES), ("rhs_dilation", _ONES), ("window_reversal", _NO), _PRECISE,
)
_EVERYWHERE = (("result_accuracy", stablehlo.accuracy(0.0, 0.0, 0, "DEFAULT")),)
_DEFAULTS: dict[str, tuple[tuple[str, Any], ...]] = {
    "func": (("sym_visibility", ""), ("arg_attrs", _EMPTY), ("res_attrs", _EMPTY)),
    "cholesky": (("lower", False),),
    "compare": (("compare_type", stablehlo.enum_attribute("comparison_type", "NOTYPE")),),
    "composite": (("version", 0), ("composite_attributes", {})),
    "convolution": (*_WINDOW, ("padding", _ZEROS)),
    "dynamic_conv": _WINDOW,
    "custom_call": (
        ("has_side_effect", False), ("backend_config", ""), ("backend_config", {}), ("api_version", 1),
        ("called_computations", _EMPTY), ("operand_layouts", _EMPTY), ("result_layouts", _EMPTY),
        ("result_tilings", _EMPTY), ("output_operand_aliases", _EMPTY),
    ),
    "dot_general": (_PRECISE,),
    "dot": (_PRECISE,),
    "dynamic_broadcast_in_dim": (("known_expanding_dimensions", ()), ("known_nonexpanding_dimensions", ())),
    "gather": (("indices_are_sorted", False),),
    "dynamic_gather": (("indices_are_sorted", False),),
    "infeed": (("layout", _EMPTY),),
    "recv": (("is_host_transfer", False),),
    "send": (("is_host_transfer", False),),
    "reduce_window": (
        ("window_strides", _ONES), ("base_dilations", _ONES), ("window_dilations", _ONES), ("padding", _ZEROS)),
    "scatter": (("indices_are_sorted", False), ("unique_indices", False)),
    "select_and_scatter": (("window_strides", _ONES), ("padding", _ZEROS)),
    "sort": (("dimension", -1), ("is_stable", False)),
}
