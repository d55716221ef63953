"""Dialects whose operators are declared by their frameworks' schemas when a file has one: every one of them can be."""

from __future__ import annotations

from importlib import import_module

import pytest

from transload.ir.open_ops import OpsOnDemand


@pytest.mark.parametrize(("where", "name"), [("onnx", "ONNX"), ("pytorch", "ATEN"), ("tensorflow", "TF")])
def test_every_operator_of_the_schemas_is_declared(where: str, name: str) -> None:
    """A default that its schema writes as no kind of attribute has it ended the reading of a file."""
    ops = getattr(import_module(f"transload_converters.{where}.dialect"), name).ops
    assert isinstance(ops, OpsOnDemand)
    assert len([declared.name for declared in ops.values()]) > 200
