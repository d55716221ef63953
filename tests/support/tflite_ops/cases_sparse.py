"""Sparse constants, and the operator that makes them dense."""

from __future__ import annotations

import numpy as np

from transload_converters.tflite.writer import Sparsity

from .build import Assembly
from .spec import cases, each, i32, x

ROWS = Sparsity(order=(0, 1), levels=(3, ((0, 2, 2, 5), (1, 3, 0, 2, 3))))
"""3 x 4, by rows: as a compressed sparse matrix."""
COLUMNS = Sparsity(order=(1, 0), levels=(4, ((0, 1, 2, 3, 5), (2, 0, 1, 0, 2))))
"""3 x 4, by columns."""
BOTH = Sparsity(order=(0, 1), levels=(((0, 2), (0, 2)), ((0, 2, 5), (1, 3, 0, 2, 3))))
"""3 x 4, of which also rows are left out."""
BLOCKS = Sparsity(order=(0, 1, 2, 3), levels=(2, ((0, 1, 3), (1, 0, 1)), 2, 2), blocks=(0, 1))
"""4 x 4 in blocks of 2 x 2, of which three are there."""
TALL = Sparsity(order=(0, 1, 2), levels=(2, ((0, 1, 3), (1, 0, 1)), 4), blocks=(0,))
"""8 x 2 in blocks of 4 rows."""
FORMS = {
    "rows": (ROWS, (3, 4), 5), "columns": (COLUMNS, (3, 4), 5), "both": (BOTH, (3, 4), 5), "blocks": (BLOCKS, (4, 4), 12),
    "tall": (TALL, (8, 2), 12),
}


def sparse_model(model: Assembly, value: object, *, form: str) -> None:
    """A sparse constant, made dense and added to an input."""
    sparsity, shape, stored = FORMS[form]
    main, dtype = model.writer, model.form.dtype("x")
    numbers = np.arange(1, stored + 1).astype(dtype)
    constant = main.add_tensor("sparse", shape, dtype, numbers.tobytes(), sparsity=sparsity)
    dense, out = main.add_tensor("dense", shape, dtype), main.add_tensor("out", shape, dtype)
    given = model.add("in0", x(*shape))
    main.add_operator("DENSIFY", [constant], [dense])
    main.add_operator("ADD", [given, dense], [out])
    main.outputs = [out]


CASES = cases("DENSIFY", i32(), model=sparse_model, form=each(*FORMS))
