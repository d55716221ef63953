"""An op that is built wrongly is refused by name, and nothing is changed; what is accepted is the same through text.

Every op of every dialect is built of what its declaration would have, and one thing or two of that are what somebody writes
by mistake: by `Builder.emit`, `Rewriter.emit`, `Builder.create` and `Op`. The rule is a user's: an error of ours names the op
(and the name that was meant, where one is misspelt), and leaves the module as it was. What `check` has nothing against either
is printed and read again: MLIR itself (jaxlib) takes the text, and what was given is there again.
"""

from __future__ import annotations

import difflib
import enum
import itertools
import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from transload.errors import PluginFailure, TransloadError
from transload.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    NONE,
    UI8,
    ComplexType,
    Dense,
    DenseArray,
    FloatAttr,
    FunctionType,
    IntAttr,
    Module,
    Op,
    OpaqueAttr,
    QuantType,
    Region,
    Symbol,
    TensorType,
    new_module,
    registry,
    set_results,
)
from transload.ir.build import Builder
from transload.ir.declare import OpDeclaration
from transload.ir.verify import check
from transload.rewrite import Rewriter
from transload.text import parse_module, print_module

from tests.drawn import Outcome

SAMPLE = 100

_QUANT = QuantType(I8, F32, (0.5,), (0,))
_TYPES = [
    *(TensorType(shape, element) for element in (F32, I32, I8, BOOL) for shape in ((2, 3), (1, 4, 4, 2))),
    *(TensorType((2, 3), element) for element in (F16, BF16, F64, I16, I64, UI8, INDEX, ComplexType(F32), _QUANT)),
    TensorType((), F32), TensorType((), I32), TensorType((), BOOL), TensorType((2,), I32), TensorType((4,), I64),
    TensorType((4,), F32),
    TensorType((None, 3), F32), TensorType(None, F32), NONE]


class _Level(enum.IntEnum):
    HIGH = 1


class _Loud(str):
    """A text of a class of its own, which does not show itself."""

    def __repr__(self) -> str:
        raise ValueError("repr")


class _Mute:
    def __repr__(self) -> str:
        raise ValueError("repr")

    def __eq__(self, other: object) -> bool:
        raise ValueError("eq")

    __hash__ = None  # type: ignore[assignment]


def _endless() -> list[Any]:
    held: list[Any] = []
    held.append(held)
    return held


def _deep(depth: int) -> list[Any]:
    held: list[Any] = []
    for _ in range(depth):
        held = [held]
    return held


GOOD: list[Any] = [
    0, 1, 2, -1, 3, 8, 5.0, 0.5, 1.0, True, False, "SAME", "VALID", "NHWC", "x", (), (1,), (1, 1), (2, 2), (1, 1, 1, 1), (0, 1),
    (0, 0, 0, 0),
    (0.5,), (1.0, 2.0), [], [1], [1, 2], ["x"], [[1]], {}, {"k": 1}, F32, I32, I8, TensorType((2, 3), F32), FunctionType((), ()),
    Dense(np.zeros((2, 3), np.float32)), Dense(np.arange(4)), Dense(np.array(1, np.int32)), Symbol("main"), OpaqueAttr("#d.x<y>"),
    [F32], [TensorType((2, 3), F32)], IntAttr(1, I32), FloatAttr(0.5, F32), DenseArray((1, 1), I32), None]
"""Values that attributes may have: those are taken that a declaration accepts."""

HOSTILE: list[Callable[[], Any]] = [
    lambda: np.int64(1), lambda: np.int32(1), lambda: np.uint8(200), lambda: np.float32(0.1), lambda: np.float64(0.1),
    lambda: np.float16(2),
    lambda: np.bool_(True), lambda: np.str_("SAME"), lambda: np.array(1), lambda: np.array([1, 2]),
    lambda: np.zeros((2, 2), np.float32),
    lambda: (np.int64(1), np.int64(2)), lambda: [np.float32(0.1)], lambda: _Level.HIGH, lambda: [_Level.HIGH],
    lambda: (_Level.HIGH,),
    lambda: 1 << 70, lambda: -(1 << 63) - 1, lambda: 1 << 20000, lambda: (1 << 70, 1), lambda: (1 << 20000,), lambda: math.nan,
    lambda: math.inf,
    lambda: -math.inf, lambda: -0.0, lambda: 5e-324, lambda: 1e300, lambda: 16777217, lambda: 3, lambda: 2.5, lambda: True,
    lambda: "1",
    lambda: (math.nan, -0.0), lambda: [math.nan], lambda: (True, False), lambda: (1, 2.5), lambda: (1, "x"), lambda: (None,),
    lambda: [None],
    lambda: "", lambda: "same", lambda: "SAME ", lambda: "a\nb", lambda: 'a"b\\c', lambda: "a\0b", lambda: "\udc80",
    lambda: "ä→", lambda: _Loud("x"),
    lambda: [_Loud("x")], lambda: b"SAME", lambda: bytearray(b"x"), lambda: {1, 2}, lambda: object(), _Mute, lambda: [_Mute()],
    lambda: (_Mute(),),
    lambda: {"k": _Mute()}, lambda: {1: 2}, lambda: {None: 1}, lambda: {"": 1}, lambda: {"a b": 1}, lambda: {"a\nb": 1},
    lambda: {"\udc80": 1},
    lambda: {"k": {2}}, lambda: 1j, lambda: print, lambda: int, lambda: iter([1]), lambda: range(2), _endless,
    lambda: _deep(5000), lambda: [[], [[]]],
    lambda: Symbol(""), lambda: Symbol("a b"), lambda: Symbol('a"b'), lambda: Symbol("\udc80"), lambda: OpaqueAttr(""),
    lambda: OpaqueAttr("#"),
    lambda: OpaqueAttr("x"), lambda: OpaqueAttr("#d.x<"), lambda: OpaqueAttr('#d.x<">'), lambda: IntAttr(300, I8),
    lambda: IntAttr(1, F32),
    lambda: FloatAttr(1e300, F32), lambda: FloatAttr(0.1, F16), lambda: FloatAttr(1.0, I32), lambda: DenseArray((300,), I8),
    lambda: DenseArray((0.1,), F32), lambda: DenseArray((0.5,), I32), lambda: DenseArray((1,), BOOL),
    lambda: DenseArray((True, False), BOOL),
    lambda: DenseArray((math.nan, 1e39), F32), lambda: TensorType((-1,), F32), lambda: TensorType((1 << 70,), F32),
    lambda: TensorType((2,), NONE),
    lambda: FunctionType((F32,), (TensorType((2,), F32),)), lambda: Dense(np.zeros(0, np.float32)),
    lambda: Dense(np.array([True])),
    lambda: Dense(np.array([np.nan, -0.0], np.float32)), lambda: Dense(np.array(1 + 2j)), lambda: ("x",),
    lambda: [1, "x", 2.5, True, None, F32],
    lambda: new_module(), lambda: Region(), lambda: complex(math.nan, 1), lambda: memoryview(b"x"), lambda: NotImplemented,
    lambda: ...,
]
"""What somebody gives by mistake."""

KEYS = ["name", "x", "", "1", "a b", "a\nb", 'a"b', "ä", "\udc80", "tool.note", "tool.a b", "tool.", ".x", "location", "types",
    "element", "value",
        "operandSegmentSizes", "operands", "__class__", "self", "tool.ä", 'tool.a"b']


@dataclass
class Scene:
    """A module with a value of each type, and values of others."""

    module: Module = field(default_factory=new_module)

    def __post_init__(self) -> None:
        self.function = self.module.add_function("main", _TYPES, [f"v{index}" for index in range(len(_TYPES))])
        self.block = self.function.regions[0].block
        self.values = list(self.block.arguments)
        self.anchor = Builder(self.block).emit("other.anchor", self.values[0], types=[_TYPES[0]]).op
        set_results(self.function, [self.anchor.result], ["y"])
        second = self.module.add_function("second", [_TYPES[0]], ["a"])
        self.elsewhere = second.regions[0].block.arguments[0]
        set_results(second, [self.elsewhere], ["b"])
        self.foreign_module = new_module()
        self.foreign = self.foreign_module.add_function("main", [_TYPES[0]], ["a"]).regions[0].block.arguments[0]
        self.later = Builder(self.block, self.block.terminator).emit("other.later", types=[_TYPES[0]])
        gone = Builder(self.block, self.anchor).emit("other.gone", types=[_TYPES[0]])
        gone.op.erase()
        self.gone = gone

    def state(self) -> list[Any]:
        """What may not change where an op is refused."""
        values = [*self.values, self.elsewhere, self.foreign, self.later, self.gone, self.anchor.result]
        return [print_module(self.module), [sorted(f"{op.name} {count}" for op, count in value.uses.items()) for value in values]]


@cache
def names() -> tuple[str, ...]:
    """All ops that there are."""
    found = (registry.dialect(name) for name in registry.dialect_names())
    return tuple(sorted(op for dialect in found if dialect is not None for op in dialect.ops))


@dataclass
class Build:
    """What an op is to be built of, and what was done to it."""

    name: str
    operands: list[Any]
    attributes: dict[Any, Any]
    named: dict[str, Any]
    regions: list[Any]
    done: list[str] = field(default_factory=list)
    meant: list[tuple[str, str, list[str]]] = field(default_factory=list)
    """Misspelt names: as written, as meant, and all that there are."""


def plausible(rng: random.Random, name: str, scene: Scene) -> Build:
    """Parts as the declaration of an op would have them, as far as types and kinds say."""
    declaration: OpDeclaration = registry.lookup(name)  # type: ignore[assignment]
    operands: list[Any] = []
    first = rng.choice(scene.values)
    for slot in declaration.operands:
        fitting = [value for value in scene.values if slot.type.accepts(value.type)] or scene.values
        for _ in range(rng.randint(0, 3) if slot.variadic else 1):
            operands.append(None if slot.optional and rng.random() < 0.5 else first if first in fitting and rng.random() < 0.7
                            else rng.choice(fitting))
    attributes: dict[Any, Any] = {}
    for key, declared in declaration.attributes.items():
        if key in declaration.required or rng.random() < 0.3:
            words = re.findall(r"'?(\w+)'?", declared.kind.name)
            fitting = [value for value in [*GOOD, *words,
                *([word] for word in words)] if declared.kind.accepts(value) and value is not None]
            if fitting:
                attributes[key] = rng.choice(fitting)
    results = [rng.choice([type_ for type_ in _TYPES if slot.type.accepts(type_)] or _TYPES) for slot in declaration.results]
    named = {} if declaration.infer is not None and rng.random() < 0.8 else {"types": results}
    return Build(name, operands, attributes, named, [Region() for _ in declaration.regions])


def misspelt(rng: random.Random, name: str) -> str:
    at = rng.randrange(len(name))
    return rng.choice([name[:at] + name[at + 1:], name[:at] + name[at] + name[at:], name[:at] + "q" + name[at:], name.swapcase(),
                       name[:at] + name[at + 1:at + 2] + name[at:at + 1] + name[at + 2:]])


def spoil(rng: random.Random, build: Build, scene: Scene) -> None:
    """Do one thing wrong."""
    way = rng.choice(["key", "value", "value", "value", "missing", "extra", "operand", "operand", "place", "count", "op",
        "types", "location",
                      "element", "regions"])
    strangers = [scene.elsewhere, scene.foreign, scene.later, scene.gone]
    given = rng.choice(HOSTILE)()
    declaration = registry.lookup(build.name)
    if way == "key" and declaration is not None and (known := [key for key in build.attributes if len(key) > 3]):
        key = rng.choice(known)
        written = misspelt(rng, key)
        if written not in build.attributes:
            build.meant.append((written, key, [] if declaration.open else list(declaration.attributes)))
            build.attributes[written] = build.attributes.pop(key)
    elif way in ("value", "missing") and not build.attributes:
        return
    elif way == "value":
        build.attributes[rng.choice(list(build.attributes))] = given
    elif way == "missing":
        build.attributes.pop(rng.choice(list(build.attributes)))
    elif way == "extra":
        build.attributes[rng.choice(KEYS)] = given if rng.random() < 0.5 else 1
    elif way == "operand":
        place = rng.randrange(len(build.operands) + 1)
        build.operands[place:place + 1] = [rng.choice([given, scene.anchor, [scene.values[0]], None, scene.block, scene.values])]
    elif way == "place":
        place = rng.randrange(len(build.operands) + 1)
        build.operands[place:place + 1] = [rng.choice(strangers)]
    elif way == "count":
        build.operands = build.operands[:-1] if rng.random() < 0.5 else [*build.operands,
            *rng.choices(scene.values, k=rng.choice([1, 5]))]
    elif way == "op":
        dialect, _, own = build.name.partition(".")
        written = misspelt(rng, build.name) if rng.random() < 0.2 else f"{dialect}.{misspelt(rng, own)}"
        if registry.lookup(written) is None and written.startswith(f"{dialect}."):
            build.meant.append((written, build.name, [each for each in names() if each.startswith(f"{dialect}.")]))
        build.name = written
    elif way == "types":
        build.named["types"] = rng.choice([given, [given], [], [_TYPES[0]] * 3, "tensor<2xf32>", iter(_TYPES[:1]), _TYPES[0],
            [F32], [[_TYPES[0]]]])
    elif way in ("location", "element"):
        build.named[way] = given
    elif way == "regions":
        build.regions = rng.choice([[], [given], [Region()] * 2, [Region(), Region()], given, [scene.block],
            [scene.function.regions[0]]])
    build.done.append(way)


def door(rng: random.Random, build: Build, scene: Scene) -> tuple[str, Callable[[], Any]]:
    """How the op is built: the door's name, and a function that goes through it."""
    types = build.named.get("types", [_TYPES[0]] * len(getattr(registry.lookup(build.name), "results", [1])))
    if ("element" not in build.named and rng.random() < 0.4) or "regions" in build.done:
        location = build.named.get("location")
        if rng.random() < 0.5:
            return "create", lambda: Builder(scene.block, scene.anchor).create(
                build.name, build.operands, types, build.attributes, build.regions, location)
        return "Op", lambda: scene.block.insert(
            Op(build.name, build.operands, types, build.attributes, build.regions, location), scene.anchor)
    maker = Rewriter(scene.anchor) if rng.random() < 0.5 else Builder(scene.block, scene.anchor, fold=rng.random() < 0.3)
    return "emit", lambda: maker.emit(build.name, *build.operands, **build.named, **build.attributes)


def draw(number: int, folder: Path) -> Outcome:
    rng = random.Random(f"emissions {number}")
    scene, name = Scene(), rng.choice(names())
    build = plausible(rng, name, scene)
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        spoil(rng, build, scene)
    told, act = door(rng, build, scene)
    before, case = scene.state(), f"{told} of {build.name}, {'+'.join(build.done) or 'as declared'}"
    if told == "emit" and not all(isinstance(key, str) for key in build.attributes):
        return Outcome("not judged")  # Python's own TypeError
    try:
        act()
    except TransloadError as error:
        return _refused(error, build, scene, before, case)
    except TypeError as error:
        if told == "emit" and "multiple values for" in str(error):
            return Outcome("not judged")
        return Outcome("raised", f"{told} raises TypeError for {'+'.join(build.done)}\n{case}: {error!r:.300}")
    except Exception as error:
        return Outcome("raised", f"{told} raises {type(error).__name__} for {'+'.join(build.done)}\n{case}: {error!r:.300}")
    return _accepted(build, scene, told, case)


def _refused(error: TransloadError, build: Build, scene: Scene, before: list[Any], case: str) -> Outcome:
    text = str(error)
    findings = " ".join(f"{each.what} {each.why}" for each in error.findings)
    if isinstance(error, PluginFailure):
        return Outcome("refused", f"refused as a plugin's failure, for {'+'.join(build.done)}\n{case}: {text:.300}")
    if isinstance(build.name, str) and build.name not in text + findings:
        return Outcome("refused", f"the refusal does not name the op, for {'+'.join(build.done)}\n{case}: {text:.300}")
    if scene.state() != before:
        return Outcome("refused", f"what was refused changed the module, for {'+'.join(build.done)}\n{case}: {text:.300}")
    return Outcome("refused", _unnamed(build, text + findings, case))


def _unnamed(build: Build, text: str, case: str) -> str | None:
    """That a name which was misspelt, and nothing else was wrong, is not told by one at least as near."""
    if len(build.done) != 1:
        return None
    if not case.startswith("emit") and any(each is None for each in build.operands):  # `emit` alone takes None as what is absent
        return None
    for written, meant, known in build.meant:
        if not known:  # an op that may have any
            continue
        ratio = difflib.SequenceMatcher(None, written, meant).ratio()
        near = [each for each in known if difflib.SequenceMatcher(None, written,
            each).ratio() >= ratio or each.lower() == written.lower()
                or each.startswith(written)]
        if repr(written) not in text and written not in text:
            return f"a misspelt name is not told\n{case}, {written!r} for {meant!r}: {text:.300}"
        if ratio >= 0.6 and not any(repr(each) in text for each in near):
            return f"the name that was meant is not told\n{case}, {written!r} for {meant!r}: {text:.300}"
    return None


def _accepted(build: Build, scene: Scene, told: str, case: str) -> Outcome:
    op = scene.anchor.prev
    what = "+".join(build.done) or "nothing"
    try:
        findings = check(scene.module)
    except TransloadError as error:
        return Outcome("found", f"check raises {type(error).__name__}, for {what}\n{case}: {error!s:.300}")
    except Exception as error:
        return Outcome("found", f"check raises {type(error).__name__}, for {what}\n{case}: {error!r:.300}")
    said = " ".join(f"{each.what} {each.why}" for each in findings)
    if findings:
        return Outcome("found", _unnamed(build, said, case))
    if build.meant and op is not None and not getattr(registry.lookup(op.name), "open", False):
        written = build.meant[0][0]
        dialect = registry.dialect(op.dialect)
        if dialect is not None and dialect.ops and not dialect.custom:
            return Outcome("accepted", f"a misspelt name is accepted\n{case}: {written!r}")
    return Outcome("accepted", _through_text(scene.module, case, what))


def _through_text(module: Module, case: str, what: str) -> str | None:
    """What is wrong with a valid module in text."""
    try:
        text = print_module(module)
        text.encode()
        again = parse_module(text, name="again.mlir")
        if (findings := check(again)):
            return f"what was valid is not, read again, for {what}\n{case}: {findings[0]}"
        if print_module(again) != text:
            return f"text differs, read again, for {what}\n{case}\n{_difference(text, print_module(again))}"
    except Exception as error:
        return f"what check accepts does not go through text: {type(error).__name__}, for {what}\n{case}: {error!s:.300}"
    for one, other in itertools.zip_longest(_parts(module), _parts(again)):
        if not same(one, other):
            return f"something else is read than was printed, for {what}\n{case}: {one!r:.300} / {other!r:.300}"
    return _foreign(text, case, what)


def _difference(one: str, other: str) -> str:
    return next((f"{a.strip():.200}\n{b.strip():.200}" for a,
        b in zip(one.splitlines(), other.splitlines(), strict=False) if a != b), "length")


def _parts(module: Module) -> Iterator[tuple[str, Any]]:
    for op in module.walk():
        yield op.name, [str(value.type) for value in op.results]
        for key in sorted(op.attributes):
            yield key, op.attributes[key]


def same(one: Any, other: Any) -> bool:
    """Whether two attributes are the same to who reads them."""
    if isinstance(one, np.generic):
        one = one.item()
    if isinstance(one, DenseArray) and one.element == BOOL:
        one = tuple(map(bool, one))
    if isinstance(one, int) and isinstance(other, float) and not isinstance(one, bool):
        return float(one) == other  # of a kind that is a float
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return isinstance(one, list) == isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, Dense) and isinstance(other, Dense):
        return one.type == other.type and one.numpy().tobytes() == other.numpy().tobytes()
    if isinstance(one, int) and isinstance(other, int) and not isinstance(one, bool):
        return int(one) == int(other) and not isinstance(other, bool)
    if isinstance(one, float) and isinstance(other, float | int):
        return (math.isnan(one) and math.isnan(other)) or (one == other and math.copysign(1, one) == math.copysign(1, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool) and isinstance(one, str) == isinstance(other,
        str)


def _foreign(text: str, case: str, what: str) -> str | None:
    """That MLIR itself does not take the text."""
    from jaxlib.mlir import ir

    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        try:
            ir.Module.parse(text)
        except (ir.MLIRError, ValueError) as error:
            return f"MLIR does not take the text, for {what}\n{case}: {error!s:.400}"
    return None


