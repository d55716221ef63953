"""Inputs that are sequences or optional, spelt out: as many tensors as the user gives shapes for.

A sequence `x` of two tensors is given as inputs `x[0]` and `x[1]`, an empty one as `x[]`. An optional input for which no shape is
given is left out. The graph then takes tensors alone, and makes of them what it took before, by operators of ONNX.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from transload.digits import whole_number
from transload.errors import Finding, ReadError, UsageError
from transload.ir import TensorType

__all__ = ["element_name", "spell_out"]


def element_name(name: str, index: int) -> str:
    """What tensor number `index` of the sequence `name` is called among a model's inputs and outputs."""
    return f"{name}[{index}]"


@dataclass
class _Spelt:
    """The inputs that come of one, the node that makes it of them, and what is to be told."""

    inputs: list[Any] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    empty: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def spell_out(graph: Any, wanted: Mapping[str, TensorType], where: str) -> tuple[dict[str, TensorType], tuple[str, ...]]:
    """Replace the sequences and optional values that a graph takes, in place.

    Returns `wanted` without those that stand for an empty sequence, and what was left out. Raises `ReadError` that names every
    sequence whose tensors are not given.
    """
    bundles = {info.name for info in graph.input if info.type.WhichOneof("value") in ("sequence_type", "optional_type")}
    if not bundles:
        return dict(wanted), ()
    spelt = _Spelt()
    for info in list(graph.input):
        if info.name in bundles:
            _spell_out(info, wanted, where, spelt)
        else:
            spelt.inputs.append(info)
    if spelt.findings:
        raise ReadError(f"{where}: it is not known how long sequences are", spelt.findings,
                        hint="give a shape for each tensor in one: --shape 'NAME[0]:2x3' --shape 'NAME[1]:4x3'; "
                             "--shape 'NAME[]:0' for an empty one")
    inputs = [type(info).FromString(info.SerializeToString()) for info in spelt.inputs]
    nodes = [*spelt.nodes, *(type(node).FromString(node.SerializeToString()) for node in graph.node)]
    del graph.input[:], graph.node[:]
    graph.input.extend(inputs)
    graph.node.extend(nodes)
    return {name: type_ for name, type_ in wanted.items() if name not in spelt.empty}, tuple(spelt.notes)


def _spell_out(info: Any, wanted: Mapping[str, TensorType], where: str, spelt: _Spelt) -> None:
    from onnx import helper

    name, proto = info.name, info.type
    optional = proto.WhichOneof("value") == "optional_type"
    if optional:
        proto = proto.optional_type.elem_type
    kind = proto.WhichOneof("value")
    if kind == "tensor_type" and name in wanted:
        spelt.inputs.append(helper.make_value_info(name, proto))
        return
    places = _places(name, wanted, where) if kind == "sequence_type" else []
    if kind == "sequence_type" and (places or f"{name}[]" in wanted):
        element = proto.sequence_type.elem_type
        for dim in element.tensor_type.shape.dim:  # a size with a name is of one value, and not the same in all of them
            dim.ClearField("dim_param")
        names = [element_name(name, place) for place in places]
        spelt.inputs += [helper.make_value_info(each, element) for each in names]
        if not names:
            spelt.empty.add(f"{name}[]")
        attributes = {} if names else {"dtype": element.tensor_type.elem_type}
        spelt.nodes.append(helper.make_node("SequenceConstruct" if names else "SequenceEmpty", names, [name], **attributes))
    elif optional:
        spelt.nodes.append(helper.make_node("Optional", [], [name], type=proto))
        spelt.notes.append(f"optional input {name!r} is left out; with a shape given for it, it is there")
    else:
        spelt.findings.append(Finding(f"input {name!r}", "is a sequence of tensors"))


def _places(name: str, wanted: Mapping[str, TensorType], where: str) -> list[int]:
    """The places in a sequence that shapes are given for: from 0 on, all."""
    texts = [key[len(name) + 1 : -1] for key in wanted if key.startswith(f"{name}[") and key.endswith("]")]
    places = sorted(place for text in texts if (place := whole_number(text)) is not None)
    if places != list(range(len(places))):
        raise UsageError(f"{where}: shapes are given for the tensors {places} of sequence {name!r}", hint="all from [0] on")
    return places
