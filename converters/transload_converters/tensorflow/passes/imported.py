"""What modules of TensorFlow's own tools have that its files have not, put as the reader of files puts it.

Variables of a SavedModel are arguments bound to a `tf_saved_model.global_tensor`, parts of a program that are for a device are
regions of `tf_device.cluster` or `tf_device.launch`, and numbers may be no tensors.
"""

from __future__ import annotations

from transload.ir import Dense, FloatType, IntegerType, Module, Op, Symbol, TensorType, Value, update_function_type
from transload.ir.regions import blocks_in, splice_region

__all__ = ["as_imported"]

_BOUND = "tf_saved_model.bound_input"
_IN_PLACE = frozenset({"tf_device.cluster", "tf_device.launch"})


def as_imported(module: Module) -> bool:
    """Make handles of variables of bound arguments, tensors of numbers, and leave no regions that run where they stand."""
    changed = _bind(module)
    for op in [op for op in module.walk() if op.name in _IN_PLACE]:
        results = splice_region(op.regions[0], op)
        op.replace_with(list(results))
        changed = True
    return _make_tensors(module) or changed


def _bind(module: Module) -> bool:
    """A `tf.VarHandleOp` with the tensor's value in the place of each argument that is bound to a tensor."""
    tensors = {op.attributes.get("sym_name"): op for op in module.body if op.name == "tf_saved_model.global_tensor"}
    changed = False
    for function in module.functions.values():
        attributes = function.attributes.get("arg_attrs") or []
        bound = [(i, str(each[_BOUND])) for i, each in enumerate(attributes) if isinstance(each.get(_BOUND), Symbol)]
        bound = [(i, name) for i, name in bound if isinstance(tensors.get(name, function).attributes.get("value"), Dense)]
        block = function.regions[0].blocks[0] if function.regions[0].blocks else None
        if not bound or block is None:
            continue
        for i, name in bound:
            argument = block.arguments[i]
            handle = Op("tf.VarHandleOp", (), [argument.type], {"shared_name": name, "value": tensors[name].attributes["value"]})
            block.insert(handle, block.first)
            argument.replace_all_uses_with(handle.result)
        for i, _ in reversed(bound):
            block.erase_argument(i)
        gone = {i for i, _ in bound}
        function.attributes["arg_attrs"] = [each for i, each in enumerate(attributes) if i not in gone]
        update_function_type(function)
        changed = True
    for op in [op for op in module.body if op.name.startswith("tf_saved_model.")]:
        op.erase()
        changed = True
    return changed


def _make_tensors(module: Module) -> bool:
    """Give numbers the type of a tensor of rank 0."""
    changed = False
    for block in blocks_in(module):
        for value in [*block.arguments, *(result for op in block for result in op.results)]:
            changed |= _make_tensor(value)
    if changed:
        for function in module.functions.values():
            if function.regions[0].blocks:
                update_function_type(function)
    return changed


def _make_tensor(value: Value) -> bool:
    if not isinstance(value.type, IntegerType | FloatType):
        return False
    value.type = TensorType((), value.type)
    return True
