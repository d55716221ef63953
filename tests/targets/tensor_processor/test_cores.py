"""Several cores: the same bits in any order, never slower, barriers where they are needed and nowhere else."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ArtifactError, TransloadError
from transload_targets.tensor_processor import chip as chips
from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.cycles.tables import groups, summary
from transload_targets.tensor_processor.cycles.timeline import roofline, shares, timeline
from transload_targets.tensor_processor.cycles.trace import trace
from transload_targets.tensor_processor.groups.partition import Group, Partition, partition
from transload_targets.tensor_processor.groups.slicing import WHOLE, Slicing
from transload_targets.tensor_processor.groups.spread import spread
from transload_targets.tensor_processor.instructions import Program, assemble, read
from transload_targets.tensor_processor.simulator import Simulator, check
from transload_targets.tensor_processor.target import TensorProcessor

from . import networks
from .functions import Maker, chip, network
from tests.support.sampling import sampled


def on(cores: int, name: str = "tp-small", local_bytes: int | None = None, **about):
    return replace(chip(name, local_bytes), cores=cores, **about)


def convolutions(size: int = 32, channels: int = 32, count: int = 4):
    """Convolutions one after the other, a pool between, a sum of two branches: more to compute than to move."""
    made = Maker((1, channels, size, size))
    x = made.input
    for _ in range(count):
        x = made.conv(x, channels)
    x = made.emit("tpu.max_pool2d", x, kernel=(2, 2), strides=(2, 2), pads=(0, 0, 0, 0))
    y = made.add(made.conv(x, 2 * channels), made.conv(x, 2 * channels, 1))
    y = made.emit("tpu.max_pool2d", y, kernel=(4, 4), strides=(4, 4), pads=(0, 0, 0, 0))
    return made.done(made.matmul(made.emit("tpu.reshape", y, shape=(1, y.shape[1] * y.shape[2] * y.shape[3])), 10, False), x)


def inputs_of(module):
    random = np.random.default_rng(1)
    return {name: random.integers(-128, 128, type_.shape).astype(np.int8) for name, type_ in module.inputs.items()}


def check_same(module, compiled):
    expected = transload.run(module, inputs_of(module))
    simulator = Simulator(compiled.program)  # which checks all rules
    for seed in (None, 1, 2, 3):
        given = simulator.run(inputs_of(module), seed)
        for one, other in zip(given.values(), expected.values(), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("cores", [1, 2, 4, 8])
@pytest.mark.parametrize("seed", sampled(range(6), [0, 3]))
@pytest.mark.parametrize("name, local_bytes", [("tp-tiny", 3328), ("tp-small", 1024), ("tp-large", 2048)])
def test_programs_of_several_cores_give_what_kernels_give_in_any_order(name, local_bytes, seed, cores):
    module, target = network(seed), on(cores, name, local_bytes, dma_latency=2, start_cycles=1)
    compiled = compile_function(module.main, target)
    check_same(module, compiled)
    assert all(core.local.peak <= local_bytes for core in compiled.plan.cores)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("local_bytes", [None, 4096])
@pytest.mark.parametrize("cores", [2, 3, 4])
def test_all_cores_compute_and_that_takes_fewer_cycles(cores, local_bytes):
    module = convolutions()
    alone, compiled = (compile_function(module.main, on(count, local_bytes=local_bytes)) for count in (1, cores))
    check_same(module, compiled)
    assert {one.core for one in compiled.program.instructions if one.queue == "tiu"} == set(range(cores))
    one, several = timeline(alone.program, alone.chip), timeline(compiled.program, compiled.chip)
    assert several.cycles < 0.8 * one.cycles
    assert roofline(compiled.program, several) <= several.cycles
    assert sum(shares(several).values()) == pytest.approx(several.cycles)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["tp-small", "tp-large"])
def test_more_cores_are_never_slower_and_one_does_what_it_did(name, seed):
    module, cycles = network(seed), []
    alone = compile_function(module.main, on(1, name)).program
    for cores in (1, 2, 4, 8):
        compiled = compile_function(module.main, on(cores, name))
        cycles.append(timeline(compiled.program, compiled.chip).cycles)
        if len(compiled.plan.cores) == 1:
            assert compiled.program.instructions == alone.instructions and compiled.program.weights == alone.weights
    assert cycles == sorted(cycles, reverse=True)


def test_channels_of_a_product_are_spread_where_its_weights_are_more_than_it_computes():
    made = Maker((1, 512))
    module = made.done(made.matmul(made.input, 2048, False))
    target = on(4, dma_bytes=4096, dma_latency=10)
    compiled = compile_function(module.main, target)
    check_same(module, compiled)
    (group,) = compiled.partition.groups
    assert group.cores == 4 and group.slicing.counts[1] >= 4
    times = timeline(compiled.program, target)
    assert times.bytes < 1.01 * timeline(compile_function(module.main, on(1)).program, on(1)).bytes + 4 * 512


# --- barriers

def each_spread(network_, slicing, cores):
    return Partition(tuple(Group(number, number + 1, slicing, 0.0, 0.0, 0, 0, cores) for number in range(len(network_.nodes))))


def test_a_barrier_stands_where_a_core_needs_what_another_gives_and_nowhere_else():
    machine, rows = networks.machine(local_bytes=1 << 16), Slicing((1, 1, 4, 1))
    pointwise, windows = networks.chain(4, kernel=1), networks.chain(4, kernel=3)
    assert spread(pointwise, machine, each_spread(pointwise, rows, 4), 4).barriers == ()
    assert spread(windows, machine, each_spread(windows, rows, 4), 4).barriers == (1, 2, 3)
    assert spread(windows, machine, each_spread(windows, rows, 1), 4).barriers == ()
    turned = each_spread(pointwise, rows, 4).groups[:2] + each_spread(pointwise, WHOLE, 1).groups[2:]
    assert spread(pointwise, machine, Partition(turned), 4).barriers == (2,)


def without(program: Program, dropped: set[int]) -> Program:
    """A program without some of its instructions, the others renumbered; they no more wait for what is gone."""
    numbers: dict[tuple[int, str], list[int]] = {}
    for index, one in enumerate(program.instructions):
        held = numbers.setdefault((one.core, one.queue), [0])
        held.append(held[-1] + (index not in dropped))
    kept = [replace(one, id=numbers[one.core, one.queue][one.id],
                    wait=numbers[one.core, "tiu" if one.queue == "dma" else "dma"][one.wait] if one.wait else 0)
            for index, one in enumerate(program.instructions) if index not in dropped]
    return replace(program, instructions=tuple(kept))


def barriers_of(program: Program) -> list[list[int]]:
    """The places of each barrier's instructions, a list for each time that cores meet."""
    met: dict[int, list[int]] = {}
    for index, one in enumerate(program.instructions):
        if one.operation == "barrier":
            met.setdefault(one.core, []).append(index)
    return [list(places) for places in zip(*met.values(), strict=True)]


@pytest.mark.parametrize("local_bytes", [None, 4096])
def test_a_barrier_that_is_gone_is_found(local_bytes):
    compiled = compile_function(convolutions().main, on(4, local_bytes=local_bytes))
    meetings = barriers_of(compiled.program)
    assert len(meetings) >= 2 and not check(compiled.program)
    for places in meetings:
        assert check(without(compiled.program, set(places)))  # cores read what others are writing
        for place in places:
            assert any("different numbers of barriers" in str(finding) for finding in check(without(compiled.program, {place})))


def test_a_barrier_in_the_place_of_another_instruction_is_found_or_changes_nothing():
    module = convolutions(count=2)
    compiled = compile_function(module.main, on(2))
    instructions, found = compiled.program.instructions, 0
    expected = Simulator(compiled.program).run(inputs_of(module))
    for places in barriers_of(compiled.program):
        for place in places:
            one = instructions[place]
            neighbours = [index for index, other in enumerate(instructions) if (other.core, other.queue) == (one.core, "dma")
                          and abs(other.id - one.id) in (1, 2)]
            for index in neighbours:
                other, changed = instructions[index], list(instructions)
                changed[place] = replace(other, id=one.id, wait=one.wait)
                changed[index] = replace(one, id=other.id, wait=other.wait)
                try:
                    simulator = Simulator(replace(compiled.program, instructions=tuple(changed)))
                except TransloadError:
                    found += 1
                    continue
                for seed in (None, 1, 2):
                    for name, array in simulator.run(inputs_of(module), seed).items():
                        np.testing.assert_array_equal(array, expected[name])
    assert found


# --- time

TWO = """\
program "two cores" global_bytes=256
machine "two cores" lanes=2 local_bytes=64 banks=2 eu_bytes=4 cores=2
tensor %0 "a" 1x2x4x4
tensor %1 "b" 1x2x4x4
input "a" int8 1x2x4x4 at 0x0 %0
output "b" int8 1x2x4x4 at 0x40 %1
dma.1 wait 0 load (G[0x0] int8 1x2x4x4 %0) -> (L[0x0] int8 1x2x4x4 aligned %0) "a"
1:dma.1 wait 0 load (G[0x0] int8 1x2x4x4 %0) -> (L[0x0] int8 1x2x4x4 aligned %0) "a"
1:dma.2 wait 0 load (G[0x0] int8 1x2x4x4 %0) -> (L[0x20] int8 1x2x4x4 aligned %0) "a"
dma.2 wait 0 barrier () -> ()
1:dma.3 wait 0 barrier () -> ()
dma.3 wait 0 store (L[0x0] int8 1x2x4x4 aligned %0) -> (G[0x40] int8 1x2x4x4 %1) "b"
"""


def test_cores_that_move_at_the_same_time_share_the_bandwidth_and_meet_at_barriers():
    target = on(2, dma_bytes=4, dma_latency=10)
    times = timeline(assemble(TWO), target)
    at = {span.instruction.label: (span.start, span.end) for span in times.spans}
    assert at["dma.1"] == at["1:dma.1"] == (0.0, 10 + 2 * 32 / 4)  # both wait side by side, and move half as fast
    assert at["1:dma.2"] == (26.0, 26.0 + 10 + 32 / 4)  # alone
    assert at["dma.2"] == at["1:dma.3"] == (44.0, 44.0)
    assert at["dma.3"] == (44.0, 44.0 + 10 + 32 / 4) and times.cycles == 62.0


def test_a_program_that_never_ends_takes_no_time_that_can_be_told():
    stuck = TWO.replace("1:dma.3 wait 0 barrier () -> ()\n", "").replace("dma.1 wait 0 load", "dma.1 wait 1 load", 1)
    with pytest.raises(ArtifactError) as error:
        timeline(assemble(stuck), on(2))
    assert error.value.findings


def test_what_is_told_of_a_program_says_what_each_core_does():
    compiled = compile_function(convolutions().main, on(4))
    times = timeline(compiled.program, compiled.chip)
    said = summary(compiled, times)
    assert len(said["cores"]) == 4 and said["barriers"] == len(compiled.plan.spread.barriers)
    assert sum(core["utilisation"] for core in said["cores"]) / 4 == pytest.approx(said["utilisation"], rel=0.02)
    rows = list(groups(compiled, times))
    spread_rows = [row for row in rows if len(row["cores"]) == 4]
    assert spread_rows and spread_rows[0]["cores"][0]["slices"].startswith("0 to ")
    assert sum(core["compute"] for row in rows for core in row["cores"]) == pytest.approx(sum(row["compute"] for row in rows))
    assert {event["pid"] for event in trace(times)["traceEvents"]} == {0, 1, 2, 3}
    assert "cores" not in summary(*of_one())


def test_a_file_that_says_cores_makes_a_target_that_reports_and_runs_them(tmp_path):
    file = tmp_path / "four.toml"
    text = (Path(chips.__file__).parent / "chips" / "tp-small.toml").read_text().replace('"tp-small"', '"four"')
    file.write_text(text.replace("[compute]\n", "[compute]\ncores = 4\n"))
    target, module = TensorProcessor(file, "four"), convolutions()
    options = {name: default for name, (_, default, _) in target.options().items()}
    emitted = target.emit(module, tmp_path, "net", {**options, "pictures": True, "text": True})
    assert len(emitted.report["cores"]) == 4 and emitted.report["barriers"] > 0
    assert read(emitted.file(".tpu")) == assemble(emitted.file(".tptxt").read_text())
    rows = json.loads((tmp_path / "net.cycles.json").read_text())["groups"]
    assert max(len(row["cores"]) for row in rows) == 4
    expected = transload.run(module, inputs_of(module))
    for name, array in target.run(emitted, inputs_of(module)).items():
        np.testing.assert_array_equal(array, expected[name])


def of_one():
    compiled = compile_function(convolutions().main, on(1))
    return compiled, timeline(compiled.program, compiled.chip)


@pytest.mark.parametrize("cores", [2, 4])
def test_no_partition_is_dearer_for_more_cores(cores):
    for made in (networks.chain(6), networks.residual(3)):
        for local_bytes in (2048, 8192):
            machine = networks.machine(local_bytes=local_bytes)
            assert partition(made, machine, cores=cores).cost <= partition(made, machine).cost
