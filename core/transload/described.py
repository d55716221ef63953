"""What the report of a conversion says of the module that a target takes."""

from __future__ import annotations

from collections.abc import Mapping

from .contents import constant_bytes, op_counts
from .engine.memory import peak_bytes
from .ir import Module, State, Type
from .meanings import quantized_at_once, quantized_element, with_meanings
from .report import Report, StateReport, TensorReport

__all__ = ["describe"]


def describe(module: Module, report: Report, meant: Module) -> None:
    """Enter into the report what can be said of a module as the target takes it; `meant` says what its integers stand for."""
    report.inputs = _interface(module.inputs, meant.inputs)
    taken = quantized_at_once(meant.main)
    for each in report.inputs:
        each.taken_as = str(taken[each.name]) if each.name in taken else None
    report.outputs = _interface(module.outputs, meant.outputs)
    report.notes = list(module.notes)
    report.states = [_state(state) for state in module.states]
    report.ops_out = op_counts(module)
    report.constant_bytes = constant_bytes(module)
    report.peak_value_bytes = peak_bytes(module.body_of_main)


def _interface(types: Mapping[str, Type], meant: Mapping[str, Type]) -> list[TensorReport]:
    """What a module takes or gives, as its user sees it: `tensor<1x4xui8>` where the artifact holds the bytes in an `i8`."""
    known = {name: element for name, type_ in {**types, **meant}.items() if (element := quantized_element(type_)) is not None}
    stands = {name: quantized_element(type_) for name, type_ in with_meanings(types, known).items()}
    return [TensorReport(name, str(type_), None if stands[name] is None else str(stands[name])) for name, type_ in types.items()]


def _state(state: State) -> StateReport:
    initial = state.initial.numpy()
    same = initial.size and (initial == initial.flat[0]).all()
    return StateReport(state.input, state.output, initial.flat[0].item() if same else initial.tolist())
