"""coremltools, as it runs in a process of its own: programs built call by call, and written as packages.

Source: https://apple.github.io/coremltools (`coremltools.converters.mil`: `Builder`, `Function`, `Program`; `convert`).
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["build", "loaded"]


class _Refused(Exception):
    """A call that cannot be, and why."""


def build(
    inputs: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]], outputs: Sequence[dict[str, Any]], precision: str,
    build: bool = True,
) -> dict[str, Any]:
    """The package's files by path, or the places of the calls that are refused, each with the reason.

    What a refused call would have given is missing, and what depends on it is not looked at.
    """
    logging.disable(logging.CRITICAL)
    import coremltools
    from coremltools.converters.mil.mil import Builder, Function, Program, types

    kinds = {"fp32": types.fp32, "fp16": types.fp16, "int32": types.int32}
    target = coremltools.target.iOS17
    placeholders = {each["name"]: Builder.placeholder(each["shape"], kinds[each["type"]]) for each in inputs}
    refused: list[list[Any]] = []
    with Function(placeholders, opset_version=target) as function:
        wires: dict[int, Any] = {each["wire"]: function.inputs[each["name"]] for each in inputs}
        for index, call in enumerate(calls):
            try:
                _called(Builder, types, call, wires)
            except _Refused as error:
                refused.append([index, str(error)])
            except KeyError:
                continue  # it follows from another
            except Exception as error:  # ValueError, TypeError, AssertionError: what it says is what is known
                refused.append([index, _words(error)])
        if refused or not build:
            return {"refused": refused, "files": {}}
        results = [Builder.identity(x=wires[each["wire"]], name=each["name"]) for each in outputs]
        function.set_outputs(results)
    program = Program()
    program.add_function("main", function)
    wanted = coremltools.precision.FLOAT16 if precision == "float16" else coremltools.precision.FLOAT32
    try:
        made = coremltools.convert(
            program, convert_to="mlprogram", compute_precision=wanted, minimum_deployment_target=target, skip_model_load=True)
    except Exception as error:  # its passes raise what they raise, of programs whose calls it took
        return {"refused": [[len(calls), _words(error)]], "files": {}}
    package = Path("model.mlpackage")  # in this process's own folder
    shutil.rmtree(package, ignore_errors=True)
    made.save(str(package))
    _drop_what_is_not_there(package)
    return {"refused": [], "files": {
        str(file.relative_to(package)): file.read_bytes() for file in sorted(package.rglob("*")) if file.is_file()}}


def _words(error: Exception) -> str:
    """What coremltools says, in one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def _drop_what_is_not_there(package: Path) -> None:
    """A program without weights leaves an empty folder for them, which no list of files keeps: the package says so."""
    manifest = package / "Manifest.json"
    said = json.loads(manifest.read_text(encoding="utf-8"))
    entries = said["itemInfoEntries"]
    said["itemInfoEntries"] = {key: each for key, each in entries.items() if any(
        file.is_file() for file in [package / "Data" / each["path"], *(package / "Data" / each["path"]).rglob("*")])}
    manifest.write_text(json.dumps(said, indent=4), encoding="utf-8")


def _called(builder: Any, types: Any, call: dict[str, Any], wires: dict[int, Any]) -> None:
    arguments = {name: _given(builder, value, wires) for name, value in call["arguments"].items()}
    if not call["operation"]:  # what was computed is to be of this shape and type
        _compare(types, arguments["x"], call["shape"], call["type"])
        return
    made = getattr(builder, call["operation"])(**arguments)
    results = list(made) if isinstance(made, list | tuple) else [made]
    if len(results) != len(call["results"]):
        raise _Refused(f"{call['operation']} gives {len(results)} results, and {len(call['results'])} are wanted")
    wires.update(zip(call["results"], results, strict=True))


def _compare(types: Any, variable: Any, shape: list[int], kind: str) -> None:
    found = types.builtin_to_string(variable.dtype)
    if list(variable.shape) != shape or found != kind:
        raise _Refused(f"it would be {found} of shape {list(variable.shape)}, and has to be {kind} of shape {shape}")


def _given(builder: Any, value: Any, wires: dict[int, Any]) -> Any:
    if isinstance(value, dict):
        return wires[value["wire"]]
    if isinstance(value, list) and any(isinstance(each, dict | np.ndarray) for each in value):
        return [builder.const(val=each) if isinstance(each, np.ndarray) else _given(builder, each, wires) for each in value]
    return value


def loaded(path: str) -> dict[str, Any]:
    """The operations of a package's program by how often they are there, and the names of its inputs and outputs."""
    from collections import Counter

    import coremltools
    from coremltools.converters.mil.frontend.milproto import load

    spec = coremltools.models.utils.load_spec(path)
    program = load.load(spec, specification_version=spec.specificationVersion, file_weights_dir=str(Path(path) / "Data" /
                        "com.apple.CoreML" / "weights"))
    main = program.functions["main"]
    return {"operations": dict(Counter(op.op_type for op in main.operations)), "inputs": list(main.inputs),
            "outputs": [each.name for each in main.outputs]}
