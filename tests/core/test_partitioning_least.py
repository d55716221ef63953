"""Crossings between chip and host: never more than an exhaustive search finds necessary; and a chip of convolutions alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.engine.memory import bytes_of
from transload.ir import F32, Module, Op, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.partitioning import TARGET, partition, work_of
from transload.plugin import Emitted, Target
from transload.plugin_host import Host

GRAPHS = 50


def drawn(seed: int) -> tuple[Module, list[bool]]:
    """A graph of at most twelve ops of one or two operands, of tensors large and small, and which of them the chip takes."""
    draw = random.Random(seed)
    module = new_module()
    main = module.add_function("main", [TensorType((64,), F32), TensorType((1,), F32)], ["x", "s"])
    block = main.regions[0].block
    build, values = Builder(block), list(block.arguments)
    for _ in range(draw.randint(4, 12)):
        taken = [draw.choice(values[-5:]) for _ in range(draw.choice((1, 2)))]
        values.append(build.emit("top.Abs", *taken) if len(taken) == 1 else build.emit("top.Add", *taken))
    ends = [value for value in values if not value.uses]
    set_results(main, ends, [f"y{number}" for number in range(len(ends))])
    return module, [draw.random() < 0.5 for _ in work_of(module)]


def fewest(module: Module, on_chip: dict[Op, bool]) -> int:
    """The least number of parts over all orders in which the ops can run, each of them tried."""
    ops = work_of(module)
    number = {op: index for index, op in enumerate(ops)}
    needs = [sum(1 << number[value.op] for value in set(op.operands) if value.op is not None) for op in ops]
    whole = (1 << len(ops)) - 1

    @cache
    def parts(done: int, place: bool | None) -> int:
        if done == whole:
            return 0
        return min(
            (on_chip[op] != place) + parts(done | 1 << index, on_chip[op])
            for index, op in enumerate(ops) if not done >> index & 1 and needs[index] & done == needs[index])

    return parts(0, None)


def cheapest(module: Module, on_chip: dict[Op, bool], count: int) -> int:
    """The fewest bytes that the chip's parts take and give, over all ways to run the ops in so many parts."""
    ops = work_of(module)
    ends = set(module.body_of_main.terminator.operands)
    size = {value: bytes_of([value.type]) for op in ops for value in (*op.operands, *op.results)}

    def go(turns: dict[Op, int], first: bool) -> Iterator[dict[Op, int]]:
        if len(turns) == len(ops):
            yield turns
            return
        op = ops[len(turns)]
        begin = max((turns[value.op] for value in op.operands if value.op is not None), default=1)
        for turn in range(begin, count + 1):
            if (turn % 2 == 1) == (on_chip[op] == first):
                yield from go({**turns, op: turn}, first)

    def across(turns: dict[Op, int], first: bool) -> int:
        total = 0
        for turn in range(1 if first else 2, count + 1, 2):
            here = {op for op in ops if turns[op] == turn}
            takes = {value for op in here for value in op.operands if value.op not in here}
            gives = {value for op in here for value in op.results if value in ends or value.uses.keys() - here - {ends_of}}
            total += sum(size[value] for value in (*takes, *gives))
        return total

    ends_of = module.body_of_main.terminator
    return min(across(turns, first) for first in (True, False) for turns in go({}, first))


def test_no_order_of_the_ops_has_fewer_parts_and_none_of_as_few_fewer_bytes_across() -> None:
    alternating = cheaper = 0
    for seed in range(GRAPHS):
        module, taken = drawn(seed)
        on_chip = dict(zip(work_of(module), taken, strict=True))
        cut = partition(module, on_chip.__getitem__)
        assert len(cut.parts) == fewest(module, on_chip), f"graph {seed}"
        alternating += len(cut.parts) > 3
        on_parts = sum(bytes_of([*part.module.inputs.values(), *part.module.outputs.values()])
                       for part in cut.parts if part.place == TARGET)
        assert cut.bytes == on_parts == cheapest(module, on_chip, len(cut.parts)), f"graph {seed}"
        cheaper += on_parts > 0
        given = {"x": np.linspace(-2, 3, 64, dtype=np.float32), "s": np.array([-1.5], np.float32)}
        values: dict[str, Any] = dict(given)
        for part in cut.parts:
            values.update(transload.run(part.module, {name: values[name] for name in part.module.inputs}, engine="reference"))
        expected = transload.run(module, given, engine="reference")
        assert all(np.array_equal(values[wire], expected[name]) for name, wire in cut.outputs.items())
    assert alternating >= GRAPHS // 4 and cheaper > GRAPHS // 2  # the graphs are no easy ones


class Convolver(Target):
    """A plugin's chip that takes convolutions and nothing else, and runs them itself."""

    name, doc, accepts = "convolver", "For tests.", ("top",)

    def __init__(self) -> None:
        self.ran: list[list[str]] = []

    def takes(self, op: Op, options: Mapping[str, Any]) -> bool:
        return op.name == "top.Conv"

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        assert {op.name for op in work_of(module)} == {"top.Conv"}
        file = directory / f"{stem}.conv"
        transload.save(module, directory / f"{stem}.mlir").rename(file)
        return Emitted([file], {"convolutions": len(work_of(module))})

    def run(self, emitted: Emitted, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:  # type: ignore[override]
        self.ran.append(list(inputs))
        return transload.run(transload.load(emitted.files[0], format="mlir"), inputs)


@pytest.fixture
def convolver() -> Iterator[Convolver]:
    chip = Convolver()

    class Plugin:
        @transload.hookimpl
        def register_targets(self, register: Callable[[Target], None]) -> None:
            register(chip)

    own = Host()
    assert own.register(Plugin(), "convolver").registered == {"targets": ["convolver"]}
    with Context(own).bind():
        yield chip


@pytest.mark.parametrize("name", ["digits_float.onnx", "digits_int8.tflite"])
def test_a_chip_of_convolutions_alone_runs_and_verifies_as_one(
    name: str, convolver: Convolver, examples: Path, tmp_path: Path,
) -> None:
    artifact = transload.convert(examples / "digits" / name, "convolver", tmp_path / "out")
    assert artifact.verified and artifact.report.partition is not None
    parts = artifact.report.partition.parts
    on_chip = [part for part in parts if part.place == TARGET]
    assert len(parts) > len(on_chip) and len(convolver.ran) >= len(on_chip)
    assert sum(part.target_report["convolutions"] for part in on_chip) == 3
    if "int8" in name:
        assert artifact.verification is not None
        assert artifact.verification.tensors[0].metrics["max_abs"] == 0
    again = transload.compare(examples / "digits" / name, tmp_path / "out")
    assert [tensor.metrics["cos"] for tensor in again.tensors] == [pytest.approx(1)]
