"""Recurrent layers: LSTM in all its forms, plain recurrence, SVDF.

T steps, N sequences, I inputs, H hidden units, P projected ones.
"""

from __future__ import annotations

from typing import Any

from .build import Assembly
from .spec import Tensor, cases, each, f32, i8, i16, i32, u8, w, x, y

T, N, I, H, P = 4, 2, 3, 5, 4
ACTIVATIONS = each("TANH", "RELU", "RELU6", "NONE")
TANH: dict[str, Any] = {"fused_activation_function": "TANH"}
Operands = tuple[Tensor | None, ...]


def bias(*shape: int) -> Tensor:
    return f32(*shape, low=-0.9, high=0.9).const


def weights(*shape: int) -> Tensor:
    return w(*shape, axis=None, low=-0.9, high=0.9)


def state(*shape: int) -> Tensor:
    return f32(*shape).state


def lstm(
    *, cifg: bool = False, peephole: bool = False, projection: bool = False, norm: bool = False, steps: tuple[int, ...] = (N, T),
) -> Operands:
    """The operands of an LSTM in the schema's order; `cifg` couples the input gate to the forget gate."""
    out = P if projection else H

    def gates(tensor: Tensor) -> Operands:
        return (None if cifg else tensor, tensor, tensor, tensor)

    peepholes = (None if cifg else weights(H), weights(H), weights(H)) if peephole else (None,) * 3
    projected = (weights(P, H), bias(P)) if projection else (None, None)
    return (x(*steps, I, low=-1, high=1), *gates(weights(H, I)), *gates(weights(H, out)), *peepholes, *gates(bias(H)), *projected,
            state(N, out), state(N, H), *(gates(bias(H)) if norm else ()))


FORMS: dict[str, dict[str, bool]] = {
    "plain": {}, "coupled": {"cifg": True}, "peephole": {"peephole": True}, "projection": {"projection": True},
    "norm": {"norm": True}, "coupled_peephole": {"cifg": True, "peephole": True},
    "all": {"cifg": True, "peephole": True, "projection": True, "norm": True},
}
DIRECTION: Operands = (*[weights(H, I)] * 4, *[weights(H, H)] * 4, *[None] * 3, *[bias(H)] * 4, None, None)
"""The weights of one direction of a bidirectional LSTM."""
BOTH: Operands = (*DIRECTION, *DIRECTION, *[state(N, H)] * 4, *[None] * 9)

LSTM = [
    *(case for note, form in FORMS.items() for case in cases(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", *lstm(**form), result=f32(), version=3, note=note,
        cell_clip=each(0.0, 0.4), proj_clip=0.3, **TANH)),
    *cases("UNIDIRECTIONAL_SEQUENCE_LSTM", *lstm(steps=(T, N)), result=f32(), version=3, time_major=True, **TANH),
    *cases("UNIDIRECTIONAL_SEQUENCE_LSTM", *lstm(), formats="f16 hybrid hybrid_axis", result=f32(), version=3, **TANH),
    *cases("LSTM", *lstm(steps=(N,)), formats="f32 f16 hybrid hybrid_axis", result=f32(), version=2,
           fused_activation_function=each("TANH", "RELU")),
    *cases("LSTM", x(N, I), x(N, H), weights(4 * H, I + H), bias(4 * H), x(N, H), results=[f32()] * 4, version=2, note="basic",
           kernel_type="BASIC", **TANH),
    *cases("BIDIRECTIONAL_SEQUENCE_LSTM", x(N, T, I), *BOTH, formats="f32 f16 hybrid hybrid_axis", results=[f32()] * 2, version=3,
           merge_outputs=False, time_major=False, **TANH),
    *cases("BIDIRECTIONAL_SEQUENCE_LSTM", x(T, N, I), *BOTH, result=f32(), version=3, merge_outputs=True, time_major=True,
           **TANH),
]



def integer_lstm(model: Assembly, value: Tensor, *, time_major: bool, cell_clip: float) -> None:
    """An LSTM of int8 with an int16 cell: its inner scales are those of intermediate tensors."""
    main = model.writer
    steps, output = value.shape[:2], ([0.0071], [4])
    matrices = [model.add(f"w{gate}", i8(H, I, scale=0.006, low=-127, high=127).const) for gate in range(4)]
    matrices += [model.add(f"r{gate}", i8(H, H, scale=0.005, low=-127, high=127).const) for gate in range(4)]
    offsets = [model.add(f"b{gate}", i32(H, scale=0.047 * 0.006, low=-2000, high=2000).const) for gate in range(4)]
    batch = steps[1] if time_major else steps[0]
    hidden = main.add_tensor("h", (batch, H), "int8", quantization=output, is_variable=True)
    cell = model.add("c", i16(batch, H, scale=2.0**-11).state)
    inner = [main.add_tensor(f"i{gate}", (), "int16", quantization=([2.0**-12], [0])) for gate in range(4)]
    inner.append(main.add_tensor("i4", (), "int8", quantization=output))
    main.outputs = [main.add_tensor("out", (*steps, H), "int8", quantization=output)]
    operands = [model.add("in0", value), *matrices, None, None, None, *offsets, None, None, hidden, cell]
    options = {**TANH, "time_major": time_major, "cell_clip": cell_clip}
    main.add_operator("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, main.outputs, options, version=3, intermediates=inner)


LSTM += cases("UNIDIRECTIONAL_SEQUENCE_LSTM", each(x(N, T, I), x(1, 6, I)), formats="i8t", note="integer", model=integer_lstm,
              time_major=each(False, True), cell_clip=each(0.0, 2.0))

def legacy_lstm(model: Assembly, value: Tensor, *, scale: float, kernel_type: str) -> None:
    """One step of the LSTM of the uint8 days, its state given and returned."""
    main, (batch, size) = model.writer, value.shape
    hidden = ([2.0**-7], [128])
    given = model.add("in0", value)
    before = model.add("h", u8(batch, H, scale=2.0**-7, zero=128, low=0, high=255))
    matrix = model.add("w", u8(4 * H, size + H, scale=scale, zero=120, low=0, high=255).const)
    offset = model.add("b", i32(4 * H, scale=scale * 2.0**-7, low=-9000, high=9000).const)
    cell = model.add("c", i16(batch, H, scale=2.0**-11, low=-20000, high=20000))
    state = ([2.0**-11], [0])
    main.outputs = [main.add_tensor("h_out", (batch, H), "uint8", quantization=hidden),
                    main.add_tensor("c_out", (batch, H), "int16", quantization=state)]
    inner = [main.add_tensor("joined", (batch, size + H), "uint8", quantization=hidden),
             main.add_tensor("sums", (batch, 4 * H), "int16", quantization=([2.0**-12], [0]))]
    options = {"kernel_type": kernel_type, **TANH}
    main.add_operator("LSTM", [given, before, matrix, offset, cell], [*main.outputs, *inner], options, version=2)


LSTM += cases(
    "LSTM", each(x(2, 3, scale=2.0**-7, zero=128), x(1, 6, scale=2.0**-7, zero=128)), formats="u8", note="basic",
    model=legacy_lstm, scale=each(0.003, 0.01, 0.04), kernel_type="BASIC")

LAYER: Operands = (weights(H, I), weights(H, H), bias(H), state(N, H))
SEQUENCE, BOTH_SEQUENCES = "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN"
RNN = [
    *cases(SEQUENCE, x(N, T, I), *LAYER, result=f32(), time_major=False, fused_activation_function=ACTIVATIONS),
    *cases(SEQUENCE, x(T, N, I), *LAYER, result=f32(), time_major=True, fused_activation_function=ACTIVATIONS),
    *cases(SEQUENCE, x(N, T, I), *LAYER, formats="f16 hybrid hybrid_axis", result=f32(), time_major=False, **TANH),
    *cases("RNN", x(N, I), *LAYER, formats="f32 f16 hybrid hybrid_axis", result=f32(),
           fused_activation_function=ACTIVATIONS),
    *cases(BOTH_SEQUENCES, x(N, T, I), *LAYER, *LAYER, None, None, None, formats="f32 f16 hybrid hybrid_axis",
           results=[f32()] * 2, time_major=False, merge_outputs=False, fused_activation_function=each("TANH", "RELU", "RELU6")),
    *cases(BOTH_SEQUENCES, x(T, N, I), *LAYER, *LAYER, None, None, None, results=[f32(), f32()], time_major=True,
           merge_outputs=False, **TANH),
    *cases(BOTH_SEQUENCES, x(N, T, I), *LAYER, *LAYER, None, None, None, result=f32(), time_major=False, merge_outputs=True,
           **TANH),
]

UNITS, MEMORY = 3, 4


def svdf(rank: int) -> tuple[Any, ...]:
    """The operands of floats, with float, half or quantized weights."""
    filters = UNITS * rank
    return x(N, I), weights(filters, I), weights(filters, MEMORY), each(bias(UNITS), None), state(N, filters * MEMORY)


def integer_svdf(rank: int) -> Operands:
    """The operands of int8, with a state and time weights of int16."""
    filters = UNITS * rank
    times = i16(filters, MEMORY, scale=2.0**-12, low=-5000, high=5000).const
    offset = i32(UNITS, scale=2.0**-22, low=-50000, high=50000).const
    return x(N, I), weights(filters, I), times, offset, i16(N, filters * MEMORY, scale=2.0**-10).state


SVDF = [
    *(case for rank in (1, 2) for case in cases(
        "SVDF", *svdf(rank), formats="f32 f16 hybrid hybrid_axis", result=f32(), rank=rank,
        fused_activation_function=each("NONE", "RELU"))),
    *(case for rank in (1, 2) for case in cases(
        "SVDF", *integer_svdf(rank), formats="i8t i8", result=y(scale=0.05), version=3, rank=rank,
        fused_activation_function="RELU")),
]

CASES = LSTM + RNN + SVDF
