"""Plugins made of their members, as entry points of distributions that nobody installed."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

from transload.context import Context
from transload.hookspecs import hookimpl
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.plugin_host import Host, PluginInfo

__all__ = ["Distribution", "Odd", "acme", "beside_ours", "info_of", "module_of", "point", "raising", "registering"]


class Distribution:
    """What `importlib.metadata` says of a distribution, as far as the host asks."""

    def __init__(self, name: str, version: str) -> None:
        self.name = name
        self.version = version


def point(name: str, distribution: str = "acme-chips", version: str = "1.2", **members: Any) -> EntryPoint:
    """An entry point of a distribution, to a module made of members."""
    module = types.ModuleType(f"made_for_tests_{distribution}_{name}".replace("-", "_"))
    for key, value in members.items():
        setattr(module, key, value)
    sys.modules[module.__name__] = module
    made = EntryPoint(name, module.__name__, "transload")
    vars(made).update(dist=Distribution(distribution, version))
    return made


def registering(**items: Any) -> dict[str, Any]:
    """Hooks that register these: `registering(passes=[Pass(...)])`."""

    def hook(kind: str, wanted: Any) -> Any:
        def register_them(register: Callable[[Any], None]) -> None:
            for item in wanted:
                register(item)

        register_them.__name__ = f"register_{kind}"
        return hookimpl(register_them)

    return {f"register_{kind}": hook(kind, wanted) for kind, wanted in items.items()}


def info_of(there: Host, name: str) -> PluginInfo:
    """What the host says of the plugin of this name."""
    (info,) = [info for info in there.plugins if info.name == name]
    return info


def acme(**items: Any) -> Host:
    """A host with one plugin, `acme`, that registers these, beside our own."""
    return Host([point("acme", **registering(**items))], only="")


_VECTOR = TensorType((2,), F32)


def module_of(name: str) -> Module:
    """A function of one op of this name, which takes and gives a vector of two floats."""
    module = new_module()
    function = module.add_function("main", [_VECTOR], ["x"])
    block = function.regions[0].block
    set_results(function, [Builder(block, location="here").create(name, block.arguments, [_VECTOR]).result], ["y"])
    return module


def beside_ours(**items: Any) -> Context:
    """A context whose host has all installed plugins, and `acme`, which registers these."""
    own = Host()
    own.register(type("Acme", (), {name: staticmethod(hook) for name, hook in registering(**items).items()}), "acme")
    return Context(own)


def raising(error: BaseException) -> Callable[..., Any]:
    """A function that raises it, whatever it is given."""

    def act(*arguments: Any, **named: Any) -> Any:
        raise error

    return act


class Odd:
    """Whatever is asked of it raises: what a plugin may give."""

    def __getattr__(self, name: str) -> Any:
        raise ValueError(name)

    def __bool__(self) -> bool:
        raise ValueError("bool")

    def __repr__(self) -> str:
        raise ValueError("repr")
