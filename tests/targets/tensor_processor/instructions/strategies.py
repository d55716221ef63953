"""Programs at random: every kind of operand, attribute and name that a binary and a text can hold, sensible or not."""

from __future__ import annotations

from hypothesis import strategies as st

from transload_targets.tensor_processor.instructions import (
    ELEMENTS,
    LAYOUTS,
    QUEUES,
    Global,
    Instruction,
    Local,
    Machine,
    Part,
    Port,
    Program,
    Tensor,
    Weights,
)

SMALL, WORDS, ADDRESSES = st.integers(0, 99), st.integers(1, 2**31 - 1), st.integers(0, 2**40)
SHAPES = st.lists(SMALL, max_size=5).map(tuple)
DTYPES = st.sampled_from(sorted(ELEMENTS))
NAMES = st.text(st.characters(codec="utf-8"), max_size=12)
INTEGERS, REALS = st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)
ATTRIBUTES = st.dictionaries(
    st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
    st.booleans() | INTEGERS | REALS | NAMES
    | st.lists(INTEGERS, max_size=4).map(tuple) | st.lists(REALS, min_size=1, max_size=4).map(tuple),
    max_size=4)


def parts(tensors: int) -> st.SearchStrategy[Part | None]:
    if not tensors:
        return st.none()
    return st.none() | st.builds(Part, st.integers(0, tensors - 1), SHAPES, st.none() | SHAPES)


@st.composite
def operands(draw: st.DrawFn, tensors: int) -> Local | Global:
    part, address, dtype = draw(parts(tensors)), draw(ADDRESSES), draw(DTYPES)
    signed = st.integers(-(2**62), 2**62)
    if draw(st.booleans()):
        shape = draw(SHAPES)
        strides = draw(st.none() | st.tuples(*(signed,) * len(shape)))
        return Global(address, shape, dtype, strides, part)
    layout = draw(st.sampled_from(LAYOUTS))
    return Local(address, draw(SHAPES), dtype, layout, draw(st.none() | st.tuples(signed, signed, signed)), draw(SMALL), part)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program whose form is right; nothing in it need make sense."""
    tensors = tuple(draw(st.lists(st.builds(Tensor, NAMES, SHAPES, st.none() | SMALL), max_size=4)))
    numbers = st.none() | st.integers(0, max(len(tensors) - 1, 0)) if tensors else st.none()
    one = operands(len(tensors))
    instruction = st.builds(
        Instruction, st.sampled_from(QUEUES), SMALL, SMALL, st.from_regex(r"[a-z][a-z0-9_.]{0,8}", fullmatch=True),
        st.lists(st.none() | one, max_size=3).map(tuple), st.lists(one, max_size=2).map(tuple), ATTRIBUTES,
        st.integers(0, 3), NAMES)
    port = st.builds(Port, NAMES, ADDRESSES, SHAPES, DTYPES, numbers, st.floats(0, 1e30), st.integers(-(2**31), 2**31 - 1))
    return Program(
        draw(st.builds(Machine, NAMES, WORDS, WORDS, WORDS, WORDS, WORDS)), tuple(draw(st.lists(instruction, max_size=4))),
        tuple(draw(st.lists(port, max_size=2))), tuple(draw(st.lists(port, max_size=2))),
        tuple(draw(st.lists(st.builds(Weights, ADDRESSES, st.binary(max_size=20), NAMES, numbers, DTYPES), max_size=2))),
        tensors, draw(ADDRESSES), draw(NAMES))
