"""What is not found by its name may be of a plugin that failed: whoever says that it is not there names the plugin."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import numpy as np
import pytest

from transload.context import Context
from transload.errors import TransloadError
from transload.hookspecs import hookimpl
from transload.ir.build import Builder
from transload.ir.core import Block
from transload.plugin_host import Host, host

from tests.support.plugins import Distribution, point

Cli = Callable[..., tuple[int, str, str]]


def told(cli: Cli, broken: EntryPoint, *asked: str) -> str:
    with Context(Host([*entry_points(group="transload"), broken])).bind():
        code, out, error = cli(*asked)
    assert code in (2, 3), out + error
    return " ".join(error.split())


@pytest.mark.parametrize("asked", [
    ["nosuch"], ["targets", "nosuch"], ["ops", "nosuch"], ["coverage", "--from", "nosuch"], ["coverage", "--to", "nosuch"],
    ["convert", "MODEL", "-t", "nosuch"], ["convert", "MODEL", "--passes", "nosuch"],
    ["convert", "MODEL", "--quantize", "nosuch"], ["convert", "MODEL", "--engine", "nosuch"],
    ["convert", "MODEL", "--tolerance", "nosuch=1"], ["convert", "MODEL", "--format", "nosuch"],
    ["eval", "MODEL", "--data", "x.npy", "--metric", "nosuch"],
], ids=" ".join)
def test_a_plugin_that_failed_is_named(asked: list[str], examples: Path, cli: Cli) -> None:
    model = str(examples / "digits" / "digits_float.onnx")
    broken = EntryPoint("broken", "made_for_tests_and_not_there", "transload")
    vars(broken).update(dist=Distribution("acme-chips", "1.2"))
    said = told(cli, broken, *(model if word == "MODEL" else word for word in asked))
    assert "nosuch" in said and "not all plugins are in order: plugin 'broken'" in said


def test_a_plugin_whose_commands_fail_is_named(cli: Cli) -> None:
    def register_commands(register: Callable[..., None]) -> None:
        raise ValueError("no licence")

    said = told(cli, point("broken", register_commands=hookimpl(register_commands)), "nosuch")
    assert "no command is called 'nosuch'" in said and "no licence" in said and "plugin 'broken'" in said
    assert "did you mean 'convert'" in told(cli, point("whole"), "convrt")


@pytest.mark.parametrize("ask", [
    lambda: host().facts("nosuch"), lambda: Builder(Block()).emit("nosuch.op"),
    lambda: Builder(Block()).constant(np.float32(1), dialect="nosuch"),
], ids=["fact", "op", "constant"])
def test_calls_name_it_too(ask: Callable[[], object]) -> None:
    broken = EntryPoint("broken", "made_for_tests_and_not_there", "transload")
    with Context(Host([*entry_points(group="transload"), broken])).bind(), pytest.raises(TransloadError) as refused:
        ask()
    assert "nosuch" in (said := str(refused.value)) and "not all plugins are in order: plugin 'broken'" in said
