"""Where the tool starts programs, imports by a computed name, or reads what may hold code: a table with the reason of each.

What a file holds is data. A new place that could run it is no accident then: it stands here with what keeps a file out of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_NAMES = {"eval", "exec", "compile", "__import__", "import_module", "module_from_spec"}
_MODULES = {"subprocess", "pickle", "marshal", "runpy", "multiprocessing", "shelve", "webbrowser", "pty", "dill", "joblib"}
_CALLS = {
    "os.system", "os.popen", "os.fork", "os.posix_spawn", "os.execv", "os.execve", "os.execvp", "os.spawnv",
    "importlib.import_module", "yaml.load", "torch.load", "ctypes.CDLL", "ctypes.string_at"}
_METHODS = {"exec_module", "load_module", "extractall", "sympify", "parse_expr", "load_library"}
_OPTIONS = {"shell", "allow_pickle", "safe_mode", "weights_only", "preexec_fn", "enable_unsafe_deserialization"}

KNOWN = {
    "converters/transload_converters/onnx/inference.py": (
        "the extension of the installed package onnx", "exec_module", "module_from_spec"),
    "converters/transload_converters/onnx/reader.py": ("onnx's own modules, by names in the source", "import_module"),
    "converters/transload_converters/onnx/session.py": ("a buffer of onnxruntime's", "ctypes.string_at"),
    "converters/transload_converters/pytorch/session.py": ("torch's declarations, by a name in the source", "import_module"),
    "converters/transload_converters/stablehlo/bindings.py": ("jaxlib's modules, by names in the source", "import_module"),
    "converters/transload_converters/tensorflow/keras/session.py": ("safe, of layers that are known alone", "safe_mode=True"),
    "core/transload/__init__.py": ("the package's own modules", "importlib.import_module"),
    "core/transload/arrays.py": ("none is unpickled", "allow_pickle=False"),
    "core/transload/blas.py": ("libraries that the process has loaded", "ctypes.CDLL"),
    "core/transload/child.py": ("isolated Python", "subprocess.Popen"),
    "core/transload/context.py": ("a plugin's module", "import_module"),
    "core/transload/exchange.py": ("the C library", "ctypes.CDLL"),
    "core/transload/guard.py": ("a plugin's module", "importlib.import_module"),
    "core/transload/samples/sources.py": (
        "a module that the user names by --data", "exec_module", "importlib.import_module"),
    "core/transload/text/resources.py": ("none is unpickled", "allow_pickle=False"),
    "core/transload/worker.py": ("modules that the worker's owner names", "import_module"),
    "plugins/transload_plugins/view/serving.py": ("an address of this machine", "webbrowser.open"),
    "targets/transload_targets/ethosu/compiler.py": ("isolated Python with Vela", "subprocess.run"),
    "targets/transload_targets/sophgo/environment.py": ("the program that the user names", "subprocess.run"),
}
"""By file: what keeps the content of models out of it, and the calls."""


def _doors(tree: ast.AST) -> Iterator[str]:
    """The calls of a file that start, import or could unpickle something."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func)
        module, _, method = name.rpartition(".")
        if name in _NAMES | _CALLS or module in _MODULES:
            yield name
        elif method in _METHODS:
            yield method
        for option in call.keywords:
            if option.arg in _OPTIONS:
                yield f"{option.arg}={ast.unparse(option.value)}"


@pytest.fixture(scope="module")
def found(root: Path) -> dict[str, set[str]]:
    held = {}
    for folder in ("core", "converters", "plugins", "targets"):
        for file in sorted((root / folder).rglob("*.py")):
            if doors := set(_doors(ast.parse(file.read_text()))):
                held[file.relative_to(root).as_posix()] = doors
    return held


def test_each_place_that_could_run_code_is_known(found: dict[str, set[str]]) -> None:
    known = {file: set(calls) for file, (_, *calls) in KNOWN.items()}
    assert {file: sorted(calls - known.get(file, set())) for file, calls in found.items() if calls - known.get(file, set())} == {}
    assert {file: sorted(calls - found.get(file, set())) for file, calls in known.items() if calls - found.get(file, set())} == {}


def test_it_sees_what_it_looks_for() -> None:
    text = "import pickle\npickle.loads(x)\neval(y)\narchive.extractall(z)\nnumpy.load(f, allow_pickle=True)\nre.compile(p)\n"
    assert set(_doors(ast.parse(text))) == {"pickle.loads", "eval", "extractall", "allow_pickle=True"}
