"""The table of the schema is that of LiteRT's own, as it is installed."""

from __future__ import annotations

import re

import pytest

from transload_converters.tflite import schema_table
from transload_converters.tflite.schema import enumeration, fields, numbers, operators

pytest.importorskip("ai_edge_litert.schema_py_generated", reason="LiteRT's schema is not installed")


def test_nothing_of_the_installed_schema_is_missing() -> None:
    """A schema only grows at its ends; where this fails, `make schema` makes the table again."""
    from transload_converters.tflite.schema_generator import generate

    installed: dict[str, dict[str, str]] = {}
    exec(re.sub(r": dict\[str, str\]", "", generate()), installed)
    for kind in ("ENUMERATIONS", "TABLES"):
        ours, theirs = getattr(schema_table, kind), installed[kind]
        assert set(theirs) <= set(ours)
        for name, text in theirs.items():
            assert ours[name].split()[: len(text.split())] == text.split(), name


def test_what_is_known() -> None:
    assert operators()[209] == "STABLEHLO_CASE"
    assert 127 not in operators()
    assert enumeration("TensorType")[22] == "FLOAT8_E5M2"
    assert numbers("Operator", "opcode_index", "intermediates", "builtin_options2") == (0, 8, 12)
    dilation = fields("Conv2DOptions")["dilation_w_factor"]
    assert (dilation.code, dilation.default, dilation.is_vector) == ("i", 1, False)
    boundaries = fields("BucketizeOptions")["boundaries"]
    assert (boundaries.code, boundaries.default, boundaries.is_vector) == ("f", (), True)
