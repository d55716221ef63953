"""Collective ops: what processes of a grid compute together.

How many replicas and partitions there are is not in a program, so that constraints which need it (that groups
cover all processes) are checked when it runs.
"""

from __future__ import annotations

from typing import Any

from transload.ir import Op
from transload.ir.declare import (
    INT,
    UNIT,
    DeclaredOp,
    attribute,
    constraint,
    operand,
    region,
    result,
    variadic,
    variadic_result,
)
from transload.ir.types import I32, TensorType, Type

from ..attributes import CHANNEL, NUMBERS
from ..types import compatible, compatible_types, element_of, result_types, same_type, shape_of, tensor
from .base import STABLEHLO, numbers_of, results_fit, shape_error
from .indexing import reduces, same_elements

_operand, _result = operand, result  # the names are also those of operands
PER_TENSOR = tensor("bifcq")


def channel_of(op: Op) -> int:
    """The number of the op's channel, 0 where it has none."""
    handle = op.attribute("channel_handle")
    return 0 if handle is None else int(handle.handle)


def has_global_ids(op: Op) -> bool:
    """Whether groups are of flattened process ids."""
    return "use_global_device_ids" in op.attributes


def groups_of(op: Op) -> list[list[int]]:
    """The groups, without the -1 that fills up short ones."""
    rows = numbers_of(op, op.attributes["replica_groups"])
    return [[number for number in row if number != -1] for row in rows]


def _group_size(op: AllGather | AllToAll | ReduceScatter) -> int | None:
    """How many processes a group has; None where only the grid tells: all of it, or replicas with all their partitions."""
    rows, columns = op.replica_groups.shape
    spans_partitions = "use_global_device_ids" in op.declaration.attributes and channel_of(op) > 0 and not has_global_ids(op)
    return int(columns) if rows and columns and not spans_partitions else None


def _least_size(op: ReduceScatter) -> int:
    """What the number of processes in a group is a multiple of."""
    return max(1, int(op.replica_groups.shape[1]))


class _Grouped(DeclaredOp):
    replica_groups = attribute(NUMBERS, "groups of processes, a row each")
    channel_handle = attribute(CHANNEL, "the channel", optional=True)

    @constraint
    def groups_are_rows(op) -> bool:
        """groups are rows of a tensor of two dimensions"""
        return len(op.replica_groups.shape) == 2

    @constraint
    def groups_are_unique(op) -> bool:
        """(is_unique(replica_groups)) no process is in two groups"""
        flat = [number for row in groups_of(op) for number in row]
        return len(set(flat)) == len(flat)

    @constraint
    def groups_are_numbers(op) -> bool:
        """(0 <= replica_groups) groups hold processes' numbers; -1 fills up a short one, where groups may be of any size"""
        rows = numbers_of(op, op.replica_groups)
        least = -1 if op.name in _OF_ANY_SIZE else 0
        return all(number >= least for row in rows for number in row)


_OF_ANY_SIZE = frozenset(("stablehlo.all_reduce", "stablehlo.cross-replica-sum"))


class _Covering(_Grouped):
    @constraint
    def groups_are_everybody(op) -> bool | str:
        """(0 <= replica_groups < size(replica_groups)) groups hold the processes' numbers from 0 on, and leave none out"""
        flat = sorted(number for row in groups_of(op) for number in row)
        return len(set(flat)) < len(flat) or flat == list(range(len(flat))) or f"they hold {flat}"


class _Global(_Covering):
    use_global_device_ids = attribute(UNIT, "whether groups are of flattened process ids", optional=True)

    @constraint
    def global_ids_need_a_channel(op) -> bool:
        """(C4 to C6) with use_global_device_ids, the channel is positive"""
        return not has_global_ids(op) or channel_of(op) > 0


@STABLEHLO.op("all_gather")
class AllGather(_Global):
    """The tensors of all processes of a group, one behind the other."""

    inputs = variadic("the tensors", PER_TENSOR)
    outputs = variadic_result("those of all", PER_TENSOR)
    all_gather_dim = attribute(INT, "the dimension along which they are joined")
    traits = ("effects",)

    @constraint
    def c1(op) -> bool:
        """(C1) all_gather_dim is a dimension of the operands"""
        return all(0 <= op.all_gather_dim < len(shape_of(value)) for value in op.operands)

    @constraint
    def c6(op) -> bool | str:
        """(C6) the results have the operands' types, but for the dimension, which is a multiple

        How many times it is, is checked when the program runs: no version's verifier did so before, and all of its released
        artifacts hold a program that breaks it.
        """
        if len(op.operands) != len(op.results):
            return f"{len(op.results)} results of {len(op.operands)} operands"
        d = op.all_gather_dim
        return all(map(_gathers, op.operands, op.results, [d] * len(op.results))) or "it is not a multiple"

    def infer(op) -> list[Type]:
        d, count = op.attributes["all_gather_dim"], _group_size(op)
        said = [*op.results, *[None] * (len(op.operands) - len(op.results))]
        return [result.type if result is not None and _gathers(value, result, d) and shape_of(result)[d] is not None  # c6
                else _scaled(op, value, {d: (count, 1)}) for value, result in zip(op.operands, said, strict=False)]


def _gathers(operand: Any, result: Any, d: int) -> bool:
    """Whether a result has the operand's elements and sizes, but in one dimension a multiple."""
    a, b = shape_of(operand), shape_of(result)
    if element_of(operand) != element_of(result) or len(a) != len(b) or not 0 <= d < len(a):
        return False
    return compatible((*a[:d], None, *a[d + 1 :]), b) and _is_multiple(b[d], a[d], 1)


def _corresponds(op: Op) -> bool | str:
    """Whether there is a result of each operand, of its elements and the shape that is inferred."""
    if len(op.operands) != len(op.results):
        return f"{len(op.results)} results of {len(op.operands)} operands"
    if [element_of(value) for value in op.operands] != [element_of(value) for value in op.results]:
        return "the element types differ"
    return results_fit(op)


def _is_multiple(large: int | None, small: int | None, count: int) -> bool:
    """Whether a size is that many times another one, or a multiple of that."""
    if large is None or small is None:
        return True
    return large % (small * count) == 0 if small else large == 0


def _scaled(op: Op, value: Any, factors: dict[int, tuple[int | None, int | None]]) -> Type:
    """The value's type with some sizes multiplied and divided; by what is not known (None), to unknown sizes."""
    shape = list(shape_of(value))
    for d, (times, parts) in factors.items():
        size = shape[d] if 0 <= d < len(shape) else None
        if size is None:
            continue
        if times is None or parts is None:
            shape[d] = None
            continue
        if size * times % parts:
            raise shape_error(op, f"size {size} of dimension {d} is not divided by {parts}")
        shape[d] = size * times // parts
    return TensorType(tuple(shape), element_of(value))


@STABLEHLO.op("all_reduce")
class AllReduce(_Global):
    """The tensors of all processes of a group combined by a function."""

    inputs = variadic("the tensors", PER_TENSOR)
    outputs = variadic_result("combined", PER_TENSOR)
    computation = region("combines two elements into one")
    traits = ("effects",)

    @constraint
    def c5(op) -> bool | str:
        """(C5) computation combines two scalars of the operands' element type, perhaps promoted, into one"""
        for value in op.operands:
            fits = reduces(op.computation, [element_of(value)])
            if fits is not True:
                return fits
        return True

    @constraint
    def c6(op) -> bool:
        """(C6) the results have the shapes of the operands"""
        return len(op.results) == len(op.operands) and all(
            compatible_types(a, b) for a, b in zip(op.operands, op.results, strict=True)
        )

    @constraint
    def c7(op) -> bool:
        """(C7) the results have the element type that computation gives"""
        return same_elements(op.results, result_types(op.computation) * len(op.results))

    def infer(op) -> list[Type]:
        kinds = result_types(op.regions[0]) if op.regions else []
        return [TensorType(shape_of(value), element_of(kinds[0]) if kinds else element_of(value)) for value in op.operands]


@STABLEHLO.op("all_to_all")
class AllToAll(_Covering):
    """Each process's tensors split into a part for each process of its group, and the parts one gets joined."""

    inputs = variadic("the tensors", PER_TENSOR)
    outputs = variadic_result("the joined parts", PER_TENSOR)
    split_dimension = attribute(INT, "the dimension that is split")
    concat_dimension = attribute(INT, "the dimension along which parts are joined")
    split_count = attribute(INT, "how many parts")
    traits = ("effects",)

    @constraint
    def c1(op) -> bool:
        """(C1) split_dimension is a dimension of the operands"""
        return all(0 <= op.split_dimension < len(shape_of(value)) for value in op.operands)

    @constraint
    def c3(op) -> bool:
        """(C3) concat_dimension is a dimension of the operands"""
        return all(0 <= op.concat_dimension < len(shape_of(value)) for value in op.operands)

    @constraint
    def c4(op) -> bool:
        """(C4) split_count is positive"""
        return op.split_count > 0

    @constraint
    def c2(op) -> bool:
        """(C2) split_count divides the size of split_dimension"""
        return op.split_count < 1 or all(
            not 0 <= op.split_dimension < len(shape)
            or shape[op.split_dimension] is None
            or shape[op.split_dimension] % op.split_count == 0
            for shape in map(shape_of, op.operands)
        )

    @constraint
    def c8(op) -> bool:
        """(C8) a group has split_count processes"""
        return _group_size(op) in (None, op.split_count)

    @constraint
    def c9(op) -> bool | str:
        """(C9) the results have the operands' types, with the one dimension divided and the other multiplied by split_count"""
        return _corresponds(op)

    def infer(op) -> list[Type]:
        split, concat, count = op.attributes["split_dimension"], op.attributes["concat_dimension"], op.attributes["split_count"]
        factors = {} if split == concat else {split: (1, count), concat: (count, 1)}
        return [_scaled(op, value, factors) for value in op.operands]


class _Rooted(_Grouped):
    """What has one process in each group of which all is, or to which all goes: its root."""

    has_dynamic_root = attribute(
        UNIT, "whether the last operand says which process of a group is the root, for each of the others; else the first is",
        optional=True)

    @constraint
    def roots_are_numbers(op) -> bool | str:
        """with has_dynamic_root, the last operand holds an si32 for each of the others"""
        if not has_dynamic_root(op):
            return True
        type_ = op.operands[-1].type if len(op.operands) > 1 else None
        fits = isinstance(type_, TensorType) and type_.element == I32 and compatible((len(op.operands) - 1,), type_.shape or ())
        return fits or f"it is {'missing' if type_ is None else type_}"


def has_dynamic_root(op: Op) -> bool:
    """Whether the last operand says which process of a group is the root."""
    return "has_dynamic_root" in op.attributes


def data_of(op: Op) -> tuple[Any, ...]:
    """The operands but for the one that says which processes are roots."""
    return op.operands[:-1] if has_dynamic_root(op) else op.operands


@STABLEHLO.op("collective_broadcast")
class CollectiveBroadcast(_Rooted):
    """The tensors of the root of a group, the first process of it; zero in processes of no group."""

    inputs = variadic("the tensors", PER_TENSOR)
    outputs = variadic_result("the root's", PER_TENSOR)
    traits = ("effects",)

    @constraint
    def c3(op) -> bool | str:
        """(C3) operands and results have the same types"""
        data = data_of(op)
        if len(data) != len(op.results):
            return f"{len(op.results)} results of {len(data)} operands"
        differ = (why for a, b in zip(data, op.results, strict=True) if (why := same_type(a, b)) is not True)
        return next(differ, bool(data))

    def infer(op) -> list[Type]:
        return [value.type for value in data_of(op)]


@STABLEHLO.op("collective_reduce")
class CollectiveReduce(_Global, _Rooted):
    """The tensors of all processes of a group combined by a function, in the root, the first process of it; zero in others."""

    inputs = variadic("the tensors", PER_TENSOR)
    outputs = variadic_result("combined", PER_TENSOR)
    computation = region("combines two elements into one")
    traits = ("effects",)

    @constraint
    def computation_combines(op) -> bool | str:
        """computation combines two scalars of the operands' element type, perhaps promoted, into one"""
        for value in data_of(op):
            fits = reduces(op.computation, [element_of(value)])
            if fits is not True:
                return fits
        return True

    @constraint
    def results_correspond(op) -> bool:
        """the results have the shapes of the operands, and the element type that computation gives"""
        data = data_of(op)
        return (len(op.results) == len(data) > 0 and all(map(compatible_types, data, op.results))
                and same_elements(op.results, result_types(op.computation) * len(op.results)))

    def infer(op) -> list[Type]:
        kinds = result_types(op.regions[0]) if op.regions else []
        return [TensorType(shape_of(value), element_of(kinds[0]) if kinds else element_of(value)) for value in data_of(op)]


@STABLEHLO.op("collective_permute")
class CollectivePermute(DeclaredOp):
    """The tensor of the process that is paired as this one's source; zero where none is."""

    operand_ = _operand("the tensor", PER_TENSOR)
    result = _result("the source's", PER_TENSOR)
    source_target_pairs = attribute(NUMBERS, "pairs of processes, a row each")
    channel_handle = attribute(CHANNEL, "the channel", optional=True)
    traits = ("effects",)

    @constraint
    def c1(op) -> bool:
        """(C1) source_target_pairs has two columns"""
        return len(op.source_target_pairs.shape) == 2 and op.source_target_pairs.shape[1] == 2

    @constraint
    def c2(op) -> bool:
        """(C2) no process is a source twice"""
        column = op.source_target_pairs.numpy()[:, 0].tolist()
        return len(set(column)) == len(column)

    @constraint
    def c3(op) -> bool:
        """(C3) no process is a target twice"""
        column = op.source_target_pairs.numpy()[:, 1].tolist()
        return len(set(column)) == len(column)

    @constraint
    def c4(op) -> bool:
        """(C4) source_target_pairs holds processes' numbers"""
        return bool((op.source_target_pairs.numpy() >= 0).all())

    @constraint
    def c5(op) -> bool | str:
        """(C5) operand and result have the same type"""
        return same_type(op.operands[0], op.result)

    def infer(op) -> Type:
        return op.operands[0].type


@STABLEHLO.op("reduce_scatter")
class ReduceScatter(_Global):
    """The tensors of all processes of a group combined by a function, of which each process gets a part."""

    operand_ = _operand("the tensor", PER_TENSOR)
    result = _result("a part of the combined ones", PER_TENSOR)
    scatter_dimension = attribute(INT, "the dimension that is split")
    computation = region("combines two elements into one")
    traits = ("effects",)

    @constraint
    def c2(op) -> bool:
        """(C2) scatter_dimension is a dimension of the operand"""
        return 0 <= op.scatter_dimension < len(shape_of(op.operands[0]))

    @constraint
    def c1(op) -> bool:
        """(C1) the number of processes in a group divides the size of scatter_dimension"""
        shape, d = shape_of(op.operands[0]), op.scatter_dimension
        return not 0 <= d < len(shape) or shape[d] is None or shape[d] % _least_size(op) == 0

    @constraint
    def c7(op) -> bool | str:
        """(C7) computation combines two scalars of the operand's element type, perhaps promoted, into one"""
        return reduces(op.computation, [element_of(op.operands[0])])

    @constraint
    def c8(op) -> bool | str:
        """(C8) the result has the operand's shape, with the dimension divided by the number of processes in a group"""
        return _splits(op.operands[0], op.result, op.scatter_dimension)

    @constraint
    def c9(op) -> bool:
        """(C9) the result has the element type that computation gives"""
        return same_elements(op.results, result_types(op.computation))

    def infer(op) -> Type:
        d, said = op.attributes["scatter_dimension"], op.results[0] if op.results else None
        if said is not None and _splits(op.operands[0], said, d) is True and shape_of(said)[d] is not None:  # c8
            shape = said.type
        else:
            shape = _scaled(op, op.operands[0], {d: (1, _group_size(op))})
        kinds = result_types(op.regions[0]) if op.regions else [shape]
        return TensorType(shape_of(shape), element_of(kinds[0]))


def _splits(operand: Any, result: Any, d: int) -> bool | str:
    """Whether a result has the operand's sizes, but in one dimension a part of it; else what is wrong."""
    a, b = shape_of(operand), shape_of(result)
    if len(a) != len(b) or not 0 <= d < len(a) or not compatible((*a[:d], None, *a[d + 1 :]), b):
        return f"{operand.type} to {result.type}"
    return _is_multiple(a[d], b[d], 1) or f"{a[d]} is no multiple of {b[d]}"


@STABLEHLO.op("cross-replica-sum")
class CrossReplicaSum(_Grouped):
    """The sum of the tensors of a group's replicas (deprecated: all_reduce)."""

    operand_ = _operand("the tensor", PER_TENSOR)
    result = _result("the sum", PER_TENSOR)
    traits = ("effects",)

    @constraint
    def types(op) -> bool | str:
        """operand and result have the same type"""
        return same_type(op.operands[0], op.result)

    def infer(op) -> Type:
        return op.operands[0].type
