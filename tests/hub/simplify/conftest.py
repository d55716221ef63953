"""Fixtures of the tests of simplifications."""

from tests.support.hub_graphs import kit  # noqa: F401 - a fixture
