
"""Custom calls that reach XLA: those that are known to be safe, in the form that they have."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import RunError, TargetError
from transload.ir import Module
from transload.text import parse_module
from transload_targets.xla.allowed import findings_of


def _module(name: str, results: str = "tensor<2x3xf32>", operands: str = "%a", types: str = "tensor<2x3xf32>") -> Module:
    count = results.count("tensor")
    left = f"%r:{count}" if count > 1 else "%r"
    first = results.split(">,")[0] + (">" if count > 1 else "")
    return parse_module(
        f'"func.func"() <{{function_type = (tensor<2x3xf32>) -> ({first}), sym_name = "main"}}> ({{\n^bb0(%a: tensor<2x3xf32>):\n'
        f'{left} = "stablehlo.custom_call"({operands}) <{{call_target_name = "{name}"}}> : ({types}) -> ({results})\n'
        f'"func.return"(%r{"#0" if count > 1 else ""}) : ({first}) -> ()\n}}) : () -> ()\n')


X = {"arg0": np.arange(6, dtype=np.float32).reshape(2, 3)}


@pytest.mark.parametrize("name", ["TopK", "__onednn$matmul", "__onednn$softmax", "PartialReduce", "nobody", "lapack_sgesdd_ffi"])
@pytest.mark.parametrize("engine", ["xla", "xla-plain"])
def test_others_are_refused(name: str, engine: str) -> None:
    with pytest.raises(RunError) as raised:
        transload.run(_module(name), X, engine=engine)
    assert repr(name) in raised.value.findings[0].why


def test_a_known_name_with_other_operands_is_refused() -> None:
    for module in (
        _module("mhlo.topk"), _module("mhlo.topk", "tensor<2x5xf32>, tensor<2x5xi32>"),
        _module("mhlo.erf", operands="%a, %a", types="tensor<2x3xf32>, tensor<2x3xf32>"), _module("Sharding", "tensor<3x2xf32>"),
    ):
        with pytest.raises(RunError) as raised:
            transload.run(module, X, engine="xla-plain")
        assert "other operands or results" in raised.value.findings[0].why


def test_annotations_pass() -> None:
    for engine in ("xla-plain", "reference"):
        outputs = transload.run(_module("Sharding"), X, engine=engine)
        np.testing.assert_array_equal(next(iter(outputs.values())), X["arg0"])


def test_the_target_refuses_them_too(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TargetError) as raised:
        transload.convert(_module("__onednn$matmul"), "xla-cpu", tmp_path, verify=False)
    assert "__onednn$matmul" in raised.value.findings[0].why


@pytest.mark.parametrize(("kind", "flag", "why"), [(1, "false", "another process"), (2, "true", "a host")])
def test_who_would_be_talked_to(kind: int, flag: str, why: str) -> None:
    """Of other processes, too, it was said that they are a host."""
    module = parse_module(
        '"func.func"() <{function_type = (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token, sym_name = "main"}> ({\n'
        '^bb0(%a: tensor<2xf32>, %t: !stablehlo.token):\n'
        f'%r = "stablehlo.send"(%a, %t) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = {kind}>, '
        f'is_host_transfer = {flag}}}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token\n'
        '"func.return"(%r) : (!stablehlo.token) -> ()\n}) : () -> ()\n')
    (finding,) = findings_of(module)
    assert f"talks to {why}" in finding.why and "run_parallel" in finding.hint
