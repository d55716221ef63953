"""Weights that lie in globals (`util.global` of IREE, `ml_program.global` of TensorFlow and PyTorch): loads become constants."""

from __future__ import annotations

from typing import Any

from transload.errors import Finding, ReadError
from transload.ir.constants import Dense
from transload.ir.core import Op

__all__ = ["load_globals"]

_GLOBALS = {"util.global", "ml_program.global"}
_LOADS = {"util.global.load", "util.global.load.indirect", "ml_program.global_load", "ml_program.global_load_const"}
_STORES = {"util.global.store", "util.global.store.indirect", "ml_program.global_store"}
_ADDRESS = "util.global.address"


def load_globals(foreign: list[Op], name: str) -> None:
    """Put constants in place of loads; `ReadError` for globals that are written, or whose values the file does not hold."""
    globals_ = {op.attributes.get("sym_name"): op for op in foreign if op.name in _GLOBALS}
    if not globals_:
        return
    addresses: dict[Any, Any] = {}
    findings = []
    for op in foreign:
        if op.name == _ADDRESS:
            addresses[op.results[0]] = op.attributes.get("global")
    stored = {_target(op, addresses) for op in foreign if op.name in _STORES}
    for symbol in stored & set(globals_):
        findings.append(Finding("global", f"@{symbol} is written by the program: it is state, not a constant", (str(symbol),),
                                "export the model with its state as inputs and outputs"))
    for op in foreign:
        if op.name not in _LOADS:
            continue
        symbol = _target(op, addresses)
        if symbol in stored:
            continue
        value = _value_of(globals_.get(symbol))
        if not isinstance(value, Dense) or value.type != op.results[0].type:
            findings.append(Finding(op.name, f"the file holds no value of @{symbol}", (str(symbol),)))
            continue
        op.operands = ()
        op.name, op.attributes = "stablehlo.constant", {"value": value}
        op.location = op.location or str(symbol)
    if findings:
        raise ReadError(f"{name}: its globals cannot be read", findings)
    for op in foreign:
        if op.name == _ADDRESS and not op.results[0].uses:
            op.erase()
    for op in globals_.values():
        op.erase()


def _value_of(op: Op | None) -> Any:
    if op is None:
        return None
    return op.attributes.get("initial_value", op.attributes.get("value"))


def _target(op: Op, addresses: dict[Any, Any]) -> Any:
    """The name of the global that a load or store means."""
    if "global" in op.attributes:
        return op.attributes["global"]
    return next((addresses[value] for value in op.operands if value in addresses), None)
