"""Random small functions in TensorFlow's Python interfaces, as tests of other converters write them.

    python benchmarks/tensorflow_functions.py FOLDER [COUNT] [FIRST]        (where tensorflow is installed)

writes FOLDER/N.pb (a graph of one op, or few, with any attributes) and FOLDER/N.npz (inputs, and what tensorflow computes without
its graph optimizers), which `tensorflow_functions_judge.py` runs through Transload. A number is always the same function. Of
three inputs in ten a size is unknown.
"""

from __future__ import annotations

import sys

import tensorflow_elements  # noqa: F401  (enters functions into the table, before the networks': a number counts on it)
import tensorflow_networks  # noqa: F401
from tensorflow_draws import TABLE, main

if __name__ == "__main__":
    main(sys.argv[1:], TABLE)
