"""Operators that cannot be converted, and why: each reason is a fact about the operator."""

from __future__ import annotations

from transload.rewrite import RewriteTable

TABLE = RewriteTable()

_RANDOM = (
    "it gives other random numbers at each run, and a compiled model has no state to draw them from",
    "give the random numbers to the model as an input")
_STRINGS = ("it works on strings, which are not numbers", "move it in front of the model, into the program that feeds it")
_HASHTABLE = (
    "it works on a hash table from or to strings, which are not numbers",
    "move the look-up in front of the model, into the program that feeds it")
_HASHES = (
    "it hashes the bytes of its input with products of 64 bits, which TOSA does not have",
    "move it in front of the model, into the program that feeds it")
_NO_KERNEL = ("TensorFlow Lite itself has no kernel for it, and does not define what it computes", "make the model without it")
_DELEGATE = ("the graph was already compiled for a delegate", "start from the model as it was before")

REASONS: dict[str, tuple[str, str]] = {
    "tfl.random_uniform": _RANDOM, "tfl.random_standard_normal": _RANDOM, "tfl.multinomial": _RANDOM,
    "tfl.hashtable": _HASHTABLE, "tfl.hashtable_find": _HASHTABLE, "tfl.hashtable_import": _HASHTABLE,
    "tfl.hashtable_size": _HASHTABLE, "tfl.lsh_projection": _HASHES, "tfl.skip_gram": _STRINGS,
    "tfl.concat_embeddings": _NO_KERNEL, "tfl.delegate": _DELEGATE,
}

TABLE.refuse(REASONS)
