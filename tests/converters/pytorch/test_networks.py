"""PyTorch's networks, from `.pt2` to the hub, TOSA and StableHLO: made here where torch is installed, else as they were kept."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.contents import op_counts
from transload.ir import F32, ArrayData, ComplexType, Module, Op, TensorType, initial_states, new_module, set_results

from .conftest import KEPT, LIVE, arrays
from tests.networks.journey import assert_near, fitted

NAMES = sorted(path.stem for path in KEPT.glob("*.pt2"))
XLA = importlib.util.find_spec("jaxlib") is not None
"""Who runs StableHLO; without it the reference engine does, which runs no loops."""
LOOPS = ("control_flow",)


def journey(path: Path, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], targets: Sequence[str]) -> Module:
    """An archive to the hub and on, each checked against what PyTorch computed; the hub."""
    open_module = transload.load(path, inputs=shapes(path, inputs))
    hub = transload.legalize(open_module)
    modules = {"the hub": hub, **{target: transload.lower(hub, target) for target in targets}}
    for what, module in modules.items():
        given = dict(zip(module.inputs, fitted(module, inputs), strict=True))
        engine = "xla" if what == "stablehlo" and XLA else "reference"
        results = list(transload.run(module, given, engine=engine).values())
        assert_near(results, outputs, f"{path.stem}, {what}")
    return hub


def shapes(path: Path, inputs: Sequence[np.ndarray]) -> dict[str, Any] | None:
    """The shapes to load an archive with, where it leaves some open."""
    if path.stem not in ("dynamic_sizes", "dynamic_numbers"):
        return None
    return {"x": inputs[0].shape}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NAMES)
def test_every_way(name: str) -> None:
    targets = ("tosa", "stablehlo") if XLA or name not in LOOPS else ("tosa",)
    journey(KEPT / f"{name}.pt2", *arrays(name), targets)


@pytest.mark.skipif(not LIVE, reason="torch is not installed: its kept programs are tested")
@pytest.mark.parametrize("name", NAMES)
def test_exported_now(name: str, tmp_path: Path) -> None:
    from tests.converters.pytorch.make_kept import exported

    file = tmp_path / f"{name}.pt2"
    inputs, outputs = exported(name, file)
    journey(file, inputs, outputs, ("tosa",))


@pytest.mark.skipif(not LIVE, reason="torch is not installed")
def test_complex_numbers_decomposed(tmp_path: Path) -> None:
    """As `run_decompositions` leaves them: `_fft_c2c`, `_conj` and their like."""
    import torch

    from tests.converters.pytorch.networks import NETWORKS

    made = NETWORKS["complex_numbers"]()
    with torch.no_grad():
        torch.export.save(torch.export.export(made.model, made.example).run_decompositions(), tmp_path / "complex.pt2")
        outputs = [each.numpy() for each in made.model(*made.example)]
    journey(tmp_path / "complex.pt2", [x.numpy() for x in made.given], outputs, ("tosa",))


@pytest.mark.parametrize(("of", "why"), [
    ("result", "complex numbers cannot be a result of the program"), ("input", "complex numbers from outside the program"),
    ("sin", "computes with complex numbers, which is not converted of this operator")])
def test_complex_numbers_that_are_not_converted_are_refused(of: str, why: str) -> None:
    module = new_module()
    real, pair = TensorType((3,), F32), TensorType((3,), ComplexType(F32))
    main = module.add_function("main", [pair if of == "input" else real], ["x"])
    block = main.regions[0].block
    (x,) = block.arguments
    if of != "input":
        x = block.append(Op("aten.complex.default", (x, x), (pair,))).results[0]
    if of == "sin":
        x = block.append(Op("aten.sin.default", (x,), (pair,))).results[0]
    if of != "result":
        x = block.append(Op("aten.abs.default", (x,), (real,))).results[0]
    set_results(main, [x], ["y"])
    with pytest.raises(transload.errors.ConversionError, match=why):
        transload.legalize(module)


@pytest.mark.parametrize("dialect", ["top", "tosa"])
def test_numbers_beside_16_bit_floats_are_rounded_as_pytorch_does(dialect: str) -> None:
    """Each has its own rule; products were one step off for two of five numbers."""
    module = transload.lower(transload.load(KEPT / "narrow_floats.pt2"), dialect)
    inputs, outputs = arrays("narrow_floats")
    for name, found, wanted in zip(module.outputs, transload.run(module, {"x": inputs[0]}).values(), outputs, strict=True):
        np.testing.assert_array_equal(found, wanted, name)


def test_weights_are_views_of_the_file() -> None:
    module = transload.load(KEPT / "cnn.pt2")
    held = [op.attributes["value"].data for op in module.ops() if op.name == "aten.Constant"]
    assert held and all(isinstance(data, ArrayData) and not data.numpy().flags.owndata for data in held)


def test_weights_of_products_are_views_of_the_file_in_tosa_too() -> None:
    tosa = transload.lower(transload.legalize(transload.load(KEPT / "transformer_encoder.pt2")), "tosa")
    held = [op.attributes["values"].data.numpy() for op in tosa.ops() if op.name == "tosa.const"]
    large = [array for array in held if array.size >= 24 * 24]
    assert len(large) >= 8 and not any(array.flags.owndata or _root(array).flags.owndata for array in large)


def _root(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def test_values_are_called_by_their_modules() -> None:
    module = transload.load(KEPT / "transformer_encoder.pt2")
    names = {op.origin for op in module.ops()}
    assert {"table", "first.linear1", "second.norm2", "first.self_attn/linear", "first.linear1.weight"} <= names


def test_composites_stay_whole() -> None:
    counts = op_counts(transload.legalize(transload.load(KEPT / "transformer_encoder.pt2")))
    assert counts["top.LayerNorm"] == 4 and counts["top.Softmax"] == 2 and counts["top.GELU"] == 1


def test_buffers_that_are_written_are_forgotten_or_handed_on() -> None:
    module = transload.load(KEPT / "decoder_with_cache.pt2")
    assert list(transload.legalize(module).inputs) == ["x", "place"]
    hub = transload.legalize(module, state="explicit")
    assert list(hub.inputs) == ["x", "place", "keys", "values"]
    assert list(hub.outputs)[1:] == ["keys_next", "values_next"]
    (x, place), _ = arrays("decoder_with_cache")
    given = {"x": x, "place": place, **initial_states(hub)}
    first = transload.run(hub, given, engine="reference")
    assert np.count_nonzero(first["keys_next"].any(axis=(0, 1, 3))) == 1
    second = transload.run(hub, {**given, "place": place + 1, "keys": first["keys_next"], "values": first["values_next"]},
                           engine="reference")
    assert np.count_nonzero(second["keys_next"].any(axis=(0, 1, 3))) == 2


def test_what_a_dictionary_gives_is_called_by_its_keys() -> None:
    assert list(transload.load(KEPT / "detector.pt2").outputs) == ["boxes", "scores"]


@pytest.mark.skipif(not LIVE, reason="torch is not installed")
@pytest.mark.parametrize("name", ["cnn", "control_flow", "transformer_encoder", "dynamic_sizes"])
def test_conversion_is_verified_by_torch(tmp_path: Path, name: str) -> None:
    given = shapes(KEPT / f"{name}.pt2", arrays(name)[0])
    artifact = transload.convert(KEPT / f"{name}.pt2", "tosa", tmp_path, inputs=given)
    assert artifact.verified
    assert artifact.verification is not None and artifact.verification.runtime == "torch"


@pytest.mark.skipif(not LIVE, reason="torch is not installed")
def test_numbers_that_a_program_gives_beside_tensors_are_verified(tmp_path: Path) -> None:
    """The judge gave tensors alone, and what else a program gives was told as its defect."""
    import torch

    class Numbers(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2, 3, None, 1.5, True, x.shape[0], x + 1

    program = torch.export.export(Numbers(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: torch.export.Dim("n", min=2)}})
    torch.export.save(program, tmp_path / "m.pt2")
    found = transload.convert(tmp_path / "m.pt2", "tosa", tmp_path / "out", inputs={"x": (4, 3)}).verification
    assert found is not None and found.passed
    assert [tensor.dtype for tensor in found.tensors] == ["float32", "int64", "float32", "bool", "int64", "float32"]
