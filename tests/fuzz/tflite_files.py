"""A `.tflite` file as a tree of dictionaries by the schema's names, changed there, and written again."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

from transload.flatbuffer import FlatFile, Table
from transload.flatbuffer.builder import FlatBuilder, layout
from transload_converters.tflite import schema

from tests.fuzz.numbers import other_number

__all__ = ["decode", "encode", "mutate"]

_TABLES = {
    ("Model", "operator_codes"): "OperatorCode", ("Model", "subgraphs"): "SubGraph", ("Model", "buffers"): "Buffer",
    ("Model", "metadata"): "Metadata", ("Model", "signature_defs"): "SignatureDef", ("SubGraph", "tensors"): "Tensor",
    ("SubGraph", "operators"): "Operator", ("SignatureDef", "inputs"): "TensorMap", ("SignatureDef", "outputs"): "TensorMap",
    ("Tensor", "quantization"): "QuantizationParameters", ("Tensor", "sparsity"): "SparsityParameters",
    ("Tensor", "variant_tensors"): "VariantSubType", ("SparsityParameters", "dim_metadata"): "DimensionMetadata",
}
_UNIONS = {"builtin_options": "BuiltinOptions", "builtin_options_2": "BuiltinOptions2", "details": "QuantizationDetails",
           "array_segments": "SparseIndexVector", "array_indices": "SparseIndexVector"}
Tree = dict[str, Any]


def decode(content: bytes) -> Tree:
    """The tree of a file: a table is a dictionary, with its name under `""`."""
    return _decode(FlatFile(content, "seed").root(), "Model")


def _decode(table: Table, name: str) -> Tree:
    tree: Tree = {"": name}
    for key, field in schema.fields(name).items():
        if not table.has(field.number):
            continue
        inner = _inner(name, key, tree)
        if field.is_vector:
            if field.code == "B":
                tree[key] = table.data(field.number)
            elif field.code:
                tree[key] = list(table.numbers(field.number, field.code))
            elif field.type == "string":
                tree[key] = table.strings(field.number)
            elif inner is not None:
                tree[key] = [_decode(each, inner) for each in table.tables(field.number)]
        elif field.code:
            tree[key] = table.scalar(field.number, field.code)
        elif field.type == "string":
            tree[key] = table.text(field.number)
        elif inner is not None:
            there = table.table(field.number)
            if there is not None:
                tree[key] = _decode(there, inner)
    return tree


def _inner(name: str, key: str, tree: Tree) -> str | None:
    """The name of the table in a field."""
    if key in _UNIONS:
        found = schema.enumeration(_UNIONS[key]).get(tree.get(f"{key}_type", 0))
        return None if found == "NONE" else found
    return _TABLES.get((name, key))


def encode(tree: Tree) -> bytes:
    """The file of a tree."""
    builder = FlatBuilder()
    return b"".join(bytes(piece) for piece in builder.finish(_encode(builder, tree), b"TFL3", 16))


def _encode(builder: FlatBuilder, tree: Tree) -> int:
    kinds, values = [], []
    for key, field in schema.fields(tree[""]).items():
        if key not in tree:
            continue
        value: Any = tree[key]
        code = field.code
        if field.is_vector:
            if isinstance(value, bytes):
                value = builder.byte_vector(value, 16)
            elif code:
                value = builder.vector(code, value)
            else:
                value = builder.offsets([
                    builder.string(each) if isinstance(each, str) else _encode(builder, each) for each in value])
        elif not code:
            value = builder.string(value) if isinstance(value, str) else _encode(builder, value)
        kinds.append((field.number, code if code and not field.is_vector else "O"))
        values.append(value)
    return builder.table(layout(*kinds), values)


# --- changes


def mutate(dice: random.Random, content: bytes) -> bytes:
    """The file with one to four changes."""
    tree = decode(content)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        dice.choice(_CHANGES)(dice, tree)
    return encode(tree)


def _tables(tree: Tree) -> list[Tree]:
    """The tree and all in it, buffers that are empty left out."""
    found = [tree]
    for value in tree.values():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict) and (each[""] != "Buffer" or each.get("data")):
                found += _tables(each)
    return found


def _any(dice: random.Random, tree: Tree, *names: str) -> Tree | None:
    found = [each for each in _tables(tree) if each[""] in names]
    return dice.choice(found) if found else None


def _a_field(dice: random.Random, tree: Tree) -> None:
    """Another number, flag, text or list in a field of any table, present or not."""
    table = dice.choice(_tables(tree))
    fields = schema.fields(table[""])
    if not fields:
        return
    key = dice.choice(list(fields))
    field = fields[key]
    if field.is_vector and field.code:
        _a_list(dice, table, key, field.code)
    elif field.code:
        table[key] = other_number(dice, field.code, table.get(key, field.default or 0))
    elif field.type == "string" and not field.is_vector:
        table[key] = dice.choice(("", "x", "main", "ü" * 40, table.get(key, "") + "1"))
    elif isinstance(table.get(key), list) and table[key]:
        _shuffle(dice, table[key])
    elif key in table and key != "subgraphs":
        del table[key]


def _a_list(dice: random.Random, table: Tree, key: str, code: str) -> None:
    if code == "B" and isinstance(table.get(key, b""), bytes):
        _bytes(dice, table, key)
        return
    numbers = list(table.get(key, []))
    kind = dice.randrange(5)
    if numbers and kind < 3:
        place = dice.randrange(len(numbers))
        numbers[place] = other_number(dice, code, numbers[place])
    elif numbers and kind == 3:
        _shuffle(dice, numbers)
    else:
        numbers.append(other_number(dice, code, 1))
    table[key] = numbers


def _shuffle(dice: random.Random, items: list[Any]) -> None:
    """An item removed, repeated, or changed for another."""
    first, second = dice.randrange(len(items)), dice.randrange(len(items))
    kind = dice.randrange(3)
    if kind == 0:
        del items[first]
    elif kind == 1:
        items.insert(second, items[first])
    else:
        items[first], items[second] = items[second], items[first]


def _bytes(dice: random.Random, table: Tree, key: str) -> None:
    """The bytes of a constant, as numbers of some type."""
    data = bytearray(table.get(key, b""))
    code = dice.choice("iiiqfbB")
    size = struct.calcsize(code)
    if len(data) < size:
        return
    if dice.randrange(8) == 0:
        del data[-size:]
    else:
        at = dice.randrange(len(data) // size) * size
        struct.pack_into(f"<{code}", data, at, other_number(dice, code, struct.unpack_from(f"<{code}", data, at)[0]))
    table[key] = bytes(data)


def _a_shape(dice: random.Random, tree: Tree) -> None:
    tensor = _any(dice, tree, "Tensor")
    if tensor is not None:
        _a_list(dice, tensor, dice.choice(("shape", "shape", "shape", "shape_signature")), "i")


def _a_type(dice: random.Random, tree: Tree) -> None:
    tensor = _any(dice, tree, "Tensor")
    if tensor is not None:
        tensor["type"] = dice.choice(list(schema.enumeration("TensorType")))


def _a_quantization(dice: random.Random, tree: Tree) -> None:
    quantization = _any(dice, tree, "QuantizationParameters")
    if quantization is not None:
        key, code = dice.choice((("scale", "f"), ("zero_point", "q"), ("quantized_dimension", "i")))
        if key == "quantized_dimension":
            quantization[key] = other_number(dice, code, quantization.get(key, 0))
        else:
            _a_list(dice, quantization, key, code)


def _an_operator(dice: random.Random, tree: Tree) -> None:
    """Another operator, or operands and options of another."""
    operator = _any(dice, tree, "Operator")
    kind = dice.randrange(4)
    if kind == 0 or operator is None:
        code = _any(dice, tree, "OperatorCode")
        if code is not None:
            number = dice.choice(list(schema.operators()))
            code["builtin_code"], code["deprecated_builtin_code"] = number, min(number, 127)
        return
    if kind == 1:
        operator["opcode_index"] = dice.randrange(len(tree.get("operator_codes", [])) or 1)
    elif kind == 2:
        _a_list(dice, operator, dice.choice(("inputs", "outputs")), "i")
    elif operator.get("inputs"):
        operator["inputs"][dice.randrange(len(operator["inputs"]))] = dice.randrange(-1, 12)


def _an_option(dice: random.Random, tree: Tree) -> None:
    """Another number in the options of an operator."""
    operator = _any(dice, tree, "Operator")
    options = operator and (operator.get("builtin_options") or operator.get("builtin_options_2"))
    if options and (fields := schema.fields(options[""])):
        key = dice.choice(list(fields))
        if fields[key].is_vector and fields[key].code:
            _a_list(dice, options, key, fields[key].code)
        elif fields[key].code:
            options[key] = other_number(dice, fields[key].code, options.get(key, fields[key].default))


def _a_constant(dice: random.Random, tree: Tree) -> None:
    buffer = _any(dice, tree, "Buffer")
    if buffer is not None:
        _bytes(dice, buffer, "data")


_CHANGES: tuple[Callable[[random.Random, Tree], None], ...] = (
    _a_field, _a_shape, _a_shape, _a_type, _a_quantization, _an_operator, _an_operator, _an_option, _an_option, _a_constant)
