"""Every attribute of the operators of small models, given what it is not: each model is converted or refused in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import defs, helper

import transload
from transload.budget import allowed
from transload.errors import PluginFailure, TransloadError

from tests.fuzz.seeds import FORMATS

GIVEN: tuple[Any, ...] = (
    0, -1, 7, 2**40, -(2**63), 0.0, -1.5, float("inf"), float("nan"), "foo", b"\xff\xfe", [0], [-1, 3], [2**40, 1],
    [5, 1, 2, 3, 4], [0.5, 1.5], ["a", "b"])
SHARES = 24
"""Of how many parts a quick run takes one."""
_SMALL = 3
"""Nodes of a small model."""


def models(share: int, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Small models with one attribute replaced, the first that has an operator with it: those of a share."""
    seen: set[tuple[str, str]] = set()
    number = 0
    for content in FORMATS["onnx"](folder):
        model = onnx.load_from_string(content)
        for place, node in enumerate(model.graph.node if len(model.graph.node) <= _SMALL else ()):
            declared = defs.get_schema(node.op_type, domain=node.domain).attributes if defs.has(node.op_type, node.domain) else ()
            for name in dict.fromkeys([*(each.name for each in node.attribute), *declared]):
                if (node.op_type, name) in seen:
                    continue
                seen.add((node.op_type, name))
                for given in GIVEN:
                    number += 1
                    if number % SHARES == share:
                        yield f"{node.op_type} with {name}={given!r}", _changed(model, place, name, given)


def _changed(model: Any, place: int, name: str, given: Any) -> bytes:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    attributes = copy.graph.node[place].attribute
    kept = [each for each in attributes if each.name != name]
    del attributes[:]
    attributes.extend([*kept, helper.make_attribute(name, given)])
    content: bytes = copy.SerializeToString()
    return content


def broken(told: str, content: bytes) -> str:
    try:
        with allowed(elements=1 << 24, seconds=15):
            transload.lower(transload.load(text=content, format="onnx"), "tosa")
    except TransloadError as error:
        failed = error if isinstance(error, PluginFailure) else error.__cause__
        return f"{told}: {failed}" if isinstance(failed, PluginFailure) else ""
    return ""


@pytest.mark.parametrize("share", [0, *(pytest.param(share, marks=pytest.mark.slow) for share in range(1, SHARES))])
def test_it_is_converted_or_refused(share: int, tmp_path: Path) -> None:
    with np.errstate(all="ignore"):
        found = [broken(told, content) for told, content in models(share, tmp_path)]
    assert len(found) > 125 and not list(filter(None, found))
