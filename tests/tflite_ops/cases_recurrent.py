"""Recurrent layers: LSTM in all its forms, plain recurrence, SVDF. T steps, N sequences, I inputs, H hidden units, P projected."""

from __future__ import annotations

from .spec import Case, Tensor, cases, each, f32, i16, i32, w, x, y

T, N, I, H, P = 4, 2, 3, 5, 4
WHOLE = "f32 f16 hybrid"


def bias(*shape: int, **more: object) -> Tensor:
    return f32(*shape, low=-0.9, high=0.9, **more).const


def weights(*shape: int) -> Tensor:
    return w(*shape, axis=None, low=-0.9, high=0.9)


def state(*shape: int) -> Tensor:
    return f32(*shape).state


def lstm(*, cifg: bool = False, peephole: bool = False, projection: bool = False, norm: bool = False, steps: tuple[int, ...] = (N, T)) -> list[Tensor | None]:
    """The operands of an LSTM in the schema's order; `cifg` couples the input gate to the forget gate."""
    out = P if projection else H

    def gates(make: Tensor) -> list[Tensor | None]:
        return [None if cifg else make, make, make, make]

    peepholes = [None if cifg else weights(H), weights(H), weights(H)] if peephole else [None] * 3
    projected = [weights(P, H), bias(P)] if projection else [None, None]
    norms = gates(bias(H)) if norm else []
    return [x(*steps, I, low=-1, high=1), *gates(weights(H, I)), *gates(weights(H, out)), *peepholes, *gates(bias(H)), *projected,
            state(N, out), state(N, H), *norms]


FORMS = {
    "plain": {}, "coupled": {"cifg": True}, "peephole": {"peephole": True}, "projection": {"projection": True}, "norm": {"norm": True},
    "coupled_peephole": {"cifg": True, "peephole": True},
    "all": {"cifg": True, "peephole": True, "projection": True, "norm": True},
}


def direction() -> list[Tensor | None]:
    """Weights of one direction of a bidirectional LSTM."""
    return [*[weights(H, I)] * 4, *[weights(H, H)] * 4, *[None] * 3, *[bias(H)] * 4, None, None]


def rnn(*steps: int) -> list[Tensor]:
    return [x(*steps, I), weights(H, I), weights(H, H), bias(H), state(N, H)]


ACTIVATIONS = each("TANH", "RELU", "RELU6", "NONE")
LSTM = [
    *(case for note, form in FORMS.items() for case in cases(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", *lstm(**form), result=f32(), version=3, note=note, fused_activation_function="TANH", cell_clip=each(0.0, 0.4), proj_clip=0.3)),
    *cases("UNIDIRECTIONAL_SEQUENCE_LSTM", *lstm(steps=(T, N)), formats="f32", result=f32(), version=3, time_major=True, fused_activation_function="TANH"),
    *cases("UNIDIRECTIONAL_SEQUENCE_LSTM", *lstm(), formats="f16 hybrid", result=f32(), version=3, fused_activation_function="TANH"),
    *cases("LSTM", *lstm(steps=(N,)), result=f32(), version=2, fused_activation_function=each("TANH", "RELU")),
    *cases("LSTM", x(N, I), x(N, H), weights(4 * H, I + H), bias(4 * H), x(N, H), results=[f32(), f32(), f32(), f32()], version=2, note="basic",
           kernel_type="BASIC", fused_activation_function="TANH"),
    *cases("BIDIRECTIONAL_SEQUENCE_LSTM", x(N, T, I), *direction(), *direction(), state(N, H), state(N, H), state(N, H), state(N, H), *[None] * 9,
           results=[f32(), f32()], version=3, merge_outputs=False, time_major=False, fused_activation_function="TANH"),
    *cases("BIDIRECTIONAL_SEQUENCE_LSTM", x(T, N, I), *direction(), *direction(), state(N, H), state(N, H), state(N, H), state(N, H), *[None] * 9,
           result=f32(), version=3, merge_outputs=True, time_major=True, fused_activation_function="TANH"),
]
RNN = [
    *cases("UNIDIRECTIONAL_SEQUENCE_RNN", *rnn(N, T), result=f32(), time_major=False, fused_activation_function=ACTIVATIONS),
    *cases("UNIDIRECTIONAL_SEQUENCE_RNN", *rnn(T, N), result=f32(), time_major=True, fused_activation_function=ACTIVATIONS),
    *cases("UNIDIRECTIONAL_SEQUENCE_RNN", *rnn(N, T), formats="f16 hybrid", result=f32(), time_major=False, fused_activation_function="TANH"),
    *cases("RNN", *rnn(N), formats="f32 f16 hybrid", result=f32(), fused_activation_function=ACTIVATIONS),
    *(case for major, steps in ((False, (N, T)), (True, (T, N))) for case in cases(
        "BIDIRECTIONAL_SEQUENCE_RNN", *rnn(*steps), weights(H, I), weights(H, H), bias(H), state(N, H), None, None, None,
        results=[f32(), f32()], time_major=major, merge_outputs=False, fused_activation_function=each("TANH", "RELU"))),
    *cases("BIDIRECTIONAL_SEQUENCE_RNN", *rnn(N, T), weights(H, I), weights(H, H), bias(H), state(N, H), None, None, None,
           result=f32(), time_major=False, merge_outputs=True, fused_activation_function="TANH"),
]
UNITS, MEMORY = 3, 4
SVDF = [
    *(case for rank in (1, 2) for case in cases(
        "SVDF", x(N, I), weights(UNITS * rank, I), weights(UNITS * rank, MEMORY), each(bias(UNITS), None), state(N, UNITS * rank * MEMORY), result=f32(),
        rank=rank, fused_activation_function=each("NONE", "RELU"))),
    *(case for rank in (1, 2) for case in cases(
        "SVDF", x(N, I), w(UNITS * rank, I, axis=None), i16(UNITS * rank, MEMORY, scale=2.0**-12, low=-5000, high=5000).const,
        i32(UNITS, scale=2.0**-22, low=-50000, high=50000).const, i16(N, UNITS * rank * MEMORY, scale=2.0**-10).state,
        formats="i8t", result=y(scale=0.05), version=3, rank=rank, fused_activation_function="RELU")),
]

CASES: list[Case] = LSTM + RNN + SVDF
