"""Mutated binaries of whole networks, as code generation makes them: what changes a result or breaks a rule is found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from transload.errors import TransloadError
from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.instructions import Program, deserialize, serialize
from transload_targets.tensor_processor.simulator import Simulator

from .mutations import KINDS, mutations
from tests.targets.tensor_processor.functions import chip, network


def tried(program: Program, inputs: dict[str, np.ndarray], count: int, seed: int) -> tuple[Counter[str], Counter[str]]:
    """How many mutations of each kind are found, and how many nobody finds fault with: these compute the same in any order."""
    found, harmless = Counter[str](), Counter[str]()
    wanted = Simulator(program).run(inputs)
    for kind, changed in mutations(program, count, seed):
        try:
            simulator = Simulator(deserialize(serialize(changed)))
        except TransloadError as error:
            assert error.findings
            found[kind] += 1
            continue
        harmless[kind] += 1
        for order in (None, 1, 2):
            outputs = simulator.run(inputs, order)
            for name, array in wanted.items():
                np.testing.assert_array_equal(outputs[name], array, err_msg=kind)
    return found, harmless


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("seed", "name", "local_bytes", "cores"), [
    (3, "tp-tiny", 3328, 4), (0, "tp-tiny", 3072, 1), (1, "tp-small", 1024, 1), (2, "tp-large", None, 1),
    pytest.param(4, "tp-tiny", 3328, 2, marks=pytest.mark.slow)])
def test_a_mutated_network_is_found_or_computes_the_same_in_any_order(
    seed: int, name: str, local_bytes: int | None, cores: int,
):
    module = network(seed)
    target = chip(name, local_bytes)
    if cores > 1:  # what cores give each other takes little time
        target = replace(target, cores=cores, dma_latency=2)
    program = compile_function(module.main, target).program
    assert len({one.core for one in program.instructions if one.queue == "tiu"}) == cores
    random = np.random.default_rng(seed)
    inputs = {port.name: random.integers(-128, 128, port.shape).astype(np.int8) for port in program.inputs}
    found, harmless = tried(program, inputs, 100, seed)
    print(name, len(program.instructions), dict(found), dict(harmless))
    assert all(found[kind] for kind in KINDS)
    assert not harmless["address moved"]  # each byte is known
