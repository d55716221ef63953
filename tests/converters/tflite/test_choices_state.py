"""The option `state`: what a model keeps between runs as inputs and outputs, step by step against LiteRT without a reset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload import convert
from transload.api import load, lower, run
from transload.errors import ConversionError
from transload.ir import Module, initial_states, input_names, output_names
from transload.report import StateReport
from transload.verification.inputs import random_inputs
from transload_converters.tflite.writer import ModelWriter

from tests.support.litert import interpreter_of

T, N, I, H, P = 3, 2, 4, 5, 3
STEPS = 6
random = np.random.default_rng(11)
TANH: dict[str, Any] = {"fused_activation_function": "TANH"}


def floats(*shape: int) -> tuple[Any, ...]:
    return shape, "float32", random.normal(0, 0.5, shape).astype(np.float32)


def integers(*shape: int, scale: float = 0.01, dtype: str = "int8", most: int = 127) -> tuple[Any, ...]:
    return shape, dtype, random.integers(-most, most + 1, shape).astype(dtype), ([scale], [0])


def variable(*shape: int) -> tuple[Any, ...]:
    return shape, "float32", "variable"


def gates(make: Callable[[], Any]) -> list[Any]:
    return [make() for _ in range(4)]


def lstm(matrix: Callable[..., Any], out: int = H) -> list[Any]:
    projection = [matrix(P, H), floats(P)] if out == P else [None, None]
    return [*gates(lambda: matrix(H, I)), *gates(lambda: matrix(H, out)), *[None] * 3, *gates(lambda: floats(H)), *projection]


def layer(matrix: Callable[..., Any]) -> list[Any]:
    return [matrix(H, I), matrix(H, H), floats(H), variable(N, H)]


X = ((N, I), "float32")
SEQUENCE, OUTPUT = ((N, T, I), "float32"), ((N, T, H), "float32")
LSTM, BOTH_LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM"
RNN, BOTH_RNN = "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN"
APART = {"merge_outputs": False, "time_major": False, **TANH}

Model = tuple[str, list[Any], list[Any], dict[str, Any], int]


def models_of(matrix: Callable[..., Any], kind: str) -> dict[str, Model]:
    """Every operator with state, with weights of a kind."""
    return {f"{name}, {kind}": model for name, model in {
        "svdf": ("SVDF", [X, matrix(6, I), matrix(6, 4), floats(3), variable(N, 24)], [((N, 3), "float32")], {"rank": 2}, 3),
        "rnn": ("RNN", [X, *layer(matrix)], [((N, H), "float32")], TANH, 3),
        "rnn sequence": (RNN, [SEQUENCE, *layer(matrix)], [OUTPUT], TANH, 3),
        "rnn sequence, relu6": (RNN, [SEQUENCE, *layer(matrix)], [OUTPUT], {"fused_activation_function": "RELU6"}, 3),
        "rnn both": (BOTH_RNN, [SEQUENCE, *layer(matrix), *layer(matrix), None, None, None], [OUTPUT] * 2, APART, 3),
        "lstm step": ("LSTM", [X, *lstm(matrix), variable(N, H), variable(N, H)], [((N, H), "float32")], TANH, 4),
        "lstm": (LSTM, [SEQUENCE, *lstm(matrix), variable(N, H), variable(N, H)], [OUTPUT], TANH, 4),
        "lstm, time first": (
            LSTM, [((T, N, I), "float32"), *lstm(matrix), variable(N, H), variable(N, H)], [((T, N, H), "float32")],
            {"time_major": True, **TANH}, 4),
        "lstm, projection": (
            LSTM, [SEQUENCE, *lstm(matrix, P), variable(N, P), variable(N, H)], [((N, T, P), "float32")],
            {"cell_clip": 0.7, **TANH}, 4),
        "lstm both": (
            BOTH_LSTM, [SEQUENCE, *lstm(matrix), *lstm(matrix), *(variable(N, H) for _ in range(4)), *[None] * 9],
            [OUTPUT] * 2, APART, 3),
    }.items()}


MODELS = models_of(floats, "floats") | models_of(integers, "hybrid")


def stream(path: Path, runs: Callable[[dict[str, np.ndarray]], list[np.ndarray]], module: Module, steps: int = STEPS) -> None:
    """Compare `steps` runs in a row: integers exactly."""
    source = load(path)
    state = initial_states(module)
    names = input_names(module.main)
    for step in range(steps):
        given = random_inputs(source, None, step)
        expected = runs(given)
        outputs = run(module, dict(zip(names, (*given.values(), *state.values()), strict=True)))
        state = {each.input: outputs[each.output] for each in module.states}
        for actual, wanted in zip(outputs.values(), expected, strict=False):
            if wanted.dtype.kind == "f":
                near = 2e-6 * max(np.abs(wanted).max(), 1)
                np.testing.assert_allclose(actual, wanted, rtol=0, atol=near, err_msg=f"run {step}")
            else:
                np.testing.assert_array_equal(actual, wanted, err_msg=f"run {step}")


def litert_of(path: Path) -> Callable[[dict[str, np.ndarray]], list[np.ndarray]]:
    """Runs a model with LiteRT's reference kernels, which keep its state."""
    interpreter = interpreter_of(path.read_bytes())
    interpreter.allocate_tensors()

    def runs(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        for detail, array in zip(interpreter.get_input_details(), given.values(), strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

    return runs


@pytest.mark.parametrize("name", MODELS)
def test_runs_in_a_row(name: str, write: Callable[..., bytes], tmp_path: Path) -> None:
    operator, inputs, outputs, options, version = MODELS[name]
    path = tmp_path / "model.tflite"
    path.write_bytes(write(operator, inputs, outputs, options, version=version))
    module = lower(load(path), "tosa", state="explicit")
    states = [f"in{index}" for index, tensor in enumerate(inputs) if tensor is not None and isinstance(tensor[-1], str) and (
        tensor[-1] == "variable")]
    assert input_names(module.main) == ["in0", *states]
    assert output_names(module.main)[len(outputs) :] == [f"{state}_next" for state in states]
    stream(path, litert_of(path), module)


def shared(use: str) -> bytes:
    """Layers whose state others see: a second layer, an operator before and one behind, or who takes the outputs."""
    model = ModelWriter()
    x = model.add_tensor("x", (N, I), "float32")
    matrices = [model.add_tensor(name, *floats(*sizes)) for name, sizes in (("w", (H, I)), ("r", (H, H)), ("b", (H,)))]
    state = model.add_tensor("h", (N, H), "float32", is_variable=True)
    made = [model.add_tensor(name, (N, H), "float32") for name in ("y", "z", "before")]
    model.inputs, model.outputs = [x], made[:2]
    if use == "around":
        model.add_operator("NEG", [state], made[2:])
        model.outputs = made
    model.add_operator("RNN", [x, *matrices, state], made[:1], TANH)
    if use == "two layers":
        model.add_operator("RNN", [x, *matrices, state], made[1:2], TANH)
    elif use == "an output":
        model.outputs = [made[0], state]
    else:
        model.add_operator("NEG", [state], made[1:2])
    return model.finish()


@pytest.mark.parametrize("use", ["two layers", "behind", "around", "an output"])
def test_what_a_layer_leaves_is_seen_by_others(use: str, tmp_path: Path) -> None:
    """In one run that begins with zeros, and in many."""
    path = tmp_path / "model.tflite"
    path.write_bytes(shared(use))
    stream(path, litert_of(path), lower(load(path), "tosa", state="explicit"))
    given = random_inputs(load(path), None, 3)
    for actual, wanted in zip(run(lower(load(path), "tosa"), given).values(), litert_of(path)(given), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=2e-6)


@pytest.mark.parametrize("seen", [0, 1])
def test_what_is_seen_of_one_state_of_two(seen: int, tmp_path: Path) -> None:
    """An LSTM leaves its output and its cell: where one alone was read elsewhere, its rewrite gave a result too many."""
    model = ModelWriter()
    x = model.add_tensor("x", SEQUENCE[0], "float32")
    held = [None if each is None else model.add_tensor(f"t{place}", *each) for place, each in enumerate(lstm(floats))]
    states = [model.add_tensor(name, (N, H), "float32", is_variable=True) for name in ("h", "c")]
    made = model.add_tensor("y", OUTPUT[0], "float32")
    operands = [x, *held, *([None] * (18 - 1 - len(held))), *states]
    model.add_operator(LSTM, operands, [made], {"time_major": False, **TANH})
    model.inputs, model.outputs = [x], [made, states[seen]]
    path = tmp_path / "model.tflite"
    path.write_bytes(model.finish())
    stream(path, litert_of(path), lower(load(path), "tosa", state="explicit"))
    given = random_inputs(load(path), None, 3)
    for actual, wanted in zip(run(lower(load(path), "tosa"), given).values(), litert_of(path)(given), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=2e-6)


def integer_svdf() -> bytes:
    model = ModelWriter()
    x = model.add_tensor("x", (N, I), "int8", quantization=([0.05], [3]))
    parts = [model.add_tensor(name, *rest) for name, *rest in (
        ("features", *integers(6, I)), ("times", *integers(6, 4, scale=2**-12, dtype="int16", most=5000)),
        ("bias", (3,), "int32", random.integers(-9999, 9999, 3), ([2**-22], [0])))]
    state = model.add_tensor("state", (N, 24), "int16", quantization=([2**-10], [0]), is_variable=True)
    y = model.add_tensor("y", (N, 3), "int8", quantization=([0.05], [-4]))
    model.inputs, model.outputs = [x], [y]
    model.add_operator("SVDF", [x, *parts, state], [y], {"rank": 2, "fused_activation_function": "RELU"}, version=3)
    return model.finish()


def integer_lstm(
    cell_scale: float = 2.0**-11, noted: tuple[float, int] = (0.0071, 4), given: tuple[float, int] = (0.0071, 4),
) -> bytes:
    """`noted` are the steps of the hidden state, `given` those of the result."""
    model, output = ModelWriter(), ([0.0071], [4])
    x = model.add_tensor("x", (N, T, I), "int8", quantization=([0.047], [2]))
    matrices = [model.add_tensor(f"w{i}", *integers(H, I, scale=0.006)) for i in range(4)]
    matrices += [model.add_tensor(f"r{i}", *integers(H, H, scale=0.005)) for i in range(4)]
    biases = [
        model.add_tensor(f"b{i}", (H,), "int32", random.integers(-2000, 2000, H), ([0.047 * 0.006], [0])) for i in range(4)]
    hidden = model.add_tensor("h", (N, H), "int8", quantization=output, is_variable=True)
    cell = model.add_tensor("c", (N, H), "int16", quantization=([cell_scale], [0]), is_variable=True)
    inner = [model.add_tensor(f"i{i}", (), "int16", quantization=([2.0**-12], [0])) for i in range(4)]
    inner.append(model.add_tensor("i4", (), "int8", quantization=([noted[0]], [noted[1]])))
    y = model.add_tensor("y", (N, T, H), "int8", quantization=([given[0]], [given[1]]))
    model.inputs, model.outputs = [x], [y]
    operands = [x, *matrices, None, None, None, *biases, None, None, hidden, cell]
    model.add_operator(LSTM, operands, [y], TANH, version=3, intermediates=inner)
    return model.finish()


@pytest.mark.parametrize(("make", "states"), [(integer_svdf, {"state": 0}), (integer_lstm, {"h": 4, "c": 0})])
def test_integers_are_exact(make: Callable[[], bytes], states: dict[str, int], tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(make())
    module = lower(load(path), "tosa", state="explicit", gates="exact")
    assert {name: array.flat[0] for name, array in initial_states(module).items()} == states
    stream(path, litert_of(path), module)


@pytest.mark.parametrize("cell", [2.0**-15, 2.0**-12, 2.0**-9])
def test_gates_of_integers(cell: float, tmp_path: Path) -> None:
    """By tables a result is at most 1 off; looked up, none is."""
    path = tmp_path / "model.tflite"
    path.write_bytes(integer_lstm(cell))
    given = random_inputs(load(path), None, 3)
    (expected,) = litert_of(path)(given)
    for choice, most in (("table", 1), ("exact", 0)):
        (actual,) = run(lower(load(path), "tosa", gates=choice), given).values()
        assert np.abs(actual.astype(int) - expected).max() <= most


@pytest.mark.parametrize("noted", [(0.0071, 4), (0.0079, 1), (0.0071, -3)])
@pytest.mark.parametrize("given", [(0.0071, 4), (0.0083, -2)])
def test_numbers_of_a_state_are_given_as_they_are_stored(
    noted: tuple[float, int], given: tuple[float, int], tmp_path: Path,
) -> None:
    """Both directions of a `Bidirectional` have steps of their own, and their concatenation one: as TensorFlow writes them."""
    path = tmp_path / "model.tflite"
    path.write_bytes(integer_lstm(noted=noted, given=given))
    inputs = random_inputs(load(path), None, 3)
    (expected,) = litert_of(path)(inputs)
    (actual,) = run(lower(load(path), "tosa", gates="exact"), inputs).values()
    np.testing.assert_array_equal(actual, expected)


def variables(with_first: bool = True, read: tuple[int, ...] = (3,)) -> bytes:
    """A running sum: `v = v + x`, twice `v` is given; a second variable is only read, a third set before it is read."""
    main = ModelWriter()
    x = main.add_tensor("x", (3,), "float32")
    main.inputs = [x]
    if with_first:
        start = main.add_subgraph("start")
        for name, values in (("sum", [10.0, 20.0, 30.0]), ("constant", [1.0, 2.0, 3.0])):
            handle, held = start.add_tensor(name, (), "resource"), start.add_tensor(f"{name}0", (3,), "float32", values)
            start.add_operator("VAR_HANDLE", [], [handle], {"shared_name": name})
            start.add_operator("ASSIGN_VARIABLE", [handle, held], [])
        main.add_operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    handles = {name: main.add_tensor(f"{name} handle", (), "resource") for name in ("sum", "constant", "late")}
    for name, handle in handles.items():
        main.add_operator("VAR_HANDLE", [], [handle], {"shared_name": name})
    held, total, twice, fixed, again, out = (
        main.add_tensor(name, (3,), "float32") for name in ("held", "total", "twice", "fixed", "again", "out"))
    main.add_operator("ASSIGN_VARIABLE", [handles["late"], x], [])
    main.add_operator("READ_VARIABLE", [handles["sum"]], [held])
    main.add_operator("ADD", [held, x], [total])
    main.add_operator("ASSIGN_VARIABLE", [handles["sum"], total], [])
    main.add_operator("READ_VARIABLE", [handles["sum"]], [twice])
    if read != (3,):
        again = main.add_tensor("other sizes", read, "float32")
    main.add_operator("READ_VARIABLE", [handles["late"]], [again])
    if with_first:
        main.add_operator("READ_VARIABLE", [handles["constant"]], [fixed])
    main.add_operator("MUL", [twice, fixed if with_first else again], [out])
    main.outputs = [out]
    return main.finish()


def test_variables(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(variables())
    module = lower(load(path), "tosa", state="explicit")
    assert input_names(module.main) == ["x", "sum"]
    assert output_names(module.main) == ["out", "sum_next"]
    np.testing.assert_array_equal(initial_states(module)["sum"], [10, 20, 30])
    stream(path, litert_of(path), module)


def test_a_read_that_declares_other_sizes_than_the_variable_has_is_refused(tmp_path: Path) -> None:
    """LiteRT copies the variable into a tensor of the sizes that the file says."""
    path = tmp_path / "model.tflite"
    path.write_bytes(variables(read=(0,)))
    with pytest.raises(ConversionError, match=r"its result has the shape \[0\], and the variable \[3\]"):
        lower(load(path), "tosa", state="explicit")


def test_a_variable_without_first_value_starts_with_zeros(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(variables(with_first=False))
    with pytest.raises(ConversionError, match=r"state=explicit"):
        lower(load(path), "tosa")
    module = lower(load(path), "tosa", state="explicit")
    np.testing.assert_array_equal(initial_states(module)["sum"], [0, 0, 0])
    outputs = run(module, {"x": np.float32([1, 2, 3]), "sum": np.zeros(3, np.float32)})
    np.testing.assert_array_equal(outputs["sum_next"], [1, 2, 3])


def test_names_that_are_taken_get_a_number(write: Callable[..., bytes], tmp_path: Path) -> None:
    model = ModelWriter()
    x = model.add_tensor("x", (N, I), "float32")
    state = model.add_tensor("x", (N, H), "float32", is_variable=True)
    parts = [model.add_tensor(f"p{i}", *part) for i, part in enumerate((floats(H, I), floats(H, H), floats(H)))]
    y = model.add_tensor("y", (N, H), "float32")
    model.inputs, model.outputs = [x], [y]
    model.add_operator("RNN", [x, *parts, state], [y], TANH)
    path = tmp_path / "model.tflite"
    path.write_bytes(model.finish())
    names = input_names(lower(load(path), "tosa", state="explicit").main)
    assert names[0] == "x"
    assert len(set(names)) == 2


def test_state_inside_a_subgraph_is_refused(tmp_path: Path) -> None:
    main = ModelWriter()
    x, out = main.add_tensor("x", (N, I), "float32"), main.add_tensor("out", (N, H), "float32")
    called = main.add_subgraph("called")
    given = called.add_tensor("x", (N, I), "float32")
    parts = [called.add_tensor(f"p{i}", *part) for i, part in enumerate((floats(H, I), floats(H, H), floats(H)))]
    state = called.add_tensor("state", (N, H), "float32", is_variable=True)
    called.inputs, called.outputs = [given], [called.add_tensor("y", (N, H), "float32")]
    called.add_operator("RNN", [given, *parts, state], called.outputs, TANH)
    main.inputs, main.outputs = [x], [out]
    main.add_operator("CALL", [x], [out], {"subgraph": 1})
    path = tmp_path / "model.tflite"
    path.write_bytes(main.finish())
    lower(load(path), "tosa")
    with pytest.raises(ConversionError) as caught:
        lower(load(path), "tosa", state="explicit")
    assert "subgraph" in str(caught.value.findings[0].why)


def test_converted_and_verified(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(integer_lstm())
    made = convert(path, "tosa", tmp_path / "out", options={"state": "explicit"})
    assert made.report.states == [StateReport("h", "h_next", 4), StateReport("c", "c_next", 0)]
    assert [each.name for each in made.report.inputs] == ["x", "h", "c"]
    assert made.verification is not None
    if made.verification.status == "skipped":
        pytest.skip(made.verification.why)
    assert made.verified
    assert len(made.verification.tensors) == 1


@pytest.mark.models
@pytest.mark.parametrize("name", ["tflm_mnist_lstm_float", "tflm_mnist_lstm_int8"])
def test_models_in_a_row(name: str, models: Path) -> None:
    paths = sorted((models / "tflite" / name).glob("*.tflite"))
    if not paths:
        pytest.skip(f"{name} is not there")
    stream(paths[0], litert_of(paths[0]), lower(load(paths[0]), "tosa", state="explicit", gates="exact"), steps=5)


@pytest.mark.models
def test_svdf_model_in_a_row(models: Path) -> None:
    """LiteRT takes the 8-bit states of this model for 16-bit ones, and falls over; its version for microcontrollers runs it."""
    micro = pytest.importorskip("tflite_micro", reason="tflite-micro, which judges this model, is not installed")
    paths = sorted((models / "tflite" / "tflm_keyword_scrambled_svdf_int8").glob("*.tflite"))
    if not paths:
        pytest.skip("the model is not there")
    interpreter = micro.runtime.Interpreter.from_file(str(paths[0]))

    def runs(given: dict[str, np.ndarray]) -> list[np.ndarray]:
        interpreter.set_input(next(iter(given.values())), 0)
        interpreter.invoke()
        return [interpreter.get_output(0)]

    stream(paths[0], runs, lower(load(paths[0]), "tosa", state="explicit"))
