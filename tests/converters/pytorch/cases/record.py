"""What torch computes for the cases, recorded: one array of numbers an element type, and where in it each result lies.

    python -m tests.converters.pytorch.cases.record          (`make test-torch`)
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from . import complex_numbers, corners, ends, layers, numbers, others, tensors, vision
from .spec import DTYPES, Case, Cases, Dt

__all__ = ["RECORDED", "all_cases", "computed", "recorded"]

RECORDED = Path(__file__).with_name("recorded.npz")


def all_cases() -> list[Case]:
    """All of them, in order."""
    cases = Cases()
    for family in (numbers, tensors, layers, vision, others, complex_numbers, ends, corners):
        family.fill(cases)
    return cases.all


def recorded() -> dict[str, list[np.ndarray]]:
    """The results of each case by its name."""
    with np.load(RECORDED) as held:
        index = json.loads(held["index"].tobytes())
        flat = {name: held[name].view(DTYPES[name]) for name in held if name != "index"}
    return {case: [flat[dtype][start : start + int(np.prod(shape))].reshape(shape) for dtype, shape, start in results]
            for case, results in index.items()}


def computed(case: Case) -> list[np.ndarray]:
    """What the torch that is installed computes for a case."""
    import torch

    from transload_converters.pytorch.session import _DTYPES, _array, _tensor

    from tests.converters.pytorch import torchvision_ops

    def given(value: Any) -> Any:
        if isinstance(value, list):
            return [given(each) for each in value]
        if isinstance(value, Dt):
            return _DTYPES[value.name]
        return _tensor(value) if isinstance(value, np.ndarray) else value

    library, _, rest = case.op.partition(".")
    if library == "quantized_decomposed":
        import torch.ao.quantization.fx._decomposed
    elif library == "torchvision":
        torchvision_ops.declare()
    else:
        library, rest = "aten", case.op
    function: Any = torch.ops
    for part in (library, *rest.split(".")):
        function = getattr(function, part)
    made = function(**{key: given(value) for key, value in case.make().items()})
    results = list(made) if isinstance(made, tuple | list) else [made]
    return [_array(result.resolve_conj()) for result in results if isinstance(result, torch.Tensor)]


def main() -> None:
    """Compute and write them."""
    flat: dict[str, list[np.ndarray]] = {}
    sizes: dict[str, int] = {}
    index: dict[str, list[Any]] = {}
    words = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    for case in all_cases():
        places = []
        for result in computed(case):
            word = words[result.dtype]
            places.append([word, list(result.shape), sizes.get(word, 0)])
            flat.setdefault(word, []).append(result.reshape(-1))
            sizes[word] = sizes.get(word, 0) + result.size
        index[case.name] = places
    arrays: dict[str, Any] = {word: np.concatenate(parts) for word, parts in flat.items()}
    arrays = {word: array.view(np.int16) if word == "bf16" else array for word, array in arrays.items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, index=np.frombuffer(json.dumps(index).encode(), np.uint8), **arrays)
    RECORDED.write_bytes(buffer.getvalue())
    print(f"{RECORDED}: {len(index)} cases of {len({case.op for case in all_cases()})} operators, {len(buffer.getvalue()):,} "
          f"bytes")


if __name__ == "__main__":
    main()
