"""Results that are written over an operand which none reads any more, in local memory.

That is so of operations that read an element before they write at its place (facts of the kind `in-place`), where the operand's
buffer holds just the elements of the result's part, each as wide. What is being stored while the step computes is left alone: the
step would have to wait for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..regions import Box
from .network import Network, Node
from .steps import Buffer, Step

__all__ = ["fits_over", "write_over"]


def write_over(network: Network, steps: Sequence[Step], used: list[int], everywhere: bool) -> None:
    """Let results lie over operands, and bring `used`, the bytes in use at each slot, up to date.

    Either `everywhere`, or where the most that is in use is less for it: a place of its own may lie in another bank.
    """
    stored: set[Buffer] = set()
    found: dict[int, tuple[Buffer, Buffer]] = {}
    for number, step in enumerate(steps):
        node, made = network.nodes[step.node], step.writes
        if made is not None and made.first == number and made.box == step.part:
            before = _dying(network, node, step, number, stored)
            if before is not None:
                found[number] = made, before
                used[number] -= made.size
        stored = {store.buffer for store in step.stores}
    most = max(used, default=0)
    for number, (made, before) in found.items():
        if everywhere or used[number] + made.size > most:
            made.over = before
        else:
            used[number] += made.size


def _dying(network: Network, node: Node, step: Step, number: int, stored: set[Buffer]) -> Buffer | None:
    """The operand of a step that ends there and that its result may be written over; None where there is none."""
    assert step.need is not None and step.part is not None  # it computes
    kept: set[Buffer] = set()
    fitting: list[Buffer] = []
    for operand, buffer, box in zip(node.operands, step.reads, step.need.operands, strict=True):
        if operand is None or buffer is None or box is None:
            continue
        ends = buffer.last == number and buffer not in stored
        if ends and buffer.box == box and fits_over(network, node, operand, box, step.part):
            fitting.append(buffer)
        else:
            kept.add(buffer)
    return next((buffer for buffer in fitting if buffer not in kept), None)


def fits_over(network: Network, node: Node, operand: int, box: Box | None, part: Box | None) -> bool:
    """Whether a part of a node's result may lie where the part of an operand does that it needs."""
    about, made = network.tensors[operand], network.tensors[node.result]
    return (node.in_place and box == part and about.shape == made.shape and about.layout == made.layout == "aligned"
            and about.bits == made.bits and not about.bits % 8)
