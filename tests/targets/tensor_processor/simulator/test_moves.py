"""Moves: copies that take dimensions in another order, and those that say no order."""

import numpy as np
import pytest

from transload.errors import RunError
from transload_targets.tensor_processor.instructions import assemble, disassemble
from transload_targets.tensor_processor.simulator import Simulator

TURNED = """\
program "turned" global_bytes=128
machine "two lanes" lanes=2 local_bytes=64 banks=2 eu_bytes=4 cores=1
tensor %0 "a" 1x3x2x4
tensor %1 "turned" 1x4x3x2
input "a" int8 1x3x2x4 at 0x0 %0
output "turned" int8 1x4x3x2 at 0x18 %1
dma.1 wait 0 load (G[0x0] int8 1x3x2x4 %0) -> (L[0x0] int8 1x3x2x4 aligned %0) "a"
dma.2 wait 0 copy (L[0x0] int8 1x3x2x4 aligned %0) -> (L[0x20] int8 1x4x3x2 aligned %1) {"order": [0, 3, 1, 2]} "turned"
dma.3 wait 0 store (L[0x20] int8 1x4x3x2 aligned %1) -> (G[0x18] int8 1x4x3x2 %1) "turned"
"""


def test_a_copy_takes_dimensions_in_another_order():
    program = assemble(TURNED)
    assert disassemble(program) == TURNED
    a = np.arange(24, dtype=np.int8).reshape(1, 3, 2, 4)
    np.testing.assert_array_equal(Simulator(program).run({"a": a})["turned"], a.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("order", ["[0, 3, 1, 1]", "[0, 1, 2]", "[0, 3, 1, 4]", "[0.0, 3.0, 1.0, 2.0]", "2"])
def test_an_order_that_is_none_is_refused(order):
    program = assemble(TURNED.replace("[0, 3, 1, 2]", order))
    with pytest.raises(RunError, match="breaks the rules") as error:
        Simulator(program)
    assert "none of 4 dimensions" in str(error.value)
