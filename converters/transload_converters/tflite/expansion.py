"""How much a file becomes for who copies each part wherever another refers to it, as LiteRT does.

In a flatbuffer a table or a vector lies once, and any number of others may refer to it: a file of 400 KB has a tensor with
fifty thousand levels of a sparse structure that all are one table of two long lists. Our reader counts what it reads
(`FlatFile.spend`); other people's copies each list for each level, and ends when the memory does.

Source: `schema.fbs` of LiteRT; what it copies of that, `tensorflow/lite/core/interpreter_builder.cc`.
"""

from __future__ import annotations

from transload.flatbuffer import Table

from .schema import fields

__all__ = ["expanded"]

_TABLES = {
    "Model": {
        "operator_codes": "OperatorCode", "subgraphs": "SubGraph", "buffers": "Buffer", "metadata": "Metadata",
        "signature_defs": "SignatureDef"},
    "SubGraph": {"tensors": "Tensor", "operators": "Operator"},
    "Tensor": {"quantization": "QuantizationParameters", "sparsity": "SparsityParameters", "variant_tensors": "VariantSubType"},
    "SparsityParameters": {"dim_metadata": "DimensionMetadata"},
    "SignatureDef": {"inputs": "TensorMap", "outputs": "TensorMap"},
    "DimensionMetadata": {"array_segments": "Int32Vector", "array_indices": "Int32Vector"},
}
"""Which table a field holds, or a vector of which, of those that LiteRT goes through. Members of the union of lists are all as
the first is: of narrower numbers as many bytes are counted as lists of 32 bits would have, as LiteRT makes them."""
_LOOKED_AT = {("Buffer", "data"), ("Operator", "custom_options")}
"""Bytes that are looked at where they lie."""
_TABLE = 128
"""Bytes for a table: what a tensor, an operator or a level of a sparse structure takes, beside its lists."""


def expanded(model: Table) -> int:
    """How many bytes the tables, lists and texts of a model are where each is counted as often as something refers to it.

    `model` is the root of a TFLite file (`Model`). Each part is looked at once, however often it is referred to. Raises
    `ReadError` for what lies outside of the file.
    """
    return _size(model, "Model", {})


def _size(table: Table, kind: str, known: dict[tuple[int, str], int]) -> int:
    """The same of one table; no schema of these has a table within one of its kind, so there is an end."""
    found = known.get((table.position, kind))
    if found is None:
        found, held = _TABLE, _TABLES.get(kind, {})
        for name, field in fields(kind).items():
            if (kind, name) in _LOOKED_AT or not table.has(field.number):
                continue
            inner = held.get(name)
            if inner is not None:
                found += _inner(table, field.number, inner, field.is_vector, known)
            elif field.type == "string" or (field.is_vector and field.dtype is not None):
                found += (1 if field.dtype is None else field.dtype.itemsize) * table.count(field.number)
        known[table.position, kind] = found
    return found


def _inner(table: Table, number: int, kind: str, several: bool, known: dict[tuple[int, str], int]) -> int:
    """The same of the tables in a field; of a vector of them once, wherever it is referred to."""
    if not several:
        inner = table.table(number)
        return 0 if inner is None else _size(inner, kind, known)
    place = table.extent(number)[0], f"[{kind}]"
    if place not in known:
        known[place] = sum(_size(each, kind, known) for each in table.tables(number))
    return known[place]
