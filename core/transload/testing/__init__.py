"""The plugin kit: checks for a third party's ops, readers and targets.

    from transload.testing import check_op

    def test_hard_mish():
        check_op("acme.HardMish", x, reference=lambda x: x * np.clip(...), lowers_to=("chip",))

`check_op` verifies the op, takes it through text and back, compares its shape inference with what its
kernel makes, its kernel with a reference, and every lowering with the kernel. `check_reader` feeds a
reader damaged files. `check_target` converts a model, looks at what comes out, and runs it where the target can. All raise
`AssertionError` with what is wrong.
"""

from transload.errors import UsageError

if not __debug__:
    raise UsageError(
        "transload.testing checks by `assert`, which `python -O` leaves out: nothing would ever fail",
        hint="run the tests without -O, and without PYTHONOPTIMIZE")

from .models import build_module, build_op
from .ops import check_op
from .readers import check_reader, mutations
from .targets import check_target

__all__ = ["build_module", "build_op", "check_op", "check_reader", "check_target", "mutations"]
