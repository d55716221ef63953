"""Numbers that a model only moves come out of whatever it is converted to: same names, types, shapes and bits, in every engine.

A model in ONNX, TFLite or StableHLO moves inputs of any element type and rank (transposes, reshapes, joins them with constants);
numpy says what it gives. It is run as it is, printed and read again, and converted to each target that takes it: what was written
runs in the engines, and where it is ONNX or TFLite, in that format's own runtime. Of TOSA, 64 bits are 32, as the docs say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import transload
from transload.errors import TransloadError
from transload.ir import Module
from transload_converters.tflite.writer import ModelWriter

from tests.drawn import Outcome
from tests.drawn.borders import ELEMENTS, numbers, text_of
from tests.support.litert import run_litert
from tests.support.onnx_models import TYPES, make_model, node

SAMPLE = 10

SHAPES: list[tuple[int, ...]] = [
    (), (3,), (1,), (0,), (2, 3), (1, 4), (0, 4), (2, 1, 3), (1, 2, 3, 2), (1, 3, 4, 1), (2, 0, 3, 1), (1, 2, 1, 3, 2)]
QUANTIZED = {"int8": (-5, 0), "uint8": (128, 3), "int16": (0,)}
"""Zero points of quantized tensors of TFLite."""

NARROW = {"tosa": {"int64": "int32", "uint64": "uint32", "float64": "float32"}, "tflite": {"float64": "float32"}}
"""The types that a target has in the place of others (docs/tosa-arithmetic.md, docs/tflite_out.md)."""


@dataclass
class Model:
    """A model that moves numbers, and what comes of them."""

    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    moves: list[tuple[str, str, str, Any]] = field(default_factory=list)
    """Kind, the name of what is moved and of what comes of it, and how: an order, a shape, or a constant and an axis."""
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def model_of(rng: np.random.Generator, dtypes: list[np.dtype]) -> Model:
    """Inputs of some types, each moved up to three times."""
    model = Model()
    for place in range(rng.integers(1, 3)):
        dtype = dtypes[rng.integers(len(dtypes))]
        array = numbers(rng, SHAPES[rng.integers(len(SHAPES))], dtype, np.dtype("int16"))
        if dtype.name in ("int64", "uint64"):
            array = (array % 1000).astype(dtype)  # TOSA takes numbers of 64 bits that 32 have
        elif dtype.kind in "fc":
            array = np.where(np.isfinite(array), np.clip(array.real, -1e4, 1e4), 0).astype(np.float16).astype(dtype)
        name = origin = f"in/{place}"
        model.inputs[name] = model.arrays[name] = array
        for step in range(rng.integers(1, 4)):
            kind = str(rng.choice(["transpose", "reshape", "concat"] if array.ndim else ["reshape"]))
            if kind == "transpose":
                how: Any = [int(each) for each in rng.permutation(array.ndim)]
                array = array.transpose(how)
            elif kind == "reshape":
                how = [(1, *array.shape), (array.size,), (*array.shape, 1)][rng.integers(3)][:6]
                how = [int(each) for each in (how if np.prod(how, dtype=int) == array.size else (array.size,))]
                array = array.reshape(how)
            else:
                how = (array, int(rng.integers(array.ndim)))
                array = np.concatenate([array, array], how[1])
            made = f"{origin}_{step}"
            model.moves.append((kind, name, made, how))
            name, model.arrays[made] = made, np.ascontiguousarray(array).reshape(array.shape)
        model.outputs[name] = model.arrays[name]
    return model


def as_onnx(model: Model, folder: Path, rng: np.random.Generator) -> Path:
    nodes, constants = [], {}
    for kind, name, made, how in model.moves:
        if kind == "transpose":
            nodes.append(node("Transpose", [name], [made], perm=how))
        elif kind == "reshape":
            constants[f"{made}_s"] = np.int64(how)
            nodes.append(node("Reshape", [name, f"{made}_s"], [made], allowzero=1))
        else:
            constants[f"{made}_c"] = how[0]
            nodes.append(node("Concat", [name, f"{made}_c"], [made], axis=how[1]))
    whole = make_model(nodes, model.inputs, list(model.outputs), constants)
    whole.graph.ClearField("output")
    for name, array in model.outputs.items():
        whole.graph.output.append(onnx.helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape))
    onnx.save(whole, folder / "m.onnx")
    return folder / "m.onnx"


def as_tflite(model: Model, folder: Path, rng: np.random.Generator) -> Path:
    file = ModelWriter()
    is_quantized = bool(rng.integers(0, 2))
    points = {dtype: int(rng.choice(each)) for dtype, each in QUANTIZED.items()}

    def tensor(name: str, array: np.ndarray, data: np.ndarray | None = None) -> int:
        held = ([0.5], [points[array.dtype.name]]) if is_quantized and array.dtype.name in QUANTIZED else None
        return file.add_tensor(name, array.shape, array.dtype, data, held)

    places = {name: tensor(name, array) for name, array in model.arrays.items()}
    for kind, name, made, how in model.moves:
        if kind == "concat":
            constant = tensor(f"{made}_c", how[0], how[0])
            file.add_operator("CONCATENATION", [places[name], constant], [places[made]], {"axis": how[1]})
        else:
            constant = file.add_tensor(f"{made}_s", (len(how),), "int32", np.int32(how))
            file.add_operator(kind.upper(), [places[name], constant], [places[made]])
    file.inputs, file.outputs = [places[name] for name in model.inputs], [places[name] for name in model.outputs]
    (folder / "m.tflite").write_bytes(file.finish())
    return folder / "m.tflite"


def as_text(model: Model, folder: Path, rng: np.random.Generator) -> Path:
    """StableHLO, or functions alone where nothing is moved: there of the types that only text can say."""
    said = {np.dtype(dtype): element for element, dtype in ELEMENTS.items() if not element.startswith(("!", "si", "index"))}

    def type_of(array: np.ndarray) -> str:
        return f"tensor<{''.join(f'{size}x' for size in array.shape)}{said[array.dtype]}>"

    types = {name: type_of(array) for name, array in model.arrays.items()}
    values = {name: f"%a{place}" for place, name in enumerate(model.inputs)}
    lines = []
    for place, (kind, name, made, how) in enumerate(model.moves):
        values[made] = f"%v{place}"
        if kind == "transpose":
            order = f"array<i64{':' * bool(how)} {', '.join(map(str, how))}>"
            lines.append(f'%v{place} = "stablehlo.transpose"({values[name]}) <{{permutation = {order}}}> : '
                         f'({types[name]}) -> {types[made]}')
        elif kind == "reshape":
            lines.append(f'%v{place} = "stablehlo.reshape"({values[name]}) : ({types[name]}) -> {types[made]}')
        else:  # joined with itself: what is appended is the same array
            lines.append(f'%v{place} = "stablehlo.concatenate"({values[name]}, {values[name]}) <{{dimension = {how[1]} : i64}}> '
                         f': ({types[name]}, {types[name]}) -> {types[made]}')
    text = text_of([*model.inputs], [types[name] for name in model.inputs])
    head = text[:text.index(" -> ")]
    results = ", ".join(f'{types[name]} {{ml_program.identifier = "{name}"}}' for name in model.outputs)
    back = f"return {', '.join(values[name] for name in model.outputs)} : {', '.join(types[name] for name in model.outputs)}"
    (folder / "m.mlir").write_text("\n".join([f"{head} -> ({results}) {{", *lines, back, "}"]), encoding="utf-8")
    return folder / "m.mlir"


FORMATS: dict[str, tuple[Callable[[Model, Path, np.random.Generator], Path], list[Any]]] = {
    "onnx": (as_onnx, [*TYPES]),
    "tflite": (as_tflite, [np.dtype(each) for each in ("int8", "uint8", "int16", "int32", "int64", "float32", "bool", "int8")]),
    "text": (as_text, [np.dtype(each) for name, each in ELEMENTS.items() if name not in (
        "index", "f6E2M3FN", "f4E2M1FN", "f8E8M0FNU", "f8E3M4")])}


def draw(number: int, folder: Path) -> Outcome:
    rng = np.random.default_rng(number)
    kind = str(rng.choice([*FORMATS]))
    write, dtypes = FORMATS[kind]
    model = model_of(rng, dtypes)
    told = f"{kind}: {({name: f'{a.dtype}{a.shape}' for name, a in model.inputs.items()})}, {[m[0] for m in model.moves]}"
    path = write(model, folder, rng)
    module = transload.load(path)
    wrong = wrong_module(module, model, {})
    if wrong:
        return Outcome("other", f"as it was read: {wrong}\n{told}")
    for suffix in (".mlir", ".mlirbc"):
        try:
            again = transload.load(transload.save(module, folder / f"again{suffix}"))
        except TransloadError as error:
            if suffix == ".mlir":
                return Outcome("raised", f"cannot be printed and read again\n{told}\n{error}")
            continue
        wrong = wrong_module(again, model, {})
        if wrong:
            return Outcome("other", f"read again from {suffix}: {wrong}\n{told}")
    target = str(rng.choice(["tosa", "stablehlo", "onnx", "tflite"]))
    try:
        transload.convert(path, target, folder / "out", verify=False)
    except TransloadError as error:
        return Outcome(f"{target} refuses") if "defect" not in str(error) else Outcome("raised", f"a defect\n{told}\n{error}")
    written = {"tosa": "m.tosa", "stablehlo": "m.mlirbc", "onnx": "m.onnx", "tflite": "m.tflite"}[target]
    artifact = transload.load(folder / "out" / written)
    narrow = NARROW.get(target, {})
    wrong = wrong_module(artifact, model, narrow) or wrong_elsewhere(folder / "out" / written, model, narrow)
    return Outcome("other", f"{target}: {wrong}\n{told}") if wrong else Outcome(f"exact, {target}")


def wrong_module(module: Module, model: Model, narrow: Mapping[str, str]) -> str:
    """What is wrong with the names, types and numbers of a module, in the engines; nothing where all is right."""
    inputs = {name: array.astype(narrow.get(array.dtype.name, array.dtype)) for name, array in model.inputs.items()}
    outputs = {name: array.astype(narrow.get(array.dtype.name, array.dtype)) for name, array in model.outputs.items()}
    for side, types, arrays in (("inputs", module.inputs, inputs), ("outputs", module.outputs, outputs)):
        if list(types) != list(arrays):
            return f"names of {side}\n{list(types)}, and {list(arrays)}"
        for name, type_ in types.items():
            element = transload.ir.dtype_of(type_.element)  # type: ignore[attr-defined]
            if element != arrays[name].dtype or type_.shape != arrays[name].shape:  # type: ignore[attr-defined]
                return f"types of {side}\n{name}: {type_}, and {arrays[name].dtype}{arrays[name].shape}"
    kept = []
    for engine in ("reference", "xla"):
        try:
            made = transload.run(module, inputs, engine=engine, keep=True)
        except TransloadError as error:
            if engine == "xla" and ("StableHLO has no" in str(error) or "XLA" in str(error)):
                continue
            return f"{engine} refuses\n{error}"
        wrong = other_arrays({name: made[name] for name in outputs if name in made}, outputs)
        if wrong:
            return f"{engine}: {wrong}"
        kept.append({name: array for name, array in made.items() if name in model.arrays})
        if not narrow and (wrong := other_arrays(kept[-1], {name: model.arrays[name] for name in kept[-1]})):
            return f"{engine}, keep: {wrong}"
    if len(kept) == 2 and list(kept[0]) != list(kept[1]):
        return f"keep gives other names\n{list(kept[0])}, and {list(kept[1])}"
    return ""


def other_arrays(made: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]) -> str:
    if list(made) != list(right):
        return f"names\n{list(made)}, and {list(right)}"
    for name, array in right.items():
        if made[name].dtype != array.dtype or made[name].shape != array.shape:
            return f"types\n{name}: {made[name].dtype}{made[name].shape}, and {array.dtype}{array.shape}"
        if np.ascontiguousarray(made[name]).tobytes() != np.ascontiguousarray(array).tobytes():
            return f"numbers of {array.dtype}\n{name}: {made[name]!r}, and {array!r}"
    return ""


def wrong_elsewhere(path: Path, model: Model, narrow: Mapping[str, str]) -> str:
    """What the format's own runtime finds other, of a file that was written."""
    inputs, outputs = ({name: array.astype(narrow.get(array.dtype.name, array.dtype)) for name, array in side.items()}
                       for side in (model.inputs, model.outputs))
    if path.suffix == ".onnx":
        import onnxruntime

        try:
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        except Exception as error:
            if "Could not find an implementation" in str(error):
                return ""  # it has kernels for the usual types alone
            raise
        if any(array.dtype.type.__module__ != "numpy" for array in model.inputs.values()):
            return ""
        made = dict(zip([each.name for each in session.get_outputs()], session.run(None, inputs), strict=True))
        return "onnxruntime: " * bool(wrong := other_arrays(made, outputs)) + wrong
    if path.suffix == ".tflite" and all(array.size for array in model.arrays.values()):
        made = dict(zip(outputs, run_litert(path.read_bytes(), list(inputs.values())), strict=True))
        return "LiteRT: " * bool(wrong := other_arrays(made, outputs)) + wrong
    return ""
