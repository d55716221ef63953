"""Fixtures of the StableHLO tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from transload import plugin_host

sys.path.insert(0, str(Path(__file__).parent))  # `specification` and `xla_oracle`, which tests share

PLUGINS = {
    "stablehlo": "transload_plugins.stablehlo",
    "stablehlo-reader": "transload_converters.stablehlo",
    "xla": "transload_targets.xla",
}


@pytest.fixture(scope="session", autouse=True)
def stablehlo_plugins() -> Iterator[None]:
    """The plugins under test, also where the package is not installed with its entry points."""
    before = plugin_host.host()
    if "stablehlo" in before.dialects and "stablehlo" in before.readers and "xla" in before.engines:
        yield
        return
    installed = [point for point in entry_points(group="transload") if point.value not in PLUGINS.values()]
    plugin_host.use_host(
        plugin_host.Host([*installed, *(EntryPoint(name, value, "transload") for name, value in PLUGINS.items())], only="")
    )
    yield
    plugin_host.use_host(before)
