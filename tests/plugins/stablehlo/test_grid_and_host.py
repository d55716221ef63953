# ruff: noqa: E501 - lines of programs
"""Groups whose size the grid decides, and what the host is asked for."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import RunError
from transload.ir import Module
from transload.text import parse_module
from transload_plugins.stablehlo.parallel import Grid, run_parallel

SUM = (
    '({\n^bb0(%x: tensor<i64>, %y: tensor<i64>):\n%z = "stablehlo.add"(%x, %y) : (tensor<i64>, tensor<i64>) -> tensor<i64>\n'
    '"stablehlo.return"(%z) : (tensor<i64>) -> ()\n})')
TOKEN = '%t = "stablehlo.create_token"() : () -> !stablehlo.token\n'
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = {}>"
HOST = {
    "recv": TOKEN + f'%r, %u = "stablehlo.recv"(%t) <{{{CHANNEL.format(3)}, is_host_transfer = true}}> : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)',
    "send": TOKEN + f'%u = "stablehlo.send"(%a, %t) <{{{CHANNEL.format(2)}, is_host_transfer = true}}> : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token\n'
    '%r = "stablehlo.negate"(%a) : (tensor<2xi64>) -> tensor<2xi64>',
    "outfeed": TOKEN + '%u = "stablehlo.outfeed"(%a, %t) <{outfeed_config = ""}> : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token\n'
    '%r = "stablehlo.negate"(%a) : (tensor<2xi64>) -> tensor<2xi64>',
}


def _module(body: str, result: str = "tensor<2xi64>") -> Module:
    return parse_module(
        f'"func.func"() <{{function_type = (tensor<2xi64>) -> ({result}), sym_name = "main"}}> ({{\n^bb0(%a: tensor<2xi64>):\n{body}\n'
        f'"func.return"(%r) : ({result}) -> ()\n}}) : () -> ()\n')


def _on_a_grid(module: Module) -> dict[tuple[int, int], list[int]]:
    inputs = {(r, p): {"arg0": np.array([10 * r + p, 100])} for r in range(2) for p in range(2)}
    outputs = run_parallel(module, inputs, num_replicas=2, num_partitions=2)
    return {place: next(iter(each.values())).tolist() for place, each in outputs.items()}


def test_groups_of_replicas_with_all_their_partitions() -> None:
    """With a channel, and without global ids, a group of two replicas on two partitions has four processes."""
    groups = f"replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, {CHANNEL.format(1)}"
    gathered = _on_a_grid(_module(
        f'%r = "stablehlo.all_gather"(%a) <{{all_gather_dim = 0 : i64, {groups}}}> : (tensor<2xi64>) -> tensor<8xi64>', "tensor<8xi64>"))
    assert set(map(tuple, gathered.values())) == {(0, 100, 10, 100, 1, 100, 11, 100)}
    module = _module(
        f'%w = "stablehlo.concatenate"(%a, %a) <{{dimension = 0 : i64}}> : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>\n'
        f'%r = "stablehlo.reduce_scatter"(%w) <{{scatter_dimension = 0 : i64, {groups}}}> {SUM} : (tensor<4xi64>) -> tensor<1xi64>', "tensor<1xi64>")
    assert sorted(value for values in _on_a_grid(module).values() for value in values) == [22, 22, 400, 400]


def test_no_groups_are_one_of_everybody() -> None:
    module = _module(
        '%r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<2xi64>) -> tensor<4xi64>',
        "tensor<4xi64>")
    assert _on_a_grid(module)[0, 1] == [1, 100, 11, 100]


def test_a_size_that_no_grid_gives() -> None:
    from transload.ir.verify import check

    def gathered(result: str) -> Module:
        return _module(
            '%r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, '
            f"{CHANNEL.format(1)}}}> : (tensor<2xi64>) -> {result}", result)

    for result in ("tensor<3xi64>", "tensor<1xi64>", "tensor<8xi32>"):
        assert any("multiple" in finding.why for finding in check(gathered(result)))
    with pytest.raises(RunError, match=r"shape \(8,\)"):  # which the grid decides
        _on_a_grid(gathered("tensor<6xi64>"))


def test_a_multiple_that_a_program_says_is_kept() -> None:
    """No version's verifier looked at how many times it is: a module that was read was not valid."""
    from transload.ir.verify import check

    groups = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
    for count in (2, 4, 6):
        assert check(_module(
            f'%r = "stablehlo.all_gather"(%a) <{{all_gather_dim = 0 : i64, {groups}}}> : (tensor<2xi64>) -> tensor<{count}xi64>',
            f"tensor<{count}xi64>")) == []
    for count in (1, 2):
        assert check(_module(
            f'%r = "stablehlo.reduce_scatter"(%a) <{{scatter_dimension = 0 : i64, {groups}}}> {SUM} '
            f": (tensor<2xi64>) -> tensor<{count}xi64>", f"tensor<{count}xi64>")) == []


def test_the_host_is_asked_for() -> None:
    with pytest.raises(RunError, match="what the host sends on channel 1") as raised:
        transload.run(_module(HOST["recv"]), {"arg0": np.array([1, 2])})
    assert "from_host" in raised.value.hint
    grid = Grid()
    grid.from_host[1].append([np.array([5, 6])])
    outputs = run_parallel(_module(HOST["recv"]), {"arg0": np.array([1, 2])}, grid=grid)
    assert outputs[0, 0]["result0"].tolist() == [5, 6]


def test_a_pair_outside_of_the_grid() -> None:
    body = '%r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xi64>) -> tensor<2xi64>'
    with pytest.raises(RunError, match=r"process \(1, 0\) is not among 1 replicas"):
        transload.run(_module(body), {"arg0": np.array([1, 2])}, engine="reference")


@pytest.mark.parametrize("op", HOST)
def test_xla_is_not_left_waiting_for_a_host(op: str) -> None:
    with pytest.raises(RunError) as raised:
        transload.run(_module(HOST[op]), {"arg0": np.array([1, 2])}, engine="xla-plain")
    assert "wait for ever" in raised.value.findings[0].why


def test_xla_does_not_stand_in_for_several_processes() -> None:
    body = f'%r = "stablehlo.all_reduce"(%a) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> {SUM} : (tensor<2xi64>) -> tensor<2xi64>'
    with pytest.raises(RunError) as raised:
        transload.run(_module(body), {"arg0": np.array([1, 2])}, engine="xla-plain")
    assert "several processes" in raised.value.findings[0].why
