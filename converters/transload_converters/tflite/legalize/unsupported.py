"""Operators that cannot be converted as they are, and why."""

from __future__ import annotations

from transload.rewrite import RewriteTable

TABLE = RewriteTable()

_DATA_DEPENDENT = (
    "the size of its result depends on the data, and a compiled model has static shapes",
    "move it out of the model, into the program that uses the result")
_RANDOM = ("random numbers are not reproducible on a chip", "give the random numbers to the model as an input")
_STRINGS = (
    "it works on strings, hash tables or embeddings of text, which are not numbers",
    "move the look-up in front of the model, into the program that feeds it")
_SPARSE = ("sparse tensors are not supported", "densify the model's weights when it is converted")
_DELEGATE = ("the graph was already compiled for a delegate", "start from the model as it was before")

REASONS: dict[str, tuple[str, str]] = {
    "tfl.unique": _DATA_DEPENDENT,
    "tfl.random_uniform": _RANDOM, "tfl.random_standard_normal": _RANDOM, "tfl.multinomial": _RANDOM,
    "tfl.stablehlo_rng_bit_generator": _RANDOM,
    "tfl.hashtable": _STRINGS, "tfl.hashtable_find": _STRINGS, "tfl.hashtable_import": _STRINGS, "tfl.hashtable_size": _STRINGS,
    "tfl.hashtable_lookup": _STRINGS, "tfl.lsh_projection": _STRINGS, "tfl.skip_gram": _STRINGS,
    "tfl.embedding_lookup_sparse": _STRINGS, "tfl.concat_embeddings": _STRINGS,
    "tfl.densify": _SPARSE, "tfl.delegate": _DELEGATE,
}

TABLE.refuse(REASONS)
