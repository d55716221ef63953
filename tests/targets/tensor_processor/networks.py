"""Networks of convolutions, pools and sums, made for tests of slices and groups."""

from __future__ import annotations

from typing import Any

from transload_targets.tensor_processor.groups.machine import Machine
from transload_targets.tensor_processor.groups.network import Network, Node, Tensor
from transload_targets.tensor_processor.in_place import in_place
from transload_targets.tensor_processor.regions import RULES, Need, Shape, volume


def cycles(node: Node, box: Any, need: Need) -> float:
    """A rate of 64 products a cycle, one for what has no filter."""
    depth = volume(need.operands[1]) // (box[1][1] - box[1][0]) if node.operation == "tpu.conv2d" and need.operands[1] else 1
    return 8 + volume(box) * depth / 64


class Maker:
    """Adds ops one by one; tensors are numbers."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.nodes: list[Node] = []

    def tensor(self, shape: Shape, **about: Any) -> int:
        self.tensors.append(Tensor(f"t{len(self.tensors)}", shape, **about))
        return len(self.tensors) - 1

    def op(self, operation: str, operands: tuple[int, ...], shape: Shape, bits: int = 8, **attributes: Any) -> int:
        result = self.tensor(shape, bits=bits)
        self.nodes.append(Node(
            f"n{len(self.nodes)}", operation, operands, result, tuple(self.tensors[each].shape for each in operands), shape,
            RULES[operation], cycles, attributes, in_place=in_place(operation)))
        return result

    def conv(
        self, x: int, channels: int, kernel: int = 3, stride: int = 1, group: int = 1, pads: Any = None, dilation: int = 1,
    ) -> int:
        n, c, h, w = self.tensors[x].shape
        half = dilation * (kernel - 1) // 2
        pads = (half, half, half, half) if pads is None else pads
        reach = (kernel - 1) * dilation + 1
        filters = self.tensor((channels, c // group, kernel, kernel), layout="weights", constant=True)
        bias = self.tensor((1, channels, 1, 1), bits=32, layout="channels", constant=True)
        rows, columns = (h + pads[0] + pads[2] - reach) // stride + 1, (w + pads[1] + pads[3] - reach) // stride + 1
        return self.op("tpu.conv2d", (x, filters, bias), (n, channels, rows, columns), strides=(stride, stride), pads=pads,
                       dilations=(dilation, dilation), groups=group)

    def pool(self, x: int, kernel: int = 2) -> int:
        n, c, h, w = self.tensors[x].shape
        return self.op("tpu.max_pool2d", (x,), (n, c, h // kernel, w // kernel), strides=(kernel, kernel), pads=(0, 0, 0, 0),
                       kernel=(kernel, kernel))

    def add(self, x: int, y: int) -> int:
        return self.op("tpu.add", (x, y), self.tensors[x].shape)

    def network(self, *outputs: int) -> Network:
        return Network(tuple(self.tensors), tuple(self.nodes), frozenset(outputs))


def chain(length: int, channels: int = 16, size: int = 16, kernel: int = 3) -> Network:
    """Convolutions one after the other."""
    made = Maker()
    x = made.tensor((1, 3, size, size))
    for _ in range(length):
        x = made.conv(x, channels, kernel)
    return made.network(x)


def residual(blocks: int, channels: int = 8, size: int = 24) -> Network:
    """Blocks of two convolutions and a sum with what came in, a pool after every second."""
    made = Maker()
    x = made.conv(made.tensor((1, 3, size, size)), channels)
    for block in range(blocks):
        x = made.add(x, made.conv(made.conv(x, channels), channels))
        if block % 2 and made.tensors[x].shape[2] >= 4:
            x = made.pool(x)
    return made.network(x)


def machine(lanes: int = 4, local_bytes: int = 8192, **about: Any) -> Machine:
    """A small machine."""
    figures = {"lanes": lanes, "local_bytes": local_bytes, "banks": 8, "eu_bytes": 16, "bandwidth": 8.0, "latency": 20.0}
    return Machine(**{**figures, **about})
