"""Attributes of StableHLO: enums, and the structures that give dimensions their roles.

A structure (`#stablehlo.gather<offset_dims = [0], ...>`) keeps its text, and its members are read by name. Text
is brought to one form when a structure is made, so that equal structures have equal texts.
"""

from __future__ import annotations

import re
from typing import Any

from transload.ir.attributes import Attribute, DenseArray, OpaqueAttr
from transload.ir.constants import Dense
from transload.ir.declare import INTS, AttributeKind, enum
from transload.ir.types import BOOL

__all__ = [
    "ALGORITHM",
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
    "precisions_of",
]


def _enum(word: str, *names: str) -> AttributeKind:
    return enum(*names, text=f"#stablehlo<{word} {{}}>".format)


COMPARISON = _enum("comparison_direction", "EQ", "NE", "GE", "GT", "LE", "LT")
COMPARISON_TYPE = _enum("comparison_type", "NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
FFT_TYPE = _enum("fft_type", "FFT", "IFFT", "RFFT", "IRFFT")
RNG_ALGORITHM = _enum("rng_algorithm", "DEFAULT", "THREE_FRY", "PHILOX")
DISTRIBUTION = _enum("rng_distribution", "UNIFORM", "NORMAL")
TRANSPOSE = _enum("transpose", "TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
API_VERSIONS = ("unspecified", "original", "status returning", "status returning unified", "typed FFI")
CUSTOM_CALL_API = AttributeKind("integer (i32), 0 to 4", lambda v: isinstance(v, int) and 0 <= v < len(API_VERSIONS))


def _ints(value: Attribute) -> Attribute:
    """A tuple of integers, also of the form before version 0.9, `dense<[1, 2]> : tensor<2xi64>`."""
    if isinstance(value, Dense) and len(value.shape) == 1:
        return tuple(value.numpy().tolist())
    return tuple(map(int, value)) if isinstance(value, tuple) else value


DIMS = AttributeKind("integers (i64)", INTS.accepts, None, _ints)
"""Sizes or dimensions: `array<i64: 1, 2>`, a tuple."""


def _bools(value: Attribute) -> Attribute:
    if isinstance(value, Dense) and len(value.shape) == 1:
        return tuple(map(bool, value.numpy().tolist()))
    return tuple(map(bool, value)) if isinstance(value, tuple) else value


BOOLS = AttributeKind(
    "true or false, several",
    lambda v: isinstance(v, tuple) and all(isinstance(one, bool) for one in v),
    lambda v: DenseArray(v, BOOL),
    _bools,
)
"""`array<i1: true, false>`, a tuple."""

_PRECISION = re.compile(r"#stablehlo<precision (DEFAULT|HIGH|HIGHEST)>").fullmatch
PRECISIONS = AttributeKind(
    "list of precisions: DEFAULT, HIGH or HIGHEST",
    lambda v: isinstance(v, list) and all(isinstance(one, OpaqueAttr) and _PRECISION(one.text) for one in v),
)


def precisions_of(value: Any) -> list[str]:
    """The names in a precision configuration."""
    return [one.text[len("#stablehlo<precision ") : -1] for one in value or []]


_entry = re.compile(r"\s*(\w+)\s*=\s*(\[[^\]]*\]|[^,\[\]]+?)\s*(?:,|$)").match


def _entries(body: str, what: str) -> dict[str, str]:
    """`a = 1, b = [2, 3]` as a dictionary of texts."""
    found: dict[str, str] = {}
    position = 0
    while position < len(body.rstrip()):
        match = _entry(body, position)
        if match is None:
            raise ValueError(f"{what}: cannot read {body[position:]!r}")
        found[match[1]] = match[2]
        position = match.end()
    return found


def _list(text: str) -> tuple[int, ...]:
    inside = text.strip()[1:-1].strip()
    return tuple(int(part) for part in inside.split(",")) if inside else ()


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
    def kind(cls) -> AttributeKind:
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
            for role, letter in singles:
                values[f"{name}_{role}_dimension"] = letters.index(letter)
            spatial = sorted((int(letter), index) for index, letter in enumerate(letters) if letter.isdigit())
            values[f"{name}_spatial_dimensions"] = tuple(index for _, index in spatial)
        return cls(**values)


DOT_DIMS, GATHER_DIMS, SCATTER_DIMS = DotDims.kind(), GatherDims.kind(), ScatterDims.kind()
CHANNEL, CONV_DIMS = ChannelHandle.kind(), ConvDims.kind()
ALGORITHM = AttributeKind("#stablehlo.dot_algorithm<...>", lambda v: isinstance(v, DotAlgorithm), None, DotAlgorithm.parse)
