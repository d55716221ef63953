"""The third party's package: installed with pip into a fresh virtual environment and used through the CLI."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from ..support.installed import install, run_tests


@pytest.fixture(scope="module")
def environment(tmp_path_factory, examples, root):
    """A fresh environment with Transload and the package installed."""
    directory = tmp_path_factory.mktemp("acme")
    return directory, install(directory, root, examples / "acme")


def transload(environment, *arguments, code=0):
    directory, python = environment
    ran = subprocess.run(
        [python, "-m", "transload", *map(str, arguments)],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=300,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def make_model(environment, name, *flags):
    directory, python = environment
    subprocess.run([python, "-m", "transload_acme.make_model", name, *flags], cwd=directory, check=True, timeout=120)
    return name


def test_the_plugin_is_listed(environment):
    plugins = {plugin["name"]: plugin for plugin in json.loads(transload(environment, "plugins", "--json"))}
    assert plugins["acme"]["distribution"] == "transload-acme"
    assert plugins["acme"]["error"] is None
    assert plugins["acme"]["registered"]["targets"] == ["acme-npu"]
    assert all(plugin["error"] is None for plugin in plugins.values())


def test_its_op_reaches_tosa(environment):
    model = make_model(environment, "float.tflite")
    transload(environment, "convert", model, "--target", "tosa", "-o", "tosa")
    assert (environment[0] / "tosa" / "float.tosa").stat().st_size > 0


def test_its_op_reaches_its_chip(environment):
    model = make_model(environment, "int8.tflite", "--int8")
    transload(environment, "convert", model, "--target", "acme-npu", "-o", "npu", "--option", "banks=2")
    program = json.loads((environment[0] / "npu" / "int8.acme.json").read_text())
    assert [step["op"] for step in program] == ["table", "halt"]


def test_its_chip_says_what_it_cannot_take(environment):
    model = make_model(environment, "refused.tflite")
    shown = transload(environment, "convert", model, "--target", "acme-npu", "-o", "refused", code=3)
    assert "the NPU computes with integers, not f32" in shown
    assert [file.name for file in (environment[0] / "refused").iterdir()] == ["report.json"]


def test_its_own_tests_pass(environment, examples):
    directory, python = environment
    ran = run_tests(python, directory, examples / "acme" / "tests")
    assert ran.returncode == 0, ran.stdout + ran.stderr
