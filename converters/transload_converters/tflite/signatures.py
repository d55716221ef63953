"""Signatures of a file: what they call the inputs and outputs of a subgraph, and which names outputs have by that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from transload.flatbuffer import Table

from .schema import numbers

__all__ = [
    "SIGNATURE_INPUTS", "SIGNATURE_KEY", "SIGNATURE_OUTPUTS", "SIGNATURE_SUBGRAPH", "called_outputs", "entries_of",
    "output_names", "outputs_called",
]

Item = TypeVar("Item")

SIGNATURE_INPUTS, SIGNATURE_OUTPUTS, SIGNATURE_KEY, SIGNATURE_SUBGRAPH = numbers(
    "SignatureDef", "inputs", "outputs", "signature_key", "subgraph_index")
_MAP_NAME, _MAP_TENSOR = numbers("TensorMap", "name", "tensor_index")


def entries_of(signature: Table, slot: int) -> list[tuple[str, int]]:
    """What a signature calls inputs, or outputs, and the numbers of these tensors."""
    return [(each.text(_MAP_NAME), int(each.scalar(_MAP_TENSOR, "I"))) for each in signature.tables(slot)]


def called_outputs(signatures: Iterable[Table]) -> dict[int, list[tuple[str, int]]]:
    """By subgraph what its first signature calls outputs, and the numbers of these tensors."""
    called: dict[int, list[tuple[str, int]]] = {}
    for signature in signatures:
        subgraph = int(signature.scalar(SIGNATURE_SUBGRAPH, "I"))
        if subgraph not in called:
            called[subgraph] = entries_of(signature, SIGNATURE_OUTPUTS)
    return called


def output_names(
    names: Sequence[str], inputs: Sequence[int], outputs: Sequence[int], called: Sequence[tuple[str, int]],
) -> list[str]:
    """What the outputs of a subgraph are called: as their tensors (`names` has those of all).

    A tensor that is several outputs, or an input, too, has one name for them: those that a signature has (`called`) tell them
    apart, where it has one for each, which no other tensor has.
    """
    places, signed, taken = _grouped(enumerate(outputs)), _grouped(called), {*inputs}
    others, found = {*names}, [names[tensor] for tensor in outputs]
    for tensor, own in places.items():
        told = signed.get(tensor, [])
        if (len(own) > 1 or tensor in taken) and len(told) == len(own) and all(
                name and (name not in others or name == names[tensor]) for name in told):
            for place, name in zip(own, told, strict=True):
                found[place] = name
    return found


def outputs_called(
    called: Sequence[tuple[str, int]], names: Sequence[str], outputs: Sequence[int], output_names: Sequence[str],
) -> dict[str, str]:
    """By what a signature calls them the names of outputs; of a tensor of which it does not call each, that of the tensor."""
    own, signed = _grouped(zip(output_names, outputs, strict=True)), _grouped(called)
    found: dict[str, str] = {}
    for tensor, told in signed.items():
        there = own.get(tensor, [])
        found.update(zip(told, there if len(there) == len(told) else [names[tensor]] * len(told), strict=True))
    return {name: found[name] for name, _ in called}


def _grouped(named: Iterable[tuple[Item, int]]) -> dict[int, list[Item]]:
    """What belongs to each tensor, by its number, in order."""
    found: dict[int, list[Item]] = {}
    for item, tensor in named:
        found.setdefault(tensor, []).append(item)
    return found
