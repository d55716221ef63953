"""Random numbers, the same that TensorFlow draws: those of stateless ops always, those of others where the user wants it.

An op with a state gives other numbers in each run; what is drawn for it (`random=drawn`) are the numbers of the first run with
its seeds. Seeds have to be known: the numbers are constants.
"""

from __future__ import annotations

import math

import numpy as np

from transload.budget import VARIABLE, allowance, budget, more_than
from transload.errors import Unsupported
from transload.ir import Op, Value, dtype_of
from transload.rewrite import Rewriter

from .philox import Philox, scrambled
from .table import TfTable, attr, constant_int, constant_ints, constant_sizes, element_of, shape_of

TABLE = TfTable()

_MOST = 1 << 24
"""Numbers that are drawn for one op: a few seconds' work, ..."""
_SLOW = 8
"""... or, where each is one of several tries, so many times that."""


def _seeded(op: Op, rw: Rewriter) -> Philox:
    """The generator of an op with a state, in its first run."""
    if rw.options.get("random", "refuse") == "refuse":
        raise Unsupported("gives other numbers in each run", "the option random=drawn draws them once, as the model is converted")
    seeds = int(attr(op, "seed", 0)), int(attr(op, "seed2", 0))
    rw.note(f"the random numbers of {op.origin or op.name} were drawn as the model was converted, and are the same in every run")
    return Philox(seeds[0], (seeds[1] % (1 << 64)) << 64)


def _stateless(op: Op, rw: Rewriter) -> Philox:
    """The generator of a stateless op: by its seed, or by a key and a counter."""
    if not op.name.endswith("V2"):
        seed = constant_ints(rw, op.operands[1], "the seed", 2)
        return Philox(*scrambled((seed[0], seed[1])))
    key = constant_ints(rw, op.operands[1], "the key", 1)
    counter = constant_ints(rw, op.operands[2], "the counter", 2)
    if constant_int(rw, op.operands[3], "the algorithm") not in (1, 3):
        raise Unsupported("draws by another algorithm than Philox")
    return Philox(key[0], counter[0] | counter[1] << 64)


def _shape(rw: Rewriter, value: Value, times: int = 1) -> tuple[int, ...]:
    shape = constant_sizes(rw, value, "the shape")
    _need_few(math.prod(shape), times)
    return shape


def _need_few(count: int, times: int = 1) -> None:
    """Refuse to draw too many numbers, in one op or in all of a run together; each is `times` as long as the simple ones."""
    if count > _MOST:
        raise Unsupported(f"draws {count:,} numbers, more than {_MOST:,}")
    if not budget().may_fold(0, 4 * times * count):
        raise Unsupported(f"draws {count:,} numbers, and with those drawn before these are too many",
                          f"{VARIABLE}=grown={more_than(allowance().grown)} allows more")


def _drawn(op: Op, rw: Rewriter, generator: Philox, kind: str) -> Value:
    """A constant of the op's first result."""
    shape, element = _shape(rw, op.operands[0], _SLOW if kind == "truncated" else 1), element_of(op)
    count, dtype = math.prod(shape), dtype_of(element)
    if kind == "uniform":
        numbers = generator.uniform(count, dtype)
    elif dtype not in (np.float32,):
        raise Unsupported(f"draws normal numbers of {element}")
    else:
        numbers = generator.normal(count) if kind == "normal" else generator.truncated_normal(count)
    return rw.constant(numbers.astype(dtype).reshape(shape), element=element)


_KINDS = {
    "RandomUniform": "uniform", "RandomStandardNormal": "normal", "TruncatedNormal": "truncated",
    "StatelessRandomUniform": "uniform", "StatelessRandomNormal": "normal", "StatelessTruncatedNormal": "truncated",
    "StatelessRandomUniformV2": "uniform", "StatelessRandomNormalV2": "normal", "StatelessTruncatedNormalV2": "truncated",
}


@TABLE(*_KINDS)
def random_numbers(op: Op, rw: Rewriter) -> Value:
    """RandomUniform, RandomStandardNormal, TruncatedNormal, and the stateless ones of both versions."""
    name = op.name.removeprefix("tf.")
    generator = _stateless(op, rw) if name.startswith("Stateless") else _seeded(op, rw)
    return _drawn(op, rw, generator, _KINDS[name])


@TABLE("RandomUniformInt", "StatelessRandomUniformInt", "StatelessRandomUniformIntV2")
def random_integers(op: Op, rw: Rewriter) -> Value:
    """RandomUniformInt, StatelessRandomUniformInt, V2, between constants."""
    stateless = op.name.startswith("tf.Stateless")
    generator = _stateless(op, rw) if stateless else _seeded(op, rw)
    low, high = (constant_int(rw, value, "an end of the range") for value in op.operands[-2:])
    shape, element = _shape(rw, op.operands[0]), element_of(op)
    if low >= high:
        raise Unsupported(f"there are no integers from {low} to {high}")
    numbers = generator.integers(math.prod(shape), low, high, dtype_of(element))
    return rw.constant(numbers.reshape(shape), element=element)


@TABLE("StatelessRandomGetKeyCounter", "StatelessRandomGetAlg", "StatelessRandomGetKeyCounterAlg")
def key_and_counter(op: Op, rw: Rewriter) -> list[Value]:
    """StatelessRandomGetKeyCounter, StatelessRandomGetAlg, StatelessRandomGetKeyCounterAlg: those of Philox."""
    made = []
    if "Key" in op.name:
        seed = constant_ints(rw, op.operands[0], "the seed", 2)
        key, counter = scrambled((seed[0], seed[1]))
        made += [np.array([key], np.uint64), np.array([counter % (1 << 64), counter >> 64], np.uint64)]
    if op.name.endswith("Alg"):
        made.append(np.array(1, np.int32))
    return [rw.constant(array, element=element_of(op, index)) for index, array in enumerate(made)]


@TABLE("RandomShuffle")
def random_shuffle(op: Op, rw: Rewriter) -> Value:
    """RandomShuffle: the rows in an order that is drawn once."""
    value = op.operands[0]
    count = shape_of(value, least=1)[0]
    _need_few(count, _SLOW)
    order = _seeded(op, rw).shuffled(count)
    return rw.emit("top.Gather", value, rw.constant(order.astype(np.int32)), axis=0)
