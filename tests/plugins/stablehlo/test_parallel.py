# ruff: noqa: E501 - lines of programs
"""Grids of processes: groups, channels, deadlocks."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.text import parse_module
from transload_plugins.stablehlo.parallel import Grid, run_parallel


def _module(body: str, arguments: str = "tensor<2xi64>", results: str = "tensor<2xi64>", name: str = "main") -> str:
    return (
        f'"func.func"() <{{function_type = ({arguments}) -> ({results}), sym_name = "{name}"}}> ({{\n^bb0(%a: {arguments}):\n{body}\n'
        f'"func.return"(%r) : ({results}) -> ()\n}}) : () -> ()\n'
    )


def test_grouping_strategies() -> None:
    grid = Grid(4, 2)
    groups = [[0, 1], [2, 3]]
    assert grid.cross_replica(groups) == [[(0, 0), (1, 0)], [(0, 1), (1, 1)], [(2, 0), (3, 0)], [(2, 1), (3, 1)]]
    assert Grid(4, 2).cross_partition([[0, 1]]) == [[(r, 0), (r, 1)] for r in range(4)]
    assert grid.cross_replica_and_partition(groups) == [[(0, 0), (1, 0), (0, 1), (1, 1)], [(2, 0), (3, 0), (2, 1), (3, 1)]]
    assert grid.flattened_ids([[0, 1, 2, 3]]) == [[(0, 0), (0, 1), (1, 0), (1, 1)]]


SUM = (
    '({\n^bb0(%x: tensor<i64>, %y: tensor<i64>):\n%z = "stablehlo.add"(%x, %y) : (tensor<i64>, tensor<i64>) -> tensor<i64>\n'
    '"stablehlo.return"(%z) : (tensor<i64>) -> ()\n})'
)


@pytest.mark.parametrize(
    ("groups", "channel", "flat", "wanted"),
    [
        ("[[0, 1]]", 0, False, {(0, 0): 10 + 0, (1, 0): 10 + 0, (0, 1): 12, (1, 1): 12}),
        ("[[0, 1]]", 1, False, dict.fromkeys([(0, 0), (1, 0), (0, 1), (1, 1)], 22)),
        ("[[0, 1], [2, 3]]", 1, True, {(0, 0): 1, (0, 1): 1, (1, 0): 21, (1, 1): 21}),
    ],
)
def test_all_reduce(groups: str, channel: int, flat: bool, wanted: dict[tuple[int, int], int]) -> None:
    rows = groups.count("[") - 1
    ids = ", use_global_device_ids" if flat else ""
    module = parse_module(
        _module(
            f'%r = "stablehlo.all_reduce"(%a) <{{replica_groups = dense<{groups}> : tensor<{rows}x2xi64>, '
            f"channel_handle = #stablehlo.channel_handle<handle = {channel}, type = 1>{ids}}}> {SUM} : (tensor<2xi64>) -> tensor<2xi64>"
        )
    )
    inputs = {(r, p): {"arg0": np.full(2, 10 * r + p)} for r in range(2) for p in range(2)}
    computed = run_parallel(module, inputs, num_replicas=2, num_partitions=2)
    assert {place: int(next(iter(out.values()))[0]) for place, out in computed.items()} == wanted


def test_groups_that_are_not_the_grid() -> None:
    module = parse_module(
        _module(
            f'%r = "stablehlo.all_reduce"(%a) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> {SUM} : (tensor<2xi64>) -> tensor<2xi64>'
        )
    )
    with pytest.raises(transload.TransloadError, match="groups"):
        run_parallel(module, {"arg0": np.zeros(2, np.int64)}, num_replicas=3)


TOKEN = "!stablehlo.token"
RECEIVE = (
    f'%t = "stablehlo.create_token"() : () -> {TOKEN}\n%r, %u = "stablehlo.recv"(%t) <{{channel_handle = '
    f"#stablehlo.channel_handle<handle = 7, type = 1>, is_host_transfer = false}}> : ({TOKEN}) -> (tensor<2xi64>, {TOKEN})"
)
SEND = (
    f'%t = "stablehlo.create_token"() : () -> {TOKEN}\n%u = "stablehlo.send"(%a, %t) <{{channel_handle = '
    f"#stablehlo.channel_handle<handle = 7, type = 1>, is_host_transfer = false}}> : (tensor<2xi64>, {TOKEN}) -> {TOKEN}\n"
    '%r = "stablehlo.add"(%a, %a) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>'
)


def test_send_and_receive() -> None:
    module = parse_module(_module(SEND, name="sender") + _module(RECEIVE, name="receiver"))
    computed = run_parallel(module, {"arg0": np.array([3, 4])}, num_replicas=2, function={(0, 0): "receiver", (1, 0): "sender"})
    assert next(iter(computed[0, 0].values())).tolist() == [3, 4]


@pytest.mark.timeout(20)
def test_a_deadlock_is_reported() -> None:
    with pytest.raises(transload.TransloadError, match="wait for each other") as raised:
        run_parallel(parse_module(_module(RECEIVE)), {"arg0": np.zeros(2, np.int64)}, num_replicas=2)
    assert len(raised.value.findings) == 2
    ordinary = parse_module(
        _module(
            SEND.replace('%u = "stablehlo.send"', '%w = "stablehlo.send"').partition("%w")[0]
            + SEND.partition("\n%u")[2].partition("\n")[2],
            name="other",
        )
        + _module(RECEIVE, name="receiver")
    )
    with pytest.raises(transload.TransloadError, match="wait for each other"):
        run_parallel(ordinary, {"arg0": np.zeros(2, np.int64)}, num_replicas=2, function={(0, 0): "receiver", (1, 0): "other"})


@pytest.mark.parametrize("given", [
    {"inputs": [np.zeros(2, np.int64)]}, {"inputs": {(0, 0): [np.zeros(2, np.int64)]}}, {"num_replicas": "2"},
    {"infeed": [[np.zeros(2)]]}, {"function": {}}, {"function": 3}, {"module": "model.mlir"}])
def test_arguments_of_another_kind(given: dict[str, object]) -> None:
    """A list of inputs ended in an `AttributeError`, one of infeeds in a thread's traceback and a `KeyError`."""
    usual = {"module": parse_module(_module(SEND)), "inputs": {"arg0": np.zeros(2, np.int64)}}
    with pytest.raises(transload.errors.UsageError, match=r"^run_parallel\(\) "):
        run_parallel(**{**usual, **given})  # type: ignore[arg-type]
