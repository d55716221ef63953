"""Attributes of StableHLO: enums, and the structures that give dimensions their roles.

A structure (`#stablehlo.gather<offset_dims = [0], ...>`) keeps its text, and its members are read by name. Text
is brought to one form when a structure is made, so that equal structures have equal texts.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from transload.ir.attributes import Attribute, DenseArray, OpaqueAttr
from transload.ir.constants import Dense
from transload.ir.declare import INTS, AttributeKind, enum
from transload.ir.types import BOOL, I32, I64, IndexType

__all__ = [
    "ACCURACY",
    "ALGORITHM",
    "ALIASES",
    "API_VERSIONS",
    "BOOLS",
    "CHANNEL",
    "COMPARISON",
    "COMPARISON_TYPE",
    "CONV_DIMS",
    "CUSTOM_CALL_API",
    "DIMS",
    "DISTRIBUTION",
    "DOT_DIMS",
    "FFT_TYPE",
    "GATHER_DIMS",
    "LAYOUTS",
    "NUMBERS",
    "PRECISIONS",
    "RNG_ALGORITHM",
    "SCATTER_DIMS",
    "TRANSPOSE",
    "ChannelHandle",
    "ConvDims",
    "DotAlgorithm",
    "DotDims",
    "GatherDims",
    "ScatterDims",
    "aliases_of",
    "precisions_of",
]


def _enum(word: str, *names: str) -> AttributeKind[str]:
    return enum(*names, text=f"#stablehlo<{word} {{}}>".format)


COMPARISON = _enum("comparison_direction", "EQ", "NE", "GE", "GT", "LE", "LT")
COMPARISON_TYPE = _enum("comparison_type", "NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
FFT_TYPE = _enum("fft_type", "FFT", "IFFT", "RFFT", "IRFFT")
RNG_ALGORITHM = _enum("rng_algorithm", "DEFAULT", "THREE_FRY", "PHILOX")
DISTRIBUTION = _enum("rng_distribution", "UNIFORM", "NORMAL")
TRANSPOSE = _enum("transpose", "TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
API_VERSIONS = ("unspecified", "original", "status returning", "status returning unified", "typed FFI")
CUSTOM_CALL_API: AttributeKind[int] = AttributeKind(
    "integer (i32), 0 to 4", lambda v: isinstance(v, int) and 0 <= v < len(API_VERSIONS), text_type=I32)


def _ints(value: Attribute) -> Attribute:
    """A tuple of integers, also of the form before version 0.9, `dense<[1, 2]> : tensor<2xi64>`."""
    if isinstance(value, Dense) and len(value.shape) == 1:
        return tuple(value.numpy().tolist())
    return tuple(map(int, value)) if isinstance(value, tuple) else value


DIMS: AttributeKind[tuple[int, ...]] = AttributeKind("integers (i64)", INTS.accepts, None, _ints, I64)
"""Sizes or dimensions: `array<i64: 1, 2>`, a tuple."""


def _bools(value: Attribute) -> Attribute:
    if isinstance(value, Dense) and len(value.shape) == 1:
        return tuple(map(bool, value.numpy().tolist()))
    return tuple(map(bool, value)) if isinstance(value, tuple) else value


BOOLS: AttributeKind[tuple[bool, ...]] = AttributeKind(
    "true or false, several",
    lambda v: isinstance(v, tuple) and all(isinstance(one, bool) for one in v),
    lambda v: DenseArray(v, BOOL),
    _bools,
    BOOL,
)
"""`array<i1: true, false>`, a tuple."""

_PRECISION = re.compile(r"#stablehlo<precision (DEFAULT|HIGH|HIGHEST)>").fullmatch
PRECISIONS: AttributeKind[list[OpaqueAttr]] = AttributeKind(
    "list of precisions: DEFAULT, HIGH or HIGHEST",
    lambda v: isinstance(v, list) and all(isinstance(one, OpaqueAttr) and _PRECISION(one.text) for one in v),
)


def precisions_of(value: Any) -> list[str]:
    """The names in a precision configuration."""
    return [one.text[len("#stablehlo<precision ") : -1] for one in value or []]


def _is_accuracy(value: Any) -> bool:
    """Whether it is `#stablehlo.result_accuracy<...>`: tolerances of zero and more, and only with the mode TOLERANCE."""
    start = "#stablehlo.result_accuracy<"
    if not isinstance(value, OpaqueAttr) or not (value.text.startswith(start) and value.text.endswith(">")):
        return False
    try:
        entries = _entries(value.text[len(start) : -1], "result_accuracy")
        mode = _ACCURACY_MODE(entries.pop("mode"))
        limits = [int(text) if name == "ulps" else float(text) for name, text in entries.items()]
    except (ValueError, KeyError):
        return False
    if mode is None or not set(entries) <= {"atol", "rtol", "ulps"}:
        return False
    return all(limit >= 0 for limit in limits) if mode[1] == "TOLERANCE" else not any(limits)


_ACCURACY_MODE = re.compile(r"#stablehlo\.result_accuracy_mode<(DEFAULT|HIGHEST|TOLERANCE)>").fullmatch
ACCURACY: AttributeKind[OpaqueAttr] = AttributeKind(
    "#stablehlo.result_accuracy<...> of mode DEFAULT or HIGHEST, or of mode TOLERANCE with limits of 0 and more", _is_accuracy)
_LAYOUT = "a list of layouts: each a list of dimensions (tensor of index)"
LAYOUTS: AttributeKind[list[Dense]] = AttributeKind(_LAYOUT, lambda v: isinstance(v, list) and all(
    isinstance(one, Dense) and len(one.shape) == 1 and isinstance(one.type.element, IndexType) for one in v))
NUMBERS: AttributeKind[Dense] = AttributeKind("tensor of i64", lambda v: isinstance(v, Dense) and v.type.element == I64)
"""Rows of numbers: processes in groups, or padding before and behind."""
_ALIAS = re.compile(
    r"#stablehlo\.output_operand_alias<\s*output_tuple_indices = \[([\d, -]*)\],\s*operand_index = (-?\d+),\s*"
    r"operand_tuple_indices = \[([\d, -]*)\]\s*>").fullmatch
ALIASES: AttributeKind[list[OpaqueAttr]] = AttributeKind(
    "a list of #stablehlo.output_operand_alias<...>",
    lambda v: isinstance(v, list) and all(isinstance(one, OpaqueAttr) and _ALIAS(one.text) for one in v))


def aliases_of(value: Any) -> list[tuple[tuple[int, ...], int, tuple[int, ...]]]:
    """Places in the result, number of the operand, and places in that, of each alias of a custom call."""
    matches = [_ALIAS(one.text) for one in value or []]
    return [(_list(f"[{m[1]}]"), int(m[2]), _list(f"[{m[3]}]")) for m in matches if m is not None]


_entry = re.compile(r"\s*(\w+)\s*=\s*(\[[^\]]*\]|[^,\[\]]+?)\s*(?:,|$)").match


def _entries(body: str, what: str) -> dict[str, str]:
    """`a = 1, b = [2, 3]` as a dictionary of texts."""
    found: dict[str, str] = {}
    position = 0
    while position < len(body.rstrip()):
        match = _entry(body, position)
        if match is None:
            raise ValueError(f"{what}: cannot read {body[position:]!r}")
        if match[1] in found:
            raise ValueError(f"{what}: {match[1]} is given twice")
        found[match[1]] = match[2]
        position = match.end()
    return found


def _list(text: str) -> tuple[int, ...]:
    inside = text.strip()[1:-1].strip()
    return tuple(int(part) for part in inside.split(",")) if inside else ()


S = TypeVar("S", bound="_Structure")


class _Structure(OpaqueAttr):
    """A structure with lists of dimensions, and single numbers, in a fixed order."""

    __slots__ = ("values",)
    mnemonic = ""
    lists: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    """Members that are printed even where they are empty or zero."""

    def __init__(self, **values: Any) -> None:
        unknown = set(values) - {*self.lists, *self.numbers}
        if unknown:
            raise ValueError(f"{self.mnemonic} has no {', '.join(sorted(unknown))}")
        self.values = {
            **{name: tuple(values.get(name, ())) for name in self.lists},
            **{name: values.get(name, 0) for name in self.numbers},
        }
        super().__init__(self._format())

    def _format(self) -> str:
        parts = [
            f"{name} = [{', '.join(map(str, self.values[name]))}]"
            for name in self.lists
            if self.values[name] or name in self.always
        ]
        parts += [f"{name} = {self.values[name]}" for name in self.numbers if self.values[name] or name in self.always]
        return f"#stablehlo.{self.mnemonic}<{', '.join(parts)}>"

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "values")[name]
        except (AttributeError, KeyError):
            raise AttributeError(f"{type(self).__name__} has no {name!r}") from None

    @classmethod
    def parse(cls, value: Attribute) -> Attribute:
        """The structure that a text means; anything else as it is."""
        if isinstance(value, cls) or not isinstance(value, OpaqueAttr):
            return value
        start = f"#stablehlo.{cls.mnemonic}<"
        if not (value.text.startswith(start) and value.text.endswith(">")):
            return value
        return cls._parse(value.text[len(start) : -1])

    @classmethod
    def _parse(cls, body: str) -> Attribute:
        entries = _entries(body, cls.mnemonic)
        return cls(**{name: _list(text) if name in cls.lists else int(text) for name, text in entries.items()})

    @classmethod
    def kind(cls: type[S]) -> AttributeKind[S]:
        return AttributeKind(f"#stablehlo.{cls.mnemonic}<...>", lambda v: isinstance(v, cls), None, cls.parse)


class DotDims(_Structure):
    """Which dimensions of the operands are batched and contracted by dot_general."""

    __slots__ = ()
    mnemonic = "dot"
    lists = ("lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions")


class GatherDims(_Structure):
    """The roles of dimensions in gather."""

    __slots__ = ()
    mnemonic = "gather"
    lists = ("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map")
    numbers = ("index_vector_dim",)


class ScatterDims(_Structure):
    """The roles of dimensions in scatter."""

    __slots__ = ()
    mnemonic = "scatter"
    lists = (
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    )
    numbers = ("index_vector_dim",)


class ChannelHandle(_Structure):
    """A channel between processes, and its kind (1 device to device, 2 to the host, 3 from the host)."""

    __slots__ = ()
    mnemonic = "channel_handle"
    numbers = always = ("handle", "type")


class DotAlgorithm(OpaqueAttr):
    """How dot_general computes: precisions of the operands and of the accumulator, and of how many parts."""

    __slots__ = ("values",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.values = _entries(text[len("#stablehlo.dot_algorithm<") : -1], "dot_algorithm")

    @classmethod
    def parse(cls, value: Attribute) -> Attribute:
        if isinstance(value, OpaqueAttr) and not isinstance(value, cls) and value.text.startswith("#stablehlo.dot_algorithm<"):
            return cls(re.sub(r"\s+", " ", value.text).replace("< ", "<").replace(" >", ">"))
        return value

    def number(self, name: str) -> int:
        return int(self.values.get(name, "0"))

    @property
    def is_known(self) -> bool:
        """Whether it is one of those that hardware has (the dialect's list; the specification leaves it open)."""
        types = tuple(self.values.get(f"{name}_type", "") for name in ("lhs_precision", "rhs_precision", "accumulation"))
        components = (self.number("lhs_component_count"), self.number("rhs_component_count"))
        times, fast = self.number("num_primitive_operations"), self.values.get("allow_imprecise_accumulation")
        if components != (1, 1) or fast not in ("true", "false"):
            return False
        if types[2] == "f32" and all(name in _F8 for name in types[:2]):
            return times == 1
        return fast == "false" and types in _ALGORITHMS and times in _ALGORITHMS[types]


_F8 = frozenset(("f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ"))
_ALGORITHMS = {
    ("f16", "f16", "f16"): (1,), ("f16", "f16", "f32"): (1,), ("bf16", "bf16", "bf16"): (1,),
    ("bf16", "bf16", "f32"): (1, 3, 6, 9), ("tf32", "tf32", "f32"): (1, 3), ("f32", "f32", "f32"): (1,),
    ("f64", "f64", "f64"): (1,),
}
"""Numbers of primitive operations by types of lhs, rhs and accumulation."""


class ConvDims(_Structure):
    """The roles of dimensions in a convolution: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""

    __slots__ = ()
    mnemonic = "conv"
    lists = ("input_spatial_dimensions", "kernel_spatial_dimensions", "output_spatial_dimensions")
    numbers = (
        "input_batch_dimension",
        "input_feature_dimension",
        "kernel_input_feature_dimension",
        "kernel_output_feature_dimension",
        "output_batch_dimension",
        "output_feature_dimension",
    )
    _GROUPS = (
        ("input", ("batch", "b"), ("feature", "f")),
        ("kernel", ("input_feature", "i"), ("output_feature", "o")),
        ("output", ("batch", "b"), ("feature", "f")),
    )

    def _format(self) -> str:
        groups = []
        for name, *singles in self._GROUPS:
            spatial = self.values[f"{name}_spatial_dimensions"]
            places = {dimension: str(place) for place, dimension in enumerate(spatial)}
            for role, letter in singles:
                places[self.values[f"{name}_{role}_dimension"]] = letter
            size = len(spatial) + 2
            if set(places) != set(range(size)):  # not a permutation: only the raw form can say it
                members = [f"{key} = {list(value) if isinstance(value, tuple) else value}" for key, value in self.values.items()]
                return f"#stablehlo.conv<raw {', '.join(members)}>"
            groups.append(f"[{', '.join(places[index] for index in range(size))}]")
        return f"#stablehlo.conv<{groups[0]}x{groups[1]}->{groups[2]}>"

    @classmethod
    def _parse(cls, body: str) -> Attribute:
        body = body.strip()
        if body.startswith("raw"):
            return super()._parse(body[3:])
        match = re.fullmatch(r"\[([^\]]*)\]\s*x\s*\[([^\]]*)\]\s*->\s*\[([^\]]*)\]", body)
        if match is None:
            raise ValueError(f"cannot read the dimension numbers {body!r}")
        values: dict[str, Any] = {}
        for (name, *singles), text in zip(cls._GROUPS, match.groups(), strict=True):
            letters = [part.strip() for part in text.split(",")]
            wanted = {letter for _, letter in singles} | {str(index) for index in range(len(letters) - len(singles))}
            if set(letters) - {"?"} != wanted or len(set(letters)) != len(letters):
                raise ValueError(f"the dimension numbers {body!r} must name each of {', '.join(sorted(wanted))} once")
            for role, letter in singles:
                values[f"{name}_{role}_dimension"] = letters.index(letter)
            spatial = sorted((int(letter), index) for index, letter in enumerate(letters) if letter.isdigit())
            values[f"{name}_spatial_dimensions"] = tuple(index for _, index in spatial)
        return cls(**values)


DOT_DIMS, GATHER_DIMS, SCATTER_DIMS = DotDims.kind(), GatherDims.kind(), ScatterDims.kind()
CHANNEL, CONV_DIMS = ChannelHandle.kind(), ConvDims.kind()
ALGORITHM: AttributeKind[DotAlgorithm] = AttributeKind(
    "#stablehlo.dot_algorithm<...>", lambda v: isinstance(v, DotAlgorithm), None, DotAlgorithm.parse)
