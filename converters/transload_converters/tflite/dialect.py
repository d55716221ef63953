"""The dialect `tfl`: the builtin operators of TFLite, one declaration each.

Declarations are made from two sources: operands and results from `dialect_ops`, attributes from the options
tables of the schema. Names are those of MLIR's `tfl` dialect: the operator's name in lower case, attributes
as the schema spells them. Enumerations are held as their members' names (`padding = "SAME"`); a field that
numbers a subgraph is the function's symbol instead.

What differs from the operator's options, following MLIR: the LSTM operator with the kernel type BASIC is
`tfl.basic_lstm`; IF, WHILE and CALL_ONCE name their subgraphs `then_branch`, `else_branch`, `cond`, `body` and
`session_init_function`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.ir.build import constant_of
from transload.ir.core import Op, Value
from transload.ir.declare import (
    ANY,
    BOOLEAN,
    CONSTANT,
    FLOAT32,
    FLOATS,
    INT,
    INT32,
    INTS,
    INTS32,
    LIST,
    OPAQUE,
    STRING,
    SYMBOL,
    TENSOR,
    TYPE,
    UNIT,
    AttributeKind,
    Dialect,
    OpDeclaration,
    TypeConstraint,
    attribute,
    constraint,
    enum,
    operand,
    result,
    variadic,
    variadic_result,
)
from transload.ir.states import by_handles
from transload.ir.types import DialectType, NoneType, TensorType
from transload_hub.tables import distinct

from .dialect_ops import SIGNATURES
from .schema import ENUMERATIONS, OptionField, enumeration, operators, option_fields, options_table

__all__ = [
    "BASIC_LSTM", "BLOCKWISE", "LSTM_INTERMEDIATES", "SPARSE_BLOCK", "STATES", "SUBGRAPH_ATTRIBUTES", "TFL", "attribute_name",
    "op_name"]

#: Options fields that number a subgraph, and the attribute that names its function.
SUBGRAPH_ATTRIBUTES = {
    "then_subgraph_index": "then_branch", "else_subgraph_index": "else_branch",
    "cond_subgraph_index": "cond", "body_subgraph_index": "body", "init_subgraph_index": "session_init_function",
    "subgraph": "subgraph", "decomposition_subgraph_index": "decomposition",
    "update_computation_subgraph_index": "update_computation", "comparator_subgraph_index": "comparator",
    "branch_subgraph_indices": "branches",
}

#: The types of the inner values of a quantized LSTM, in the order of the operator's `intermediates`.
LSTM_INTERMEDIATES = (
    "input_to_input_intermediate", "input_to_forget_intermediate", "input_to_cell_intermediate",
    "input_to_output_intermediate", "effective_hidden_scale_intermediate",
)

#: Attribute of a layer whose weights the file quantizes in blocks: LiteRT leaves it to XNNPACK, even where a block is a row.
BLOCKWISE = "blockwise"

#: Attribute of a layer whose weights the file leaves zeros out of: LiteRT's kernels read few of the ways to store them.
SPARSE_BLOCK = "sparse_block"

#: The LSTM operator with the older, simpler kernel.
BASIC_LSTM = "tfl.basic_lstm"

_LSTMS = ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")

_KINDS: dict[tuple[str, bool], AttributeKind[Any]] = {
    ("int8", False): INT32, ("int32", False): INT32, ("uint32", False): INT32, ("int64", False): INT, ("uint8", False): INT32,
    ("bool", False): BOOLEAN, ("float32", False): FLOAT32,
    ("int32", True): INTS32, ("uint32", True): INTS32, ("int64", True): INTS, ("bool", True): INTS, ("float32", True): FLOATS,
    ("uint8", True): OPAQUE,
}

STATES: dict[str, tuple[int, ...]] = {
    "tfl.svdf": (4,),
    "tfl.rnn": (4,),
    "tfl.unidirectional_sequence_rnn": (4,),
    "tfl.bidirectional_sequence_rnn": (4, 8),
    "tfl.lstm": (18, 19),
    "tfl.unidirectional_sequence_lstm": (18, 19),
    "tfl.bidirectional_sequence_lstm": (35, 36, 37, 38),
}
"""The operands of each operator that are its state."""


def op_name(operator: str) -> str:
    """The `tfl` op of a builtin operator's schema name: `"CONV_2D"` is `"tfl.conv_2d"`."""
    return "tfl." + operator.lower()


def attribute_name(field: str) -> str:
    """The attribute that holds an options field."""
    return SUBGRAPH_ATTRIBUTES.get(field, field)


def _kind(name: str, field: OptionField) -> AttributeKind[Any]:
    """What kind of attribute an options field is."""
    if name in SUBGRAPH_ATTRIBUTES:
        return LIST if field.is_vector else SYMBOL
    if field.dtype is None:
        return STRING
    if name in ENUMERATIONS and not field.is_vector:
        return enum(*enumeration(ENUMERATIONS[name]).values())
    return _KINDS[np.dtype(field.dtype).name, field.is_vector]


def _default(name: str, field: OptionField) -> Any:
    """What an attribute is where the file leaves the field out."""
    if name in ENUMERATIONS and not field.is_vector and field.dtype is not None:
        return enumeration(ENUMERATIONS[name]).get(int(field.default))
    return field.default


def _slots(words: str, is_result: bool) -> dict[str, Any]:
    """The members for `input bias? values*`; of `operands*` some may be absent in between."""
    members: dict[str, Any] = {}
    for word in words.split():
        name = word.rstrip("?*")
        if word.endswith("*"):
            kind = ANY if is_result or name == "operands" else TENSOR
            members[name] = (variadic_result if is_result else variadic)(type=kind)
        elif is_result:
            # An LSTM's second result is there or not; a result cannot be declared so, and becomes variadic.
            members[name] = variadic_result(type=ANY) if word.endswith("?") else result(type=ANY)
        else:
            members[name] = operand(type=TENSOR, optional=word.endswith("?"))
    return members


def _turns(op: Any) -> bool | str:
    """`perm` has every dimension of the input once"""  # LiteRT does not ask, and reads beyond the input
    order, type_ = constant_of(op.perm), op.input.type
    if order is None or not isinstance(type_, TensorType) or type_.shape is None:
        return True
    rank, dimensions = len(type_.shape), order.numpy().reshape(-1).tolist()
    counted = [axis + rank if axis < 0 else axis for axis in dimensions]
    return sorted(counted) == list(range(rank)) or f"it is {dimensions}, for {rank} dimensions"


def _lies_within(op: Any) -> bool | str:
    """`seq_lengths` that are constant are from 0 to the size of `seq_dim`"""  # LiteRT does not ask, and reads beyond the input
    lengths, type_, axis = constant_of(op.seq_lengths), op.input.type, op.seq_dim
    if lengths is None or not isinstance(type_, TensorType) or type_.shape is None or not lengths.type.num_elements:
        return True
    size = type_.shape[axis] if -len(type_.shape) <= axis < len(type_.shape) else None
    least, most = int(distinct(lengths.numpy()).min()), int(distinct(lengths.numpy()).max())
    return size is None or 0 <= least <= most <= size or f"they are from {least} to {most}, and the size is {size}"


def _declare(name: str, operator: str, signature: str, meaning: str) -> OpDeclaration:
    """The declaration of a builtin operator as the op `name`."""
    operands, _, results = signature.partition("->")
    members = _slots(operands, False) | _slots(results, True)
    table = options_table(operator)
    fields = option_fields(table) if table else {}
    for key, field in fields.items():
        kind = _kind(key, field)
        if key in SUBGRAPH_ATTRIBUTES:
            members[attribute_name(key)] = attribute(kind, "the subgraph's function")
        elif kind is OPAQUE:
            members[key] = attribute(kind, "bytes", optional=True)
        else:
            members[key] = attribute(kind, default=_default(key, field))
    if operator in _LSTMS:
        for key in LSTM_INTERMEDIATES:
            members[key] = attribute(TYPE, "the type of an inner value of a quantized LSTM", optional=True)
    if operator == "FULLY_CONNECTED":
        members[BLOCKWISE] = attribute(
            BOOLEAN, "whether the file gives the filter's scales by blocks, even if one takes a whole row", default=False)
        members[SPARSE_BLOCK] = attribute(
            INT32, "how many numbers of a row stand together, where the file leaves zeros of the filter out; else 0", default=0)
    if operator == "TRANSPOSE":
        members["turns"] = constraint(_turns)
    if operator == "REVERSE_SEQUENCE":
        members["lies_within"] = constraint(_lies_within)
    traits = ("effects",) if operator in _EFFECTS else ()
    cited = f" with the options `{table}`" if fields else ""
    members["__doc__"] = f"{meaning}\n\nTFLite operator {operator}{cited}."
    members["traits"] = traits
    return OpDeclaration(name, type(operator, (), members))


#: Operators that do more than give results: they must stay where nobody uses those.
_EFFECTS = frozenset({
    "ASSIGN_VARIABLE", "CALL", "CALL_ONCE", "CUSTOM", "DELEGATE", "HASHTABLE_IMPORT", "IF", "WHILE", "STABLEHLO_WHILE",
    "STABLEHLO_CUSTOM_CALL", "STABLEHLO_CASE",
})

_MANY_RESULTS = frozenset(f"STABLEHLO_{name}" for name in (
    "CASE", "COMPOSITE", "CUSTOM_CALL", "REDUCE", "REDUCE_WINDOW", "SCATTER", "SORT", "WHILE"))
"""Operators of StableHLO that give any number of results; the others give one."""

_HANDLE_MAKERS = frozenset(("tfl.var_handle", "tfl.hashtable"))
_HANDLE_TAKERS = frozenset((
    "tfl.read_variable", "tfl.assign_variable", "tfl.hashtable_find", "tfl.hashtable_import", "tfl.hashtable_size"))


def _is_handle(value: Value) -> bool:
    """By what makes and takes it, too: files have handles of INT32, which LiteRT takes for what they are."""
    if getattr(value.type, "element", value.type) == DialectType("tf_type.resource"):
        return True
    made_so = value.op is not None and value.op.name in _HANDLE_MAKERS
    return made_so or any(user.name in _HANDLE_TAKERS and user.operands[0] is value for user in value.uses)



def _state(op: Op) -> tuple[Any, ...] | None:
    """A variable is one in all subgraphs by its container and name, a table by its number."""
    if op.name == "tfl.var_handle":
        return op.name, op.attribute("container"), op.attribute("shared_name")
    return (op.name, op.attribute("table_id")) if op.name == "tfl.hashtable" else None


TFL = Dialect("tfl", "The builtin operators of TensorFlow Lite, as MLIR's `tfl` dialect names them.",
              constant="tfl.pseudo_const", none="tfl.no_value", states=by_handles(_is_handle, _state), custom=True)


_IS_VARIABLE = "whether this is the first state of a tensor that keeps its value between runs"


@TFL.op("pseudo_const")
class PseudoConst:
    """A constant: the contents of a buffer, viewed in the mapped file."""

    output = result()
    value = attribute(CONSTANT, "the numbers; of a quantized tensor the stored integers")
    is_variable = attribute(BOOLEAN, _IS_VARIABLE, default=False)
    traits = ("constant",)


@TFL.op("pseudo_qconst")
class PseudoQConst:
    """A quantized constant; `qtype` repeats the result's type, as in MLIR."""

    output = result()
    value = attribute(CONSTANT, "the stored integers")
    qtype = attribute(TYPE, "the type of the result")
    is_variable = attribute(BOOLEAN, _IS_VARIABLE, default=False)
    traits = ("constant",)


@TFL.op("no_value")
class NoValue:
    """Stands for an optional input that is not given (tensor number -1)."""

    none_val = result(type=TypeConstraint("none", lambda type_: isinstance(type_, NoneType)))
    value = attribute(UNIT, "present, as in MLIR", optional=True)


@TFL.op("custom")
class Custom:
    """An operator that is not in the schema, known by its name; its options are bytes that it alone understands.

    TFLite operator CUSTOM.
    """

    inputs = variadic(type=ANY)
    outputs = variadic_result(type=ANY)
    custom_code = attribute(STRING, "the operator's name")
    custom_option = attribute(OPAQUE, 'the options, `#tfl<const_bytes : "0x...">`')
    traits = ("effects",)


def _signatures() -> dict[str, tuple[str, str]]:
    """Operands and results, and the meaning, by operator."""
    found = {}
    for line in SIGNATURES.replace("\n    ", " ").strip().splitlines():
        head, _, meaning = line.partition(" | ")
        operator, _, signature = head.partition(":")
        found[operator] = (signature, meaning)
    return found


def _declare_all() -> None:
    signatures = _signatures()
    for operator in operators().values():
        if operator == "CUSTOM":
            continue
        name = operator.removeprefix("STABLEHLO_").lower()
        results = "outputs*" if operator in _MANY_RESULTS else "output"
        generic = (f"inputs* -> {results}", f"StableHLO's `{name}` as an operator of TFLite.")
        declaration = _declare(op_name(operator), operator, *signatures.get(operator, generic))
        TFL.ops[declaration.name] = declaration
    basic = _declare(BASIC_LSTM, "LSTM", *signatures["LSTM"])
    TFL.ops[basic.name] = basic


_declare_all()
