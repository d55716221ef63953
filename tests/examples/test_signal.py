"""The package whose ops take part everywhere: installed into a fresh environment, where its own tests pass."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..support.installed import install, run_tests


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, examples: Path, root: Path) -> Iterator[tuple[Path, Path]]:
    directory = tmp_path_factory.mktemp("signal")
    yield directory, install(directory, root, examples / "signal")


def test_its_own_tests_pass(environment: tuple[Path, Path], examples: Path):
    directory, python = environment
    ran = run_tests(python, directory, examples / "signal" / "tests")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_its_facts_are_listed(environment: tuple[Path, Path]):
    directory, python = environment
    ran = subprocess.run(
        [python, "-m", "transload", "plugins", "--json"], cwd=directory, capture_output=True, text=True, timeout=300)
    (signal,) = (plugin for plugin in json.loads(ran.stdout) if plugin["name"] == "signal")
    assert signal["error"] is None
    assert signal["registered"]["facts"] == [
        "canonicalization of signal", "layout of signal", "interval of signal", "integer-width of signal",
        "error-bound of signal", "moves of signal"]


WITHOUT = """
import sys
import numpy as np
import transload
from transload.ir import F32, I32, I64, TensorType
from transload.passes.canonicalize import canonicalize
from transload.passes.manager import Pipeline
from transload.testing.models import build_module
import transload_signal.plugin as plugin

real = plugin.register_facts
def register_facts(register):
    real(lambda facts: None if facts.kind == sys.argv[1] else register(facts))
register_facts.transload_impl = real.transload_impl
plugin.register_facts = register_facts

def conv(b, x):
    return b.emit("top.Conv", x, b.constant(np.ones((4, 4, 1, 1), np.float32)), kernel_shape=(1, 1), layout="NCHW")

turned = build_module([TensorType((1, 4, 5, 6), F32)], lambda b, x: conv(b, b.emit("signal.Delta", conv(b, x), axis=2)))
Pipeline.parse("layout{to=NHWC}").run(turned)
print("layout", sum(op.name == "top.Permute" for op in turned.ops()) == 2)

sums = build_module([TensorType((6,), I32)], lambda b, x: b.emit("signal.Delta", b.emit("top.CumSum", x, axis=0)))
print("canonicalization", canonicalize(sums))

def product(b, x):
    apart = b.emit("signal.Delta", b.emit("top.Clip", x, min=0.0, max=1000.0))
    return b.emit("top.Mul", apart, apart)

def low(b, x):
    return b.emit("top.Cast", b.emit("signal.Delta", b.emit("top.Mul", x, x)), element=I32)

for kind, build in (("interval", product), ("integer-width", low)):
    try:
        transload.lower(build_module([TensorType((8,), I64)], build), "tosa")
        print(kind, True)
    except transload.TransloadError:
        print(kind, False)
"""


@pytest.mark.parametrize("kind", ["layout", "canonicalization", "interval", "integer-width", "nothing"])
def test_each_registration_is_what_makes_it_take_part(kind: str, environment: tuple[Path, Path]):
    """Without it, that one thing is lost, and no other."""
    directory, python = environment
    ran = subprocess.run([python, "-c", WITHOUT, kind], cwd=directory, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    held = dict(line.split() for line in ran.stdout.splitlines())
    assert held == {each: str(each != kind) for each in ("layout", "canonicalization", "interval", "integer-width")}
