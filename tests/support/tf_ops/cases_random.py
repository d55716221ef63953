"""Random numbers: of stateless ops, and of the first run of others."""

from __future__ import annotations

from .spec import cases, each, ints, scalar, values

_SEEDS = [{"seed": 7, "seed2": 11}, {"seed": 1, "seed2": 0}, {"seed": 123456789012, "seed2": -5}]
_SEED = each(ints(7, 11, dtype="int64"), ints(-3, 5))
_KEY = (values([12345], "uint64").const, values([7, 9], "uint64").const, scalar(1))

CASES = [
    *cases("StatelessRandomUniform", each(ints(5), ints(3, 7)), _SEED, dtype=each("float32", "float16", "bfloat16", "float64")),
    *cases("StatelessRandomNormal StatelessTruncatedNormal", each(ints(5), ints(3, 7), ints(130)), _SEED),
    *cases("StatelessRandomUniformInt", ints(3, 7), _SEED, scalar(-5), scalar(20), dtype="int32"),
    *cases("StatelessRandomUniformInt", ints(7), _SEED, scalar(-5, "int64"), scalar(2000, "int64"), dtype="int64"),
    *cases("StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2", each(ints(5), ints(3, 7)), *_KEY),
    *cases("StatelessRandomUniformIntV2", ints(3, 7), *_KEY, scalar(-5), scalar(20), dtype="int32"),
    *cases("StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg", _SEED, hub_only=True),
    *cases("RandomUniform", each(ints(5), ints(3, 7)), ways=_SEEDS, dtype=each("float32", "float16", "float64")),
    *cases("RandomStandardNormal TruncatedNormal", each(ints(5), ints(3, 7), ints(130)), ways=_SEEDS[:2], dtype="float32"),
    *cases("RandomUniformInt", ints(3, 7), scalar(-5), scalar(20), ways=_SEEDS),
    *cases("RandomShuffle", each(values([1.0, 2.0, 3.0, 4.0, 5.0]), values([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])), ways=_SEEDS),
]
