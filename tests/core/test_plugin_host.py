"""The plugin host: isolation, typos, narrowing, doubles."""

from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint, entry_points

import pytest

from transload import hookspecs
from transload.errors import UsageError
from transload.hookspecs import hookimpl
from transload.plugin import DialectSpec, Engine, Metric, Runtime, Target
from transload.plugin_host import Host


def point(name: str, body: dict[str, object]) -> EntryPoint:
    """An entry point to a module made for the test."""
    module = types.ModuleType(f"made_for_test_{name.replace('-', '_')}")
    for key, value in body.items():
        setattr(module, key, value)
    sys.modules[module.__name__] = module
    return EntryPoint(name, module.__name__, "transload")


def metric_plugin(metric_name: str) -> dict[str, object]:
    @hookimpl
    def register_metrics(register):
        register(Metric(metric_name, lambda a, b: 0.0))

    return {"register_metrics": register_metrics}


def test_a_plugin_that_does_not_import_is_reported_and_the_rest_loads():
    broken = EntryPoint("broken", "transload_no_such_module", "transload")
    host = Host([broken, point("good", metric_plugin("mine"))], only="")
    assert "mine" in host.metrics
    assert "cos" in host.metrics
    (info,) = [info for info in host.plugins if info.name == "broken"]
    assert "transload_no_such_module" in info.error


def test_a_hook_that_raises_is_reported_and_the_rest_registers():
    @hookimpl
    def register_metrics(register):
        raise RuntimeError("half way")

    host = Host([point("raises", {"register_metrics": register_metrics}), point("zgood", metric_plugin("mine"))], only="")
    assert "mine" in host.metrics
    (info,) = [info for info in host.plugins if info.name == "raises"]
    assert "half way" in info.error


def test_a_misspelt_hook_is_an_error_with_the_right_name():
    @hookimpl
    def register_metricks(register):
        pass

    host = Host([point("typo", {"register_metricks": register_metricks})], only="")
    (info,) = [info for info in host.plugins if info.name == "typo"]
    assert "register_metricks" in info.error
    assert "register_metrics" in info.error


def test_a_hook_with_a_wrong_signature_is_an_error():
    @hookimpl
    def register_metrics(register, more):
        pass

    host = Host([point("signature", {"register_metrics": register_metrics})], only="")
    (info,) = [info for info in host.plugins if info.name == "signature"]
    assert info.error


@pytest.mark.parametrize(("only", "loaded"), [("a", {"a"}), ("-a", {"b"}), ("", {"a", "b"})])
def test_the_environment_narrows_what_loads(only, loaded):
    host = Host([point("a", metric_plugin("a")), point("b", metric_plugin("b"))], only=only)
    assert {"a", "b"} & set(host.metrics) == loaded
    assert {info.name for info in host.plugins if info.skipped} == {"a", "b"} - loaded


def test_narrowing_to_what_is_not_there_is_a_usage_error():
    with pytest.raises(UsageError, match="nosuch"):
        Host([], only="nosuch")


def test_a_name_registered_twice_keeps_the_first_and_says_so():
    host = Host([point("first", metric_plugin("same")), point("second", metric_plugin("same"))], only="")
    assert "same" in host.metrics
    (info,) = [info for info in host.plugins if info.name == "second"]
    assert "twice" in info.error


@pytest.mark.parametrize("group", ["transload", "transload.foundation"])
def test_nobody_takes_the_place_of_what_is_ours(group: str) -> None:
    """The entry points of others may sort before all of ours."""
    class Junk(Target):
        name, doc, accepts = "tosa", "", ("top",)

        def emit(self, module: object, directory: object, stem: str, options: object) -> object: ...

    def give(*items: object) -> object:
        return hookimpl(lambda register: [register(item) for item in items] and None)

    body = {
        "register_targets": give(Junk()), "register_metrics": give(Metric("cos", lambda a, b: 1.0)),
        "register_engines": give(Engine("reference", lambda module, function: None)),
        "register_runtimes": give(Runtime("onnxruntime", "onnx", str, str), Runtime("ab", "onnx", str, str)),
        "register_dialects": give(DialectSpec("top", lambda: None)),
    }
    made = point("a-chip", body)
    host = Host([EntryPoint(made.name, made.value, group), *entry_points(group="transload")], only="")
    assert all(host.owner(kind, name).is_ours for kind, name in (
        ("targets", "tosa"), ("metrics", "cos"), ("engines", "reference"), ("runtimes", "onnxruntime"), ("dialects", "top")))
    assert [each for each, runtime in host.runtimes.items() if runtime.format == "onnx"][-1] == "ab", "it is asked last"
    host.everything()
    wrong = {info.name: info.errors for info in host.plugins if info.errors}
    assert set(wrong) == {"a-chip"} and len(wrong["a-chip"]) == 5, wrong
    assert any("target 'tosa' is registered twice by plugin 'tosa-target'" in why for why in wrong["a-chip"])


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UsageError) as caught:
        Host([], only="").get("passes", "canonicalise")
    assert "canonicalize" in str(caught.value)


def test_every_hook_is_documented_and_every_hook_has_a_collection():
    hooks = [name for name in dir(hookspecs) if name.startswith("register_")]
    for name in hooks:
        assert (getattr(hookspecs, name).__doc__ or "").startswith("Register "), name
        assert hasattr(Host, name.removeprefix("register_")), name


def test_hooks_are_in_the_documentation(root):
    page = (root / "docs" / "plugins.md").read_text(encoding="utf-8")
    for name in dir(hookspecs):
        if name.startswith("register_"):
            assert f"`{name}`" in page, f"docs/plugins.md does not name {name}"


def test_a_dialect_loads_when_it_is_first_needed():
    loaded = []

    @hookimpl
    def register_dialects(register):
        register(DialectSpec("lazy", lambda: loaded.append(1)))

    host = Host([point("lazy", {"register_dialects": register_dialects})], only="")
    assert "lazy" in host.dialects
    assert not loaded
