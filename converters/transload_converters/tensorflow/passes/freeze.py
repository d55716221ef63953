"""Variables: those that the model only reads are constants; those that it changes are inputs and outputs of it, a state.

Run after calls are inlined, so that whoever reads or assigns a variable uses the result of its op, or an Identity of that. A
state begins with what the checkpoint holds; the caller hands on what a run gives to the next (`Module.states`).
"""

from __future__ import annotations

import numpy as np

from transload.errors import Finding, PassError, merge_findings
from transload.ir import Dense, Module, Op, TensorType, Type, Value, add_state

from ..types import is_reference, tensor_of

__all__ = ["NOT_FOLLOWED", "NO_VALUE", "freeze"]

NO_VALUE = "has no value: nothing in the model says which tensor of a checkpoint it has, or there is no checkpoint"
"""What is said of a variable that is read and of which only the shape is known."""

NOT_FOLLOWED = (
    "uses a variable in a way that is not followed",
    "assign the whole of it: for one of its parts `v.assign(tf.tensor_scatter_nd_update(v, places, parts))`")
"""What is said of an op of which it is not known what it does to a variable, and what helps."""

_VARIABLES = frozenset({"tf.VarHandleOp", "tf.VariableV2", "tf.Variable"})
_ASSIGNS = {
    "tf.AssignVariableOp": "", "tf.AssignAddVariableOp": "tf.AddV2", "tf.AssignSubVariableOp": "tf.Sub",
    "tf.Assign": "", "tf.AssignAdd": "tf.AddV2", "tf.AssignSub": "tf.Sub"}
"""Ops that assign a variable, and what they compute of its value and their operand; nothing: the operand."""
_SCATTERS = {f"tf.ResourceScatterNd{word}": f"tf.TensorScatter{word}" for word in ("Update", "Add", "Sub", "Max", "Min")}
"""Ops that write numbers at places of a variable, and the ops that make a tensor of those of another by the same."""
_ALIASES = frozenset({"tf.Identity", "tf.Cast"})
"""Ops whose result is the variable that they are given: its type may say less, or more, of what it holds."""
_ASKS = frozenset({"tf.VarIsInitializedOp", "tf.IsVariableInitialized"})
_WITHOUT_RESULT = frozenset({"tf.DisableCopyOnRead", "tf.DestroyResourceOp"})


def freeze(module: Module) -> bool:
    """Leave no variables. Raises `PassError` for those without a value, and for uses that are no reading and no assigning."""
    variables = [op for op in module.main.walk() if op.name in _VARIABLES]
    findings: list[Finding] = []
    for handles in _by_name(variables):
        _Variable(module, handles, findings).freeze()
    if findings:
        raise PassError("variables cannot be frozen", merge_findings(findings))
    return bool(variables)


def _by_name(variables: list[Op]) -> list[list[Op]]:
    """The ops that are one variable: handles of one name."""
    found: dict[object, list[Op]] = {}
    for op in variables:
        name = op.attributes.get("shared_name")
        key = (op.attributes.get("container", ""), name) if op.name == "tf.VarHandleOp" and name else op
        found.setdefault(key, []).append(op)
    return list(found.values())


class _Variable:
    """One variable while its uses are replaced, in program order: `current` is its value there, None before it has one."""

    def __init__(self, module: Module, handles: list[Op], findings: list[Finding]) -> None:
        self.module, self.handles, self.findings = module, handles, findings
        self.name = str(handles[0].attributes.get("shared_name") or handles[0].origin or "variable")
        self.value = next((op.attributes["value"] for op in handles if isinstance(op.attributes.get("value"), Dense)), None)
        self.current: Value | None = None
        self.place: int | None = None

    def freeze(self) -> None:
        """Replace the uses, and erase the variable."""
        known, aliases = {op.result for op in self.handles}, list(self.handles)
        uses = []
        for op in self.module.main.walk():
            if known.isdisjoint(op.operands):
                continue
            if op.name in _ALIASES and not is_reference(op.operands[0].element):
                known.add(op.result)
                aliases.append(op)
            else:
                uses.append(op)
        self._begin(any(op.name in _ASSIGNS or op.name in _SCATTERS for op in uses))
        before = len(self.findings)
        for op in uses:
            self._use(op, known)
        if len(self.findings) > before:
            return
        if self.place is not None and self.current is not None:
            self.module.body_of_main.terminator.set_operand(self.place, self.current)
        for op in reversed(aliases):
            op.erase()

    def _begin(self, is_state: bool) -> None:
        if self.value is None:
            return
        if is_state:
            self.current, self.place = add_state(
                self.module, self.name, TensorType(self.value.shape, self.value.type.element), self.value)
        else:
            self.current = self._insert("tf.Const", [], self.value.type, {"value": self.value}, self.handles[0])

    def _insert(self, name: str, operands: list[Value], type_: Type, attributes: dict, before: Op) -> Value:
        op = Op(name, operands, [type_], attributes, (), before.location)
        assert before.parent is not None
        return before.parent.insert(op, before).result

    def _use(self, op: Op, known: set[Value]) -> None:
        if op.name in _WITHOUT_RESULT:
            op.erase()
        elif op.name in _ASSIGNS or op.name in _SCATTERS:
            self._assign(op)
        elif op.name in _ASKS:
            dense = Dense(np.array(self.current is not None))
            op.replace_with([self._insert("tf.Const", [], dense.type, {"value": dense}, op)])
        elif self.current is None:
            self._refuse(op, NO_VALUE, "keep the checkpoint beside the graph, or freeze the graph")
        elif op.name == "tf.ReadVariableOp":
            op.replace_with([self.current])
        elif op.name == "tf.VariableShape":
            op.replace_with([self._insert("tf.Shape", [self.current], op.result.type, {}, op)])
        elif op.name == "tf.ResourceGather":
            axis = self._insert("tf.Const", [], tensor_of(Dense(np.int32(0)).type.element, ()), {"value": Dense(np.int32(0))}, op)
            kept = {key: op.attributes[key] for key in ("batch_dims",) if key in op.attributes}
            op.replace_with([self._insert("tf.GatherV2", [self.current, op.operands[1], axis], op.result.type, kept, op)])
        elif all(is_reference(value.element) for value in op.operands if value in known):
            op.operands = tuple(self.current if value in known else value for value in op.operands)
        else:
            self._refuse(op, *NOT_FOLLOWED)

    def _assign(self, op: Op) -> None:
        if op.parent is not self.module.body_of_main:
            self._refuse(op, "assigns a variable inside a branch or loop", "have the loop hand on the value as its state")
            return
        value, computes = op.operands[1], _ASSIGNS.get(op.name) or _SCATTERS.get(op.name, "")
        if computes and self.current is None:
            self._refuse(op, "changes a variable that has no value yet", "")
            return
        if computes and self.current is not None:
            type_ = self.current.type if op.name in _SCATTERS else value.type
            kept = {key: op.attributes[key] for key in ("bad_indices_policy",) if key in op.attributes}
            value = self._insert(computes, [self.current, *op.operands[1:]], type_, kept, op)
        self.current = value
        op.replace_with([value] * len(op.results))

    def _refuse(self, op: Op, why: str, hint: str) -> None:
        self.findings.append(Finding(op.name, why, (self.name,), hint))
