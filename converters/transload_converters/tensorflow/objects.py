"""Which tensor of a checkpoint each variable of a SavedModel has, by the objects that TensorFlow 2 saved.

Where the saver in the graph restores copies of variables, as of models of Keras 3, the graph does not say it, and TensorFlow's
own loader does not ask it: a function of the file is given variables of objects, behind its own arguments; an object is what it
is called by those that hold it, from the first on; and the checkpoint has a graph of objects of its own, which says by what
keys the tensors of each are saved.

Source: `tensorflow/python/saved_model/load.py` (`_setup_function_captures`, `_restore_checkpoint`),
`tensorflow/python/checkpoint/restore.py` (`_queue_children_for_restoration`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping, Sequence
from functools import cache
from typing import Any

from transload.errors import ReadError

from .nodes import Graph, Problems, function_of

__all__ = ["OBJECTS", "keys_of", "objects_of_variables"]

OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The text in a checkpoint that is its graph of objects."""
_VARIABLE = "VarHandleOp"
"""The op that is a variable of TensorFlow 2, the only ones that are objects."""
_VALUE = "VARIABLE_VALUE"
"""What a variable calls the tensor that is its value."""


def objects_of_variables(graph: Graph, objects: Any, known: Container[str] = ()) -> dict[str, int]:
    """The number of the object that each variable is, by the name of its node, where a function of the file is given it.

    objects: the `SavedObjectGraph`; known: variables that are not asked for. What does not fit is a problem of the graph.
    """
    wanted = {name for name, node in graph.nodes.items() if node.op == _VARIABLE and name not in known}
    found: dict[str, int] = {}
    for node in graph.nodes.values():
        given = [name if name in wanted else None for name, _ in node.inputs]
        called = next((name for name in (node.op, function_of(node)) if name in objects.concrete_functions), None)
        if called is None or not any(given):
            continue
        bound = objects.concrete_functions[called].bound_inputs
        if len(bound) > len(given):
            graph.problems.add(
                node.op, f"is given {len(given):,} values, but its function is bound to {len(bound):,} objects", node.name)
            continue
        for variable, number in zip(given[len(given) - len(bound):], bound, strict=True):
            if variable is not None and found.setdefault(variable, number) != number:
                graph.problems.add(
                    _VARIABLE, f"is object {found[variable]} to one function, and object {number} to another", variable)
    return found


def keys_of(variables: Mapping[str, int], objects: Any, content: bytes, where: str, problems: Problems) -> dict[str, str]:
    """The key in the checkpoint of each variable that has one there, by name.

    variables: the number of each one's object, of `objects` of the SavedModel; content: the checkpoint's graph of objects.
    Raises `ReadError` where `content`, of the file `where`, is none.
    """
    from google.protobuf.message import DecodeError

    from .messages_pb2 import TrackableObjectGraph

    try:
        saved = TrackableObjectGraph.FromString(content)
    except DecodeError as error:
        raise ReadError(f"{where}: its text {OBJECTS!r} is no graph of objects: {str(error)[:100]}",
                        hint="the file is damaged, or was cut short") from None
    places = _places(objects.nodes, saved.nodes, problems)
    found = {}
    for variable, number in variables.items():
        if not 0 <= number < len(objects.nodes):
            problems.add("a variable", f"is object {number} of the SavedModel, which has {len(objects.nodes):,}", variable)
        elif number in places:
            attributes = saved.nodes[places[number]].attributes
            key = next((each.checkpoint_key for each in attributes if each.name == _VALUE), None)
            if key is not None:
                found[variable] = key
    return found


def _places(objects: Sequence[Any], saved: Sequence[Any], problems: Problems) -> dict[int, int]:
    """Which object of a checkpoint each object of a SavedModel is: the first of either is the model itself, and what two that
    are one call by one name is one. Objects may hold each other in a ring; each is looked at once."""

    @cache
    def held(number: int) -> dict[str, int]:
        return {child.local_name: child.node_id for child in saved[number].children}

    places = {0: 0} if objects and saved else {}
    pending = deque(places)
    while pending:
        number = pending.popleft()
        by_name = held(places[number])
        for child in objects[number].children:
            place = by_name.get(child.local_name)
            if place is None or child.node_id in places:
                continue
            if not (0 <= child.node_id < len(objects) and 0 <= place < len(saved)):
                problems.add(
                    f"object {number} of the SavedModel",
                    f"holds {child.local_name[:80]!r}, which is object {child.node_id} of {len(objects):,}, "
                    f"and in the checkpoint object {place} of {len(saved):,}")
                continue
            places[child.node_id] = place
            pending.append(child.node_id)
    return places
