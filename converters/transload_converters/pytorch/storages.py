"""The tensors of archives before PyTorch 2.8: what `torch.save` wrote, read without running it.

`torch.save` writes a zip archive in the archive: bytes of tensors, `data/0`, `data/1`, ..., and `data.pkl`, a pickle that says
which tensor lies where. A pickle is a program for a small machine, which can call any function of Python. Here it is looked at,
never run: of its instructions those are followed that put numbers, texts, tuples and dictionaries together, and what it asks to
be called is only compared with the names that `torch.save` writes for a tensor. Anything else is refused.

Source: Python's `pickletools`, which says of each instruction what it is; PyTorch, torch/serialization.py and torch/_utils.py.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transload.errors import ReadError
from transload.ir import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, UI8, ComplexType, Type

from .archive import Members
from .payload import Payload, TensorMeta

__all__ = ["payloads_of"]

_STORAGES: dict[str, Type] = {
    "FloatStorage": F32, "DoubleStorage": F64, "HalfStorage": F16, "BFloat16Storage": BF16, "LongStorage": I64, "IntStorage": I32,
    "ShortStorage": I16, "CharStorage": I8, "ByteStorage": UI8, "BoolStorage": BOOL, "ComplexFloatStorage": ComplexType(F32),
    "ComplexDoubleStorage": ComplexType(F64)}
_MOST = 1 << 22
"""Instructions that are followed; a network of 100,000 tensors takes two million."""


@dataclass(frozen=True)
class _Name:
    """Something of Python's that the pickle asks for by its name, and does not get."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class _Mark:
    """Where a list of arguments begins on the stack."""


@dataclass(frozen=True)
class _Storage:
    """Bytes in the archive, of one element type."""

    member: str
    element: Type


def payloads_of(archive: Members) -> dict[str, Payload]:
    """The tensors of a dictionary that `torch.save` wrote, by their names.

    Raises `ReadError` for a pickle that makes anything but tensors.
    """
    found = _Machine(archive).run(archive.text("data.pkl"))
    if not isinstance(found, dict):
        raise ReadError(f"{archive.where}: data.pkl holds no dictionary of tensors")
    made: dict[str, Payload] = {}
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, Payload):
            raise ReadError(f"{archive.where}: data.pkl holds under {_told(name)} what is no tensor",
                            hint="export the network without custom objects and tensor subclasses")
        made[name] = value
    return made


def _told(value: Any) -> str:
    """What a value is called in an error: tuples that hold each other many times have texts without end."""
    if isinstance(value, _Name):
        return str(value)[:100]
    return repr(value[:100]) if isinstance(value, str) else f"a {type(value).__name__}"


class _Machine:
    """The stack and the memory of a pickle's instructions."""

    def __init__(self, archive: Members) -> None:
        self.archive = archive
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def fail(self, why: str) -> ReadError:
        return ReadError(
            f"{self.archive.where}: data.pkl {why}, which torch.save writes for no tensor; pickles are not run",
            hint="the file is damaged, or holds more than tensors: export the network anew, with PyTorch 2.8 or later")

    def run(self, pickle: bytes) -> Any:
        """What the pickle leaves."""
        try:
            for count, (code, argument, _) in enumerate(pickletools.genops(pickle)):
                if code.name == "STOP":
                    return self.stack.pop()
                if count > _MOST:
                    raise self.fail("has too many instructions")
                self.step(code.name, argument)
        except (ValueError, IndexError, KeyError, TypeError, AttributeError, StopIteration) as error:
            raise self.fail(f"is damaged ({type(error).__name__})") from None
        raise self.fail("has no end")

    def step(self, name: str, argument: Any) -> None:
        """One instruction."""
        if name in _LITERALS:
            self.stack.append(argument)
        elif name in _MADE:
            self.stack.append(_MADE[name]())
        elif name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self.memo[len(self.memo) if argument is None else argument] = self.stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[argument])
        elif name in _TUPLES:
            count = _TUPLES[name]
            self.stack[len(self.stack) - count :] = [tuple(self.stack[len(self.stack) - count :])]
        elif name not in ("PROTO", "FRAME"):
            rule = getattr(self, f"on_{name.lower()}", None)
            if rule is None:
                raise self.fail(f"has the instruction {name}")
            rule(argument)

    def since_mark(self) -> list[Any]:
        """What lies above the last mark, which goes."""
        place = len(self.stack) - 1 - next(i for i, value in enumerate(reversed(self.stack)) if isinstance(value, _Mark))
        values = self.stack[place + 1 :]
        del self.stack[place:]
        return values

    def on_tuple(self, argument: Any) -> None:
        self.stack.append(tuple(self.since_mark()))

    def on_appends(self, argument: Any) -> None:
        values = self.since_mark()
        self.stack[-1].extend(values)

    def on_append(self, argument: Any) -> None:
        value = self.stack.pop()
        self.stack[-1].append(value)

    def on_setitems(self, argument: Any) -> None:
        values = self.since_mark()
        self.stack[-1].update(zip(map(self.key, values[::2]), values[1::2], strict=True))

    def on_setitem(self, argument: Any) -> None:
        value, key = self.stack.pop(), self.key(self.stack.pop())
        self.stack[-1][key] = value

    def key(self, value: Any) -> Any:
        """A key of a dictionary: a name or a number. The hash of a tuple goes through all that it holds, as often as it does."""
        if not isinstance(value, (str, int)):
            raise self.fail(f"has {_told(value)} as a dictionary's key")
        return value

    def on_build(self, argument: Any) -> None:
        self.stack.pop()  # attributes of the dictionary: versions of modules

    def on_global(self, argument: Any) -> None:
        self.stack.append(_Name(*argument.split(" ", 1)))

    def on_stack_global(self, argument: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise self.fail("names what is no text")
        self.stack.append(_Name(module, name))

    def on_binpersid(self, argument: Any) -> None:
        """Bytes in the archive: `("storage", torch.FloatStorage, "0", "cpu", how many)`."""
        kind, storage, key, _, _ = self.stack.pop()
        element = _STORAGES.get(storage.name) if isinstance(storage, _Name) and storage.module == "torch" else None
        if kind != "storage" or element is None or not isinstance(key, str):
            raise self.fail(f"asks for {_told(storage)}")
        self.stack.append(_Storage(f"data/{key}", element))

    def on_reduce(self, argument: Any) -> None:
        """A call: of the three that make a tensor, a parameter and a dictionary what they mean, of no other anything."""
        given, called = self.stack.pop(), self.stack.pop()
        meaning = _CALLS.get(str(called)) if isinstance(called, _Name) else None
        if meaning is None:
            raise self.fail(f"calls {_told(called)}")
        self.stack.append(meaning(self, given))

    def tensor(self, given: tuple[Any, ...]) -> Payload:
        """`(storage, offset, sizes, strides, ...)`."""
        storage, offset, sizes, strides = given[:4]
        numbers = (offset, *sizes, *strides)
        if not isinstance(storage, _Storage) or any(type(n) is not int or not 0 <= n < 1 << 48 for n in numbers):
            raise self.fail("makes a tensor of what is none")
        if len(sizes) != len(strides) or len(sizes) > 64:
            raise self.fail("makes a tensor with other strides than sizes")
        return Payload(storage.member, TensorMeta(storage.element, tuple(sizes), tuple(strides), offset), self.archive)


_LITERALS = frozenset((
    "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"))
_MADE: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "MARK": _Mark, "NONE": lambda: None, "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_CALLS: dict[str, Callable[[_Machine, Any], Any]] = {
    "collections.OrderedDict": lambda machine, given: {},
    "torch._utils._rebuild_tensor_v2": _Machine.tensor,
    "torch._utils._rebuild_parameter": lambda machine, given: given[0],
    "torch._utils._rebuild_parameter_with_state": lambda machine, given: given[0],
}
