"""Graphs of one op each give tensorflow's results, at the hub and as TOSA; what tensorflow computes is recorded.

`make test-tf` records it again.
"""

from __future__ import annotations

from collections import Counter

import pytest

from transload import coverage
from transload.coverage_report import evidence
from transload_converters.tensorflow.legalize import TABLE, lists

from tests.support.tf_ops.all_cases import all_cases
from tests.support.tf_ops.harness import judge
from tests.support.tf_ops.measure import FORMATS, cell_of
from tests.support.tf_ops.recorded import EXPECTED, expected, read_expected
from tests.support.tf_ops.spec import Case

ALL = all_cases()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", ALL, ids=str)
def test_an_op_gives_what_tensorflow_computes(case: Case) -> None:
    judge(case, expected(case))


def test_what_is_recorded_is_of_the_cases_that_there_are() -> None:
    assert set(read_expected(EXPECTED)) == set(map(str, ALL)), "run `make test-tf`"
    assert len(set(map(str, ALL))) == len(ALL)


def test_the_evidence_is_of_the_cases_that_there_are() -> None:
    record = evidence("tf", "tosa")
    written = {(op, form): cell["cases"] for op, cells in record["results"].items() for form, cell in cells.items()}
    assert written == dict(Counter(cell_of(case) for case in ALL if not case.hub_only)), "run `make coverage`"
    assert record["formats"] == FORMATS


def test_every_op_of_the_table_has_a_case_or_a_reason() -> None:
    rows = {row["op"]: row for row in coverage("tf", "tosa")}
    measured = {f"tf.{case.op}" for case in ALL}
    without = [op for op in TABLE.functions if op in rows and op not in measured and TABLE.refusal(op) is None]
    assert not set(without) - UNMEASURED - set(lists.TABLE.functions), without


UNMEASURED = {f"tf.{name}" for name in (
    "Const", "NoOp", "PlaceholderWithDefault", "ControlTrigger", "ReadVariableOp", "Print", "PrintV2", "DebugIdentity",
    "DebugIdentityV3", "RefIdentity", "XlaSharding", "TPUCopyWithLayout", "_HostCast", "_EagerConst", "TopK",
    "_FusedBatchNormEx", "_FusedDepthwiseConv2dNative", "Conv2DBackpropInputV2", "CudnnRNN", "CudnnRNNV2", "CudnnRNNV3",
    "StatelessRandomGetAlg")}
"""Ops that a graph of one op says nothing of, or that CPUs do not run (cuDNN's: `test_cudnn`), or only by oneDNN."""
