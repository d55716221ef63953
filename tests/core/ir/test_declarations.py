"""Declarations of ops that cannot be meant are refused where they are made."""

from __future__ import annotations

from typing import Any

import pytest

from transload.ir.declare import FLOAT, Dialect, attribute


@pytest.mark.parametrize(("members", "why"), [
    ({"slope": attribute(FLOAT, default="a")}, "attribute 'slope' must be float .*, and by default is 'a'"),
    ({"traits": "elementwise"}, "traits are a tuple of texts, and are 'elementwise'"),
])
def test_nonsense(members: dict[str, Any], why: str) -> None:
    """Letters were traits, and ops had a text for a number where nobody gave one."""
    with pytest.raises(TypeError, match=rf"acme\.half: {why}"):
        Dialect("acme").op("half")(type("Half", (), members))


def test_defaults_that_fit() -> None:
    acme = Dialect("acme")
    acme.op("half")(type("Half", (), {
        "a": attribute(FLOAT, default=1.0), "b": attribute(FLOAT, optional=True), "c": attribute(FLOAT, default=lambda op: 2.0),
        "traits": ("elementwise",)}))
    assert acme.ops["acme.half"].traits == {"elementwise"}
