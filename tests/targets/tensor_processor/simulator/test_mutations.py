"""Mutated binaries: each that computes something else, or breaks a rule, is found by the reader, the checker or the simulator."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from transload.errors import TransloadError
from transload_targets.tensor_processor.instructions import deserialize, serialize
from transload_targets.tensor_processor.simulator import Simulator

from .mutations import KINDS, mutations
from .programs import inputs_of, may_overwrite, operation, programs


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["slices", "cores", "tables"])
def test_a_mutated_binary_is_found_or_computes_the_same_in_any_order(name: str):
    """500 of them. What nobody finds fault with is run in many orders, and each gives what the program gave."""
    program = programs()[name]
    inputs = inputs_of(program)
    wanted = Simulator(program, operation, may_overwrite).run(inputs)
    found, harmless = Counter[str](), Counter[str]()
    for kind, changed in mutations(program, 500, seed=5):
        data = serialize(changed)
        assert data != serialize(program)
        try:
            simulator = Simulator(deserialize(data), operation, may_overwrite)
        except TransloadError as error:
            assert error.findings
            found[kind] += 1
            continue
        harmless[kind] += 1
        for seed in (None, *range(8)):
            outputs = simulator.run(inputs, seed)
            for port in program.outputs:
                np.testing.assert_array_equal(outputs[port.name], wanted[port.name], err_msg=f"{kind}: {changed.instructions}")
    print(name, dict(found), dict(harmless))
    assert found.total() > harmless.total() and all(found[kind] for kind in KINDS)
