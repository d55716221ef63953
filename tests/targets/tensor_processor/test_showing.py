"""Passes that divide a network and write down what compiling decides: what they say is what the program does."""

import re
from dataclasses import replace

import numpy as np
import pytest

import transload
from transload.errors import PassError, UsageError
from transload.ir import F32, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.verify import verify
from transload.passes.manager import Pipeline
from transload.text import parse_module
from transload.text.printer import print_module
from transload_targets.tensor_processor.chip import load_chip
from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.instructions import write
from transload_targets.tensor_processor.showing import assign_global_memory, assign_local_memory, layer_groups
from transload_targets.tensor_processor.subnets import divide_into_subnets

from .functions import Maker, chip, network

SHOWN = "layer-groups{{chip={0}}},assign-local-memory{{chip={0}}},assign-global-memory{{chip={0}}}"


def sliced(monkeypatch, cores=1):
    """A network of which a small chip makes slices, and that chip, under the name of a file."""
    made = Maker((1, 8, 48, 48))
    x = made.input
    for _ in range(4):
        x = made.conv(x, 8)
    small = replace(chip("tp-small", 2560), cores=cores)
    monkeypatch.setattr("transload_targets.tensor_processor.showing.load_chip", lambda name: small)
    return made.done(made.add(x, made.conv(x, 8, 1))), small


def computed(module):
    return {op.origin: op for op in module.walk() if op.dialect == "tpu"}


@pytest.mark.parametrize("cores", [1, 2])
def test_text_says_what_the_program_does(monkeypatch, cores):
    module, small = sliced(monkeypatch, cores)
    compiled = compile_function(module.main, small)
    for run in (layer_groups, assign_local_memory, assign_global_memory):
        assert run(module)
    verify(module)
    groups = module.main.attributes["tpu.groups"]
    assert [group["ops"] for group in groups] == [group.end - group.start for group in compiled.partition.groups]
    assert sum(group["bytes"] for group in groups) == compiled.partition.bytes
    assert any("h/" in group["slices"] for group in groups)
    assert ("tpu.barriers" in module.main.attributes) == (cores > 1)
    instructions = compiled.program.instructions
    for name, op in computed(module).items():
        made = [one.outputs[0] for one in instructions if one.queue == "tiu" and one.operation != "cast" and one.name == name]
        assert sorted(operand.address for operand in made) == sorted(op.attributes["tpu.local"])
        assert len(op.attributes["tpu.parts"]) == len(op.attributes["tpu.steps"]) == len(made)
        assert {str(list(operand.shape)) for operand in made} == {
            str([int(high) - int(low) for low, high in re.findall(r"(\d+):(\d+)", part)]) for part in op.attributes["tpu.parts"]}
        assert ("tpu.cores" in op.attributes) == (cores > 1)
    carried = [each for op in computed(module).values() for each in op.attributes.get("tpu.carries", ())]
    assert len(carried) == sum(one.operation == "cast" for one in instructions)
    assert carried or cores > 1
    loaded = [address for op in computed(module).values() for address in op.attributes.get("tpu.loaded", ())]
    moved = [operand for one in instructions if one.operation == "load" for operand in one.outputs]
    assert sorted(int(each.rpartition(" at ")[2]) for each in loaded) == sorted(operand.address for operand in moved)
    assert len(loaded) == sum(len(op.attributes.get("tpu.loads", ())) for op in computed(module).values())
    assert module.main.attributes["tpu.local_bytes"] == compiled.local.peak


def test_addresses_in_global_memory_are_those_of_the_program(monkeypatch):
    module, small = sliced(monkeypatch)
    program = compile_function(module.main, small).program
    assign_global_memory(module)
    assert module.main.attributes["tpu.inputs"] == tuple(port.address for port in program.inputs)
    assert module.main.attributes["tpu.outputs"] == tuple(port.address for port in program.outputs)
    said = {op.attributes["tpu.address"] for op in module.walk() if "tpu.address" in op.attributes and op.name == "top.Weight"}
    said |= {int(each.rpartition(" at ")[2]) for op in module.walk() for each in op.attributes.get("tpu.constants", ())}
    assert said == {held.address for held in program.weights}
    said = {name: op.attributes["tpu.address"] for name, op in computed(module).items() if "tpu.address" in op.attributes}
    assert said == {name: min(operand.address for one in program.instructions if one.operation == "store" and one.name == name
                              for operand in one.outputs) for name in said}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_shown_changes_no_bit_of_the_program(seed, tmp_path):
    module = network(seed)
    files = [tmp_path / "plain.tpu", tmp_path / "shown.tpu"]
    write(compile_function(module.main, load_chip("tp-small")).program, files[0])
    Pipeline.parse(SHOWN.format("tp-small")).run(module)
    again = parse_module(print_module(module, constants="resource").encode())
    assert print_module(again, constants="resource") == print_module(module, constants="resource")
    write(compile_function(again.main, load_chip("tp-small")).program, files[1])
    assert files[0].read_bytes() == files[1].read_bytes()


def mixed():
    """A convolution and a table of the chip's on both sides of an op that stays on the host."""
    module = new_module()
    main = module.add_function("main", [TensorType((1, 8), F32)], ["x"])
    build = Builder(main.regions[0].block, location="work")
    x = build.emit("tpu.add", main.regions[0].block.arguments[0], main.regions[0].block.arguments[0])
    y = build.emit("tpu.mul", build.emit("top.Erf", x), x)
    set_results(main, [y, x], ["y", "x2"])
    return module


def test_subnets_are_functions_that_compute_what_the_network_did():
    module = mixed()
    x = {"x": np.linspace(-2, 2, 8, dtype=np.float32).reshape(1, 8)}
    wanted = transload.run(module, x)
    Pipeline.parse("divide-into-subnets").run(module)
    verify(module)
    places = [function.attributes.get("tpu.place") for function in module.functions.values()]
    assert places == [None, "chip", "host", "chip"]
    given = transload.run(module, x)
    assert list(given) == list(wanted)
    for name, array in wanted.items():
        np.testing.assert_array_equal(given[name], array)
    assert not divide_into_subnets(module)  # it is divided
    Pipeline.parse(SHOWN.format("tp-small")).run(module)
    assert [("tpu.groups" in function.attributes) for function in module.functions.values()] == [False, True, False, True]
    Pipeline.parse("inline").run(module)
    assert list(module.functions) == ["main"]
    np.testing.assert_array_equal(transload.run(module, x)["y"], wanted["y"])


def test_what_the_chip_does_not_run_is_named():
    with pytest.raises(PassError) as error:
        layer_groups(mixed(), "tp-small")
    assert [(finding.what, finding.names) for finding in error.value.findings] == [("top.Erf", ("work",))]
    assert "divide-into-subnets" in error.value.findings[0].hint


def test_a_network_that_calls_is_to_be_inlined_before_it_is_divided():
    module = mixed()
    Pipeline.parse("divide-into-subnets").run(module)
    for function in module.functions.values():
        function.attributes.pop("tpu.place", None)
    with pytest.raises(PassError, match="calls functions"):
        Pipeline.parse("divide-into-subnets").run(module)


@pytest.mark.parametrize("options", [{"groups": "all"}, {"local": "anywhere"}, {"halos": "none"}])
def test_ways_that_there_are_not_are_refused(options):
    with pytest.raises(UsageError, match="cannot be"):
        layer_groups(network(0), "tp-small", **options)
