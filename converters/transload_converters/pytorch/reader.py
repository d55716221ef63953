"""Reading `.pt2` files, the programs that `torch.export.save` writes: one call of an operator, one op of dialect `aten`.

Nothing of PyTorch is needed: the archive is a zip file of JSON and plain bytes. Weights are views of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transload.errors import ReadError, UsageError
from transload.ir import NONE, Module, Op, TensorType, Value, new_module, set_results
from transload.ir.verify import check
from transload.plugin import Source

from .archive import Archive
from .importer import Importer, Scope, value_names
from .program import Program, Ref, Spec, read_program
from .symbols import Symbols
from .tensors import tensor_of

__all__ = ["detect", "output_names", "read", "settled"]

_HELD = {"parameter": "parameter", "buffer": "buffer", "tensor_constant": "constant"}
_MUTATIONS = {"buffer_mutation", "parameter_mutation", "user_input_mutation"}


def detect(head: bytes, path: Path) -> bool:
    """Whether a file is such an archive, where its name does not say so."""
    from transload.files import archive_names

    names = {name.rpartition("/")[2] for name in archive_names(path)} if head.startswith(b"PK") else set()
    return "archive_format" in names or "serialized_exported_program.json" in names


def read(source: Source, inputs: Mapping[str, TensorType] | None = None) -> Module:
    """Import a program. `inputs` gives shapes of inputs that the program leaves open.

    Raises `ReadError` for anything that is wrong with the file, `UsageError` where `inputs` does not fit it.
    """
    archive = Archive(source)
    program = read_program(archive)
    symbols = settled(program, {name: type_.shape for name, type_ in (inputs or {}).items() if type_.shape is not None},
                      archive.where)
    importer = Importer(archive.where, symbols)
    scope = Scope(program.graph)
    given = [spec for spec in program.inputs if spec.kind == "user_input" and isinstance(spec.value, Ref)]
    names = [spec.value.name for spec in given]
    types = [importer.type_of(scope, name) for name in names]
    _check_elements(dict(zip(names, types, strict=True)), inputs or {}, archive.where)
    scope.names = value_names(program.graph, names)
    module = new_module()
    main = module.add_function("main", types, names)
    block = main.regions[0].block
    for name, argument in zip(names, block.arguments, strict=True):
        importer.define(name, argument, scope)
    held = _constants(program, archive, importer, scope, block)
    importer.nodes(block, scope)
    _write_back(program, importer, scope, block, held)
    specs = [spec for spec in program.outputs if spec.kind in ("user_output", "loss_output")]
    results = [importer.use(spec.value, block, scope, "the program") for spec in specs
               if spec.value is not None and not isinstance(spec.value, str)]
    importer.finish()
    set_results(main, results, output_names(program)[: len(results)])
    module.notes = symbols.notes
    findings = check(module, inferred=False)
    if findings:
        raise ReadError(f"{archive.where}: the program's operators are not as PyTorch declares them", findings)
    return module


def settled(program: Program, given: Mapping[str, Any], where: str) -> Symbols:
    """The sizes that a program leaves open, by the shapes that are given for its inputs."""
    symbols = Symbols(where, program.ranges)
    declared: dict[str, Any] = {}
    for spec in program.inputs:
        if spec.kind == "user_input" and isinstance(spec.value, Ref):
            meta = program.graph.tensors.get(spec.value.name)
            if meta is None:
                raise ReadError(f"{where}: input {spec.value.name!r} has no type")
            declared[spec.value.name] = meta.sizes
        elif spec.kind in ("custom_obj", "token") or (spec.kind == "user_input" and spec.value is not None
                                                      and not isinstance(spec.value, int | float | str)):
            raise ReadError(f"{where}: has an input that is no tensor ({spec.kind})", hint="export the network for tensors alone")
    symbols.settle(declared, given)
    return symbols


def output_names(program: Program) -> list[str]:
    """The names of a program's outputs: the keys where it gives a dictionary, else those of the nodes."""
    specs = [spec for spec in program.outputs if spec.kind in ("user_output", "loss_output")]
    keys = program.output_names if len(program.output_names) == len(specs) else [None] * len(specs)
    names: list[str] = []
    for place, (spec, key) in enumerate(zip(specs, keys, strict=True)):
        name = key or (spec.value.name if isinstance(spec.value, Ref) else f"output{place}")
        names.append(name if name not in names else f"{name}_{place}")
    return [name for name, spec in zip(names, specs, strict=True) if spec.value is not None and not isinstance(spec.value, str)]


def _check_elements(types: Mapping[str, Any], inputs: Mapping[str, TensorType], where: str) -> None:
    for name, type_ in inputs.items():
        own = types.get(name)
        if own is not None and type_.element not in (NONE, own.element):
            raise UsageError(f"{where}: input {name!r} has elements {own.element}, not {type_.element}")


def _constants(program: Program, archive: Archive, importer: Importer, scope: Scope, block: Any) -> dict[str, Value]:
    """Constants for the weights and buffers that the graph is given; by their names in the network."""
    held: dict[str, Value] = {}
    for spec in program.inputs:
        kind = _HELD.get(spec.kind)
        if kind is None:
            continue
        if spec.target in held:
            importer.define(spec.value.name, held[spec.target], scope)
            continue
        payload = program.payloads.get(spec.target)
        if payload is None:
            importer.problem(f"the {kind}", "is not in the archive", spec.target)
            continue
        dense = tensor_of(archive, payload, spec.target)
        op = block.append(Op("aten.Constant", (), (dense.type,), {"value": dense, "kind": kind}, (), spec.target))
        held[spec.target] = op.results[0]
        importer.define(spec.value.name, op.results[0], scope)
    return held


def _write_back(program: Program, importer: Importer, scope: Scope, block: Any, held: Mapping[str, Value]) -> None:
    """What the program says that it writes into buffers and inputs, as copies at its end."""
    for spec in program.outputs:
        if spec.kind not in _MUTATIONS:
            continue
        value = importer.use(spec.value, block, scope, "the program")
        target = _target(spec, held, scope)
        if target is None:
            importer.problem("the program", "writes to a tensor that is not there", spec.target)
        else:
            block.append(Op("aten.copy_.default", (target, value), (target.type,), {}, (), f"{spec.target}/written"))


def _target(spec: Spec, held: Mapping[str, Value], scope: Scope) -> Value | None:
    return scope.find(spec.target) if spec.kind == "user_input_mutation" else held.get(spec.target)
