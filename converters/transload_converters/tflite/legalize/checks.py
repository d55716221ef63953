"""What a file notes of its tensors and LiteRT's kernels do not look at: element types and scales that are no others.

Most kernels give results that are stored as an operand is, and keep their state as they need it: some set the type of the
result to the operand's whatever the file says, others write numbers of the operand's width into a tensor of another, or take a
scale for granted. A file that says something else means no program, and its results would be nothing that anybody computed.

Source: the `Prepare` functions of `tensorflow/lite/kernels`; what comes of it in LiteRT was measured, for each of these
operators, with every other type and with other scales.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from transload.errors import ConversionError, Finding
from transload.ir import BOOL, F16, F32, I8, I16, I32, I64, UI8, FloatType, Module, Op, TensorType, Type, Value
from transload.ir.core import is_absent

from ..dialect import STATES
from .storage import stored_type

__all__ = ["check_operators", "gives_sums"]


def _named(names: str) -> frozenset[str]:
    return frozenset(f"tfl.{name}" for name in names.split())


_LIKE_FIRST = _named("""
    abs add add_n atan2 average_pool_2d batch_matmul ceil concatenation conv_2d conv_3d cos depthwise_conv_2d div elu exp
    fake_quant floor floor_div floor_mod fully_connected gelu hard_swish l2_normalization l2_pool_2d leaky_relu
    local_response_normalization log log_softmax logistic maximum max_pool_2d mean minimum mul neg pow prelu range reduce_prod
    relu relu6 relu_0_to_1 relu_n1_to_1 resize_bilinear resize_nearest_neighbor round rsqrt sign sin softmax sqrt square
    squared_difference sub sum svdf tanh lstm rnn unidirectional_sequence_lstm unidirectional_sequence_rnn
    bidirectional_sequence_lstm bidirectional_sequence_rnn reduce_max reduce_min segment_sum unsorted_segment_max
    unsorted_segment_min unsorted_segment_prod unsorted_segment_sum dynamic_update_slice expand_dims gather gather_nd matrix_diag
    matrix_set_diag reshape split_v squeeze""")
"""Operators whose results are stored as their first operand is."""

_LIKE_OTHER = {
    "tfl.fill": 1, "tfl.scatter_nd": 1, "tfl.select": 1, "tfl.select_v2": 1, "tfl.split": 1, "tfl.one_hot": 2,
    "tfl.sparse_to_dense": 2}
"""Operators whose results are stored as another operand is, and which."""

_WEIGHTED = _named("conv_2d conv_3d depthwise_conv_2d fully_connected transpose_conv")
"""Operators whose second operand is weights."""
_CHANNELS = {"tfl.depthwise_conv_2d": 3, "tfl.conv_3d": 4}
"""Along which dimension of weights the channels lie that an operator gives, where that is not the first."""
_CONVOLUTIONS = _WEIGHTED - _named("fully_connected")
"""Of them those whose kernels take the zero points of signed weights to be 0."""

_RECURRENT_WEIGHTS = {
    **dict.fromkeys(_named("lstm unidirectional_sequence_lstm"), (*range(1, 12), 16, *range(20, 24))), "tfl.svdf": (1, 2)}
"""Operators of integers whose kernels take the zero points of all weights to be 0, and which operands these are."""
_BIASES = {
    **dict.fromkeys(_named("rnn unidirectional_sequence_rnn svdf"), (3,)), "tfl.bidirectional_sequence_rnn": (3, 7),
    **dict.fromkeys(_named("lstm unidirectional_sequence_lstm"), (12, 13, 14, 15, 17)),
    "tfl.bidirectional_sequence_lstm": (12, 13, 14, 15, 17, 29, 30, 31, 32, 34)}
"""Which operands of recurrent operators are biases."""
_TABLES = _named("exp gelu log rsqrt")
"""Operators that kernels look up in tables of 16 bits, which are made as if zero points were 0."""

_MOVING = _named("""
    concatenation dynamic_update_slice expand_dims gather gather_nd matrix_diag matrix_set_diag reshape split_v squeeze""")
"""Operators of `_LIKE_FIRST` that look at no scale."""
_PAIRS = _named("add div floor_div floor_mod maximum minimum mul pow prelu squared_difference sub")
"""Operators of two tensors of numbers, that give such a one."""
_COMPARING = _named("equal not_equal less less_equal greater greater_equal")
_POOLS = _named("average_pool_2d max_pool_2d")
_GIVEN: dict[str, tuple[Type, ...]] = {
    "tfl.dequantize": (F32, F16), "tfl.where": (I64,),
    **dict.fromkeys(_COMPARING | _named("logical_and logical_or logical_not"), (BOOL,))}
"""The element types that kernels give whatever they take."""

_TYPE_OPTIONS = {"tfl.shape": "out_type", "tfl.arg_max": "output_type", "tfl.arg_min": "output_type"}
"""The options by which kernels choose between int32 and int64 for their result; CAST looks at its result, not at its options."""

_BY_FILE = "the file contradicts itself", "the file is damaged, or made by a program with a defect"
_BY_LOWERING = (
    "LiteRT's kernels would compute something else", "have the op computed in floats, or quantize the model with --quantize int8")
"""What to say of operators that contradict themselves, and what to do, by who made them."""


def check_operators(module: Module, made: Literal["file", "lowering"] = "file") -> bool:
    """Raise `ConversionError` where results or states have types or scales that the kernels do not give them.

    `made` says by what the operators were, a file that is read or a lowering, which has no form of the model for LiteRT then.
    """
    given = {name: _returned(function) for name, function in module.functions.items()}
    title, hint = _BY_FILE if made == "file" else _BY_LOWERING
    findings = [finding for op in module.walk() if op.dialect == "tfl" for finding in _findings(op, given, hint)]
    if findings:
        raise ConversionError(title, findings)
    return False


def _returned(function: Op) -> list[Type | None]:
    """As what the results of a subgraph are stored."""
    block = function.regions[0].blocks[0] if function.regions[0].blocks else None
    return [] if block is None or block.last is None else [_stored(value) for value in block.last.operands]


def _findings(op: Op, given: Mapping[str, Sequence[Type | None]], hint: str) -> Iterator[Finding]:
    rules = (_diagonals, _states, _biases, _scales, _channels, _weights, _zero_points)
    for why in (*_types(op), *_branches(op, given), *(why for rule in rules for why in rule(op))):
        yield Finding(op.name, why, (op.origin,) if op.origin else (), hint)


def _types(op: Op) -> Iterator[str]:
    """What is wrong with the element type of a result, or of a condition."""
    index = _like(op)
    given = _stored(op.operands[index]) if index is not None and index < len(op.operands) else None
    made = [_stored(value) for value in op.results]
    wrong = next((each for each in made if each is not None and each != given), None) if given is not None else None
    if wrong is not None and not _is_wide(op) and not gives_sums(op):
        yield f"its result is stored as {wrong}; LiteRT's kernel gives what operand {index} is stored as, {given}"
    if op.name in _POOLS and op.results and op.operands and op.operands[0].is_quantized != op.results[0].is_quantized:
        yield f"it pools {op.operands[0].type} and gives {made[0]}: both have to be quantized, or none"
    if op.name in _GIVEN and made and made[0] is not None and made[0] not in _GIVEN[op.name]:
        yield f"its result is of {made[0]}, and LiteRT's kernel gives {_GIVEN[op.name][0]}"
    if op.name == "tfl.if" and op.operands and _stored(op.operands[0]) != BOOL:
        yield f"its condition is {op.operands[0].type}, and no truth value"
    option = _TYPE_OPTIONS.get(op.name)
    if option is not None and made and str(made[0]) != f"i{str(op.attribute(option)).removeprefix('INT')}":
        yield f"its result is of {made[0]}, and its option {option} says {op.attribute(option)}"


def _branches(op: Op, given: Mapping[str, Sequence[Type | None]]) -> Iterator[str]:
    """What is wrong with the results of an IF, which are those of the branch that runs."""
    if op.name != "tfl.if":
        return
    made = [_stored(value) for value in op.results]
    for branch in (str(op.attribute("then_branch")), str(op.attribute("else_branch"))):
        pairs = zip(made, given.get(branch, ()), strict=False)
        wrong = next((pair for pair in pairs if None not in pair and pair[0] != pair[1]), None)
        if wrong is not None:
            yield f"its result is stored as {wrong[0]}, and its subgraph {branch} gives {wrong[1]}"


def _diagonals(op: Op) -> Iterator[str]:
    """What is wrong with diagonals, of which LiteRT's kernel reads as many as the matrices need, and as these are stored."""
    if op.name != "tfl.matrix_set_diag" or len(op.operands) != 2:
        return
    matrices, diagonals = (value.type for value in op.operands)
    if not isinstance(matrices, TensorType) or not isinstance(diagonals, TensorType):
        return
    if stored_type(matrices.element) != stored_type(diagonals.element):
        yield f"its matrices are {matrices} and its diagonals {diagonals}: LiteRT's kernel reads both alike"
    elif matrices.is_static and diagonals.is_static and len(matrices.shape or ()) >= 2:
        *outer, height, width = op.operands[0].static_shape
        if diagonals.shape != (*outer, min(height, width)):
            yield f"its matrices are {matrices} and its diagonals {diagonals}: LiteRT's kernel reads past their end"


def _like(op: Op) -> int | None:
    """The operand as which an operator's results are stored, where that is one."""
    if op.name == "tfl.embedding_lookup" and len(op.operands) > 1:
        dequantized = op.operands[1].is_quantized and bool(op.results) and op.results[0].is_float
        return None if dequantized else 1
    if op.name == "tfl.unidirectional_sequence_lstm" and op.results and op.results[0].is_quantized:
        return None  # its rule knows where such files come from
    return 0 if op.name in _LIKE_FIRST else _LIKE_OTHER.get(op.name)


def _is_wide(op: Op) -> bool:
    """Whether an operator of 8 bits gives 16: FULLY_CONNECTED of uint8, or a softmax in the steps that its kernels know."""
    made = op.results[0].quant
    if op.name == "tfl.fully_connected":
        return made is not None and _stored(op.operands[0]) == UI8 and (made.storage, made.zero_points) == (I16, (0,))
    return op.name == "tfl.softmax" and made is not None and (made.storage, made.zero_point) == (I16, -32768) and (
        math.isclose(made.scale, 2.0**-16, rel_tol=1e-3))


def gives_sums(op: Op) -> bool:
    """Whether a product of matrices of int8 gives what its kernel sums up, in int32, whatever scales the file notes."""
    return op.name == "tfl.batch_matmul" and [_stored(value) for value in (*op.operands, *op.results)] == [I8, I8, I32]


def _states(op: Op) -> Iterator[str]:
    """What is wrong with the state of a recurrent operator."""
    places = STATES.get(op.name, ())
    if places and places[-1] >= len(op.operands):
        yield f"it has {len(op.operands)} operands, and no state, which is operand {places[-1]}"
        return
    if len({op.operands[place] for place in places if not is_absent(op.operands[place])}) < sum(
            not is_absent(op.operands[place]) for place in places):
        yield "two of its states are one tensor, which LiteRT's kernel writes both into"
    for place in places:
        kept = _stored(op.operands[place])
        floats = isinstance(_stored(op.operands[0]), FloatType)
        if kept is not None and kept not in ((F32,) if floats else (I8, UI8, I16)):
            yield (f"its state is stored as {kept}; LiteRT keeps that of {'floats' if floats else 'integers'} in "
                   f"{'f32' if floats else '8 or 16 bits'}")
    if op.name == "tfl.unidirectional_sequence_lstm":
        state, made = op.operands[places[0]].quant, op.results[0].quant
        if state is not None and made is not None and state.storage != made.storage:
            yield f"its result is {made}; LiteRT's kernel gives it as its state is, {state}"


def _biases(op: Op) -> Iterator[str]:
    """What is wrong with the biases of a recurrent operator of floats, which its kernel reads as such, beyond their end, too."""
    if not op.operands or _stored(op.operands[0]) != F32:
        return
    for place in _BIASES.get(op.name, ()):
        kept = None if place >= len(op.operands) or is_absent(op.operands[place]) else _stored(op.operands[place])
        if kept not in (None, F32):
            yield f"its bias, operand {place}, is stored as {kept}; LiteRT's kernel reads f32"


def _scales(op: Op) -> Iterator[str]:
    """What is wrong with the scale of the first result."""
    made = op.results[0].quant if op.results else None
    if op.name == "tfl.softmax" and made is not None and made.storage == UI8 and (made.scale, made.zero_point) != (2.0**-8, 0):
        yield f"its result is {made}; LiteRT's kernel counts in steps of 1/256 from 0 on"


def _channels(op: Op) -> Iterator[str]:
    """What has a scale for each channel, and is no weight: kernels read the first scale of activations, and no other."""
    if op.name not in (_LIKE_FIRST - _MOVING) | _WEIGHTED | _COMPARING:
        return
    place = _input_place(op)
    operands = op.operands[:2] if op.name in _PAIRS | _COMPARING else op.operands[place:place + 1]
    for what, value in (*(("operand", value) for value in operands), *(("result", value) for value in op.results[:1])):
        if value.quant is not None and not value.quant.per_tensor:
            yield f"its {what} is {value.type!s:.120}, with a scale for each channel, of which LiteRT's kernel reads the first"


def _input_place(op: Op) -> int:
    """Which operand the weights of an operator are multiplied with; 0 of others."""
    return 2 if op.name == "tfl.transpose_conv" else 0


def _stored(value: Value) -> Type | None:
    return stored_type(value.type.element) if isinstance(value.type, TensorType) else None


def _weights(op: Op) -> Iterator[str]:
    """What is wrong with quantized weights: their zero points are 0 by TFLite's specification of 8-bit quantization, and
    kernels read the bytes of weights as signed or not as those of the input are.

    https://ai.google.dev/edge/litert/conversion/tensorflow/quantization/quantization_spec
    """
    slopes = op.operands[1].quant if op.name == "tfl.prelu" and len(op.operands) > 1 else None
    if slopes is not None and (beside := op.operands[0].quant) is not None:
        needed = UI8 if beside.storage == UI8 else I8
        if slopes.storage != needed:
            yield f"its slopes are stored as {slopes.storage}, and beside {beside.storage} LiteRT's kernel reads {needed}"
    place = _input_place(op)
    if op.name not in _WEIGHTED or len(op.operands) < 2 or place >= len(op.operands):
        return
    quant, given = op.operands[1].quant, op.operands[place].quant
    if quant is None:
        return
    along = _CHANNELS.get(op.name, 0)
    if not quant.per_tensor and quant.blocks is None and quant.axis != along:
        yield (f"its weights have scales along dimension {quant.axis}; LiteRT's kernel takes one for each channel that it gives, "
               f"which lie along dimension {along}")
    if given is None:
        if quant.storage == UI8 and not quant.per_tensor:
            yield "its weights are unsigned with a scale for each channel; beside floats LiteRT's kernels read signed ones"
        return
    if (quant.storage == UI8) != (given.storage == UI8):
        yield f"its weights are stored as {quant.storage}, and its input as {given.storage}: LiteRT's kernels read both alike"
    if any(quant.zero_points) and (not quant.per_tensor or (op.name in _CONVOLUTIONS and quant.storage != UI8)):
        yield "its weights have a zero point other than 0, which LiteRT's kernels do not look at"


def _zero_points(op: Op) -> Iterator[str]:
    """What is wrong with zero points that kernels do not look at, which TFLite's specification has be 0 (`_weights`)."""
    held = [op.operands[place].quant for place in _RECURRENT_WEIGHTS.get(op.name, ()) if place < len(op.operands)]
    if op.operands and op.operands[0].is_quantized and any(any(quant.zero_points) for quant in held if quant is not None):
        yield "its weights have a zero point other than 0, which LiteRT's kernels do not look at"
    around = [value.quant for value in (*op.operands[:1], *op.results[:1])]
    if op.name in _TABLES and any(quant is not None and quant.storage == I16 and any(quant.zero_points) for quant in around):
        yield "it is of 16 bits with a zero point other than 0, without which LiteRT's table is made"
