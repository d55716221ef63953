"""Fixtures of the tests of passes."""

from tests.support.hub_graphs import kit  # noqa: F401 - a fixture
