"""Write opdefs.json, what TensorFlow's registry says of its ops, of an installed tensorflow: `python opdefs_generator.py`.

One line an op: `{"inputs": ["x:T", ...], "outputs": [...], "attributes": {...}, "stateful": true}`. After the colon stands what
type an argument has: a type's name (`float`), an attribute that names a type (`T`), a list of types (`*Tout`), or a number of
arguments of one type (`N*T`); `&` behind it says that it is a reference. An attribute has its kind and, where it has such,
`default`, `allowed` values and the `minimum` of a number or of a list's length.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    """Write the file beside this one."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session as session

    ops = op_def_pb2.OpList.FromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
    lines = [f"{json.dumps(op.name)}: {json.dumps(_definition(op))}" for op in sorted(ops.op, key=lambda op: op.name)]
    Path(__file__).with_name("opdefs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _definition(op: Any) -> dict[str, Any]:
    """What is said of an op."""
    found: dict[str, Any] = {}
    for key, arguments in (("inputs", op.input_arg), ("outputs", op.output_arg)):
        if arguments:
            found[key] = [f"{argument.name}:{_argument_type(argument)}" for argument in arguments]
    if op.attr:
        found["attributes"] = {attribute.name: _attribute(attribute) for attribute in op.attr}
    if op.is_stateful:
        found["stateful"] = True
    return found


def _argument_type(argument: Any) -> str:
    if argument.type_list_attr:
        return f"*{argument.type_list_attr}"
    text = argument.type_attr or _type(argument.type)
    return (f"{argument.number_attr}*" if argument.number_attr else "") + text + ("&" if argument.is_ref else "")


def _attribute(attribute: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": attribute.type}
    if attribute.HasField("default_value"):
        found["default"] = _value(attribute.default_value)
    if attribute.HasField("allowed_values"):
        found["allowed"] = _value(attribute.allowed_values)
    if attribute.has_minimum:
        found["minimum"] = attribute.minimum
    return found


def _value(value: Any) -> Any:
    """An attribute's value: types by their names, a shape as its sizes (null: not even the rank), a function by its name."""
    kind = value.WhichOneof("value")
    if kind == "list":
        for key, text in (("type", _type), ("s", _text), ("shape", _shape), ("f", _number)):
            if getattr(value.list, key):
                return [text(item) for item in getattr(value.list, key)]
        return [*value.list.i, *value.list.b, *(f.name for f in value.list.func)]
    texts: dict[str, Any] = {
        "type": _type, "s": _text, "shape": _shape, "f": _number, "func": lambda item: item.name, "tensor": lambda item: None}
    return texts.get(kind, lambda item: item)(getattr(value, kind))


def _type(number: int) -> str:
    from tensorflow.core.framework import types_pb2

    return types_pb2.DataType.Name(number).removeprefix("DT_").lower()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _shape(shape: Any) -> list[int] | None:
    return None if shape.unknown_rank else [dim.size for dim in shape.dim]


def _number(value: float) -> float:
    """A 32-bit number in its shortest decimal form."""
    return float(str(np.float32(value)))


if __name__ == "__main__":
    main()
