"""Models of TensorFlow changed: graphs and SavedModels as protobuf messages, the index of a checkpoint as the table it is."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from tests.fuzz.archives import packed, unpacked
from tests.fuzz.messages import change_field, messages_in, other_bytes
from tests.fuzz.numbers import other_integer

__all__ = ["mutate", "mutate_saved"]

_WORDS = (b"SAME", b"VALID", b"EXPLICIT", b"NCHW", b"NHWC", b"NDHWC", b"NCDHW", b"REFLECT", b"SYMMETRIC", b"HALF_TO_EVEN",
          b"SCALED", b"MIN_FIRST", b"bilinear", b"nearest", b"linear", b"lstm", b"gru", b"bidirectional", b"add", b"ij,jk->ik",
          b"...i->i", b"i..j->")
"""What attributes of text say."""
_KINDS = ("NodeDef", "AttrValue", "AttrValue", "AttrValue", "TensorProto", "TensorProto", "TensorProto", "Dim", "ListValue",
          "FunctionDef", "")
"""Messages that are changed, by how often; "" is any."""


def mutate(dice: random.Random, content: bytes) -> bytes:
    """A `GraphDef` with one to four changes; of a real model that is large, the end may be cut off."""
    from transload_converters.tensorflow.messages_pb2 import GraphDef

    return _message(dice, GraphDef(), content)


def _message(dice: random.Random, message: Any, content: bytes) -> bytes:
    message.ParseFromString(content)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        _change(dice, message)
    written: bytes = message.SerializeToString(deterministic=True)
    return written[: dice.randrange(len(written) + 1)] if dice.randrange(30) == 0 else written


def _change(dice: random.Random, message: Any) -> None:
    """Something else in one message: another op, input, attribute, shape, element type or number."""
    messages = messages_in(message)
    nodes = [each for each in messages if each.DESCRIPTOR.name == "NodeDef"]
    wanted = dice.choice(_KINDS)
    chosen = dice.choice([each for each in messages if each.DESCRIPTOR.name == wanted] or messages)
    kind, what = chosen.DESCRIPTOR.name, dice.randrange(6)
    if kind == "NodeDef" and nodes and what < 3:
        _change_node(dice, nodes, chosen, what)
    elif kind == "AttrValue" and what == 0:
        chosen.CopyFrom(dice.choice([each for each in messages if each.DESCRIPTOR.name == kind]))
    elif kind == "AttrValue" and chosen.WhichOneof("value") == "s":
        chosen.s = dice.choice(_WORDS)
    elif kind == "TensorProto" and what < 3 and chosen.tensor_content:
        chosen.tensor_content = other_bytes(dice, chosen.tensor_content)
    else:
        names = [name for node in nodes for name in (node.name, *node.input, *sorted(node.attr))] or ["x"]
        change_field(dice, chosen, names)


def _change_node(dice: random.Random, nodes: list[Any], node: Any, what: int) -> None:
    """Another op, one of the graph's or any; an input that is another node's result, or a wait for it."""
    if what == 0:
        node.op = dice.choice((dice.choice(nodes).op, dice.choice(_operators())))
        return
    source = dice.choice(nodes).name + dice.choice(("", "", "", ":1", ":output:0", ":7", ":-1"))
    source = f"^{source}" if dice.randrange(8) == 0 else source
    if what == 1 and len(node.input):
        node.input[dice.randrange(len(node.input))] = source
    else:
        node.input.append(source)


@cache
def _operators() -> tuple[str, ...]:
    """The ops that can be converted."""
    from transload_converters.tensorflow.legalize import TABLE

    return tuple(sorted(name.removeprefix("tf.") for name in TABLE.functions))


# --- SavedModels: the folder as an archive

def mutate_saved(dice: random.Random, content: bytes) -> bytes:
    """A SavedModel with changes in one of its files: in the graph and what goes with it, in the index, or in bytes."""
    from transload_converters.tensorflow.messages_pb2 import SavedModel

    files = unpacked(content)
    indices = [name for name in files if name.endswith(".index")]
    kind = dice.randrange(10)
    if kind < 6 or not indices:
        files["saved_model.pb"] = _message(dice, SavedModel(), files["saved_model.pb"])
    elif kind < 9:
        files[indices[0]] = _index(dice, files[indices[0]])
    else:
        name = dice.choice(sorted(files))
        files[name] = other_bytes(dice, files[name])
    if dice.randrange(30) == 0:
        files.pop(dice.choice(sorted(files)))
    return packed(files)


def _index(dice: random.Random, content: bytes) -> bytes:
    """An index with something else said of a tensor or of the whole, and checksums that fit."""
    from transload_converters.tensorflow.messages_pb2 import BundleEntryProto, BundleHeaderProto
    from transload_converters.tensorflow.sstable import table_of

    from tests.support.checkpoints import table

    entries = {key: bytes(value) for key, value in table_of(memoryview(content)).items()}
    for _ in range(dice.choice((1, 1, 2, 3))):
        key = dice.choice(sorted(entries))
        message = (BundleEntryProto if key else BundleHeaderProto).FromString(entries[key])
        kind = dice.randrange(8)
        if kind == 0:
            entries[dice.choice(sorted(entries))] = entries[key]
        elif kind == 1 and len(entries) > 1:
            del entries[key]
        elif kind == 2 and key:
            message.offset = other_integer(dice, message.offset)
        else:
            change_field(dice, dice.choice(messages_in(message)), ["x"])
        if key in entries and kind > 1:
            entries[key] = message.SerializeToString()
    return table(dict(sorted(entries.items())))
