"""Recurrent blocks."""

from __future__ import annotations

from .spec import cases, each, scalar, x

_N, _I, _H, _T = 2, 3, 4, 5
_STATES = (x(_N, _H), x(_N, _H))
_WEIGHTS = (x(_I + _H, 4 * _H).const, x(_H).const, x(_H).const, x(_H).const, x(4 * _H).const)
_HIDDEN = (6,)

CASES = [
    *cases("LSTMBlockCell", x(_N, _I), *_STATES, *_WEIGHTS, forget_bias=each(1.0, 0.0), cell_clip=each(3.0, -1.0),
           use_peephole=each(False, True)),
    *cases("BlockLSTM", scalar(_T, "int64"), x(_T, _N, _I), *_STATES, *_WEIGHTS, forget_bias=1.0, cell_clip=each(3.0, -1.0),
           use_peephole=each(False, True)),
    *cases("BlockLSTM", scalar(3, "int64"), x(_T, _N, _I), *_STATES, *_WEIGHTS, cell_clip=0.5, outputs=(1, 6), note="short"),
    *cases("BlockLSTM", scalar(_T, "int64"), x(_T, _N, _I), *_STATES, *_WEIGHTS, cell_clip=-1.0, outputs=_HIDDEN, note="hidden"),
    *cases("BlockLSTMV2", scalar(_T, "int64"), x(_T, _N, _I), *_STATES, *_WEIGHTS, cell_clip=each(0.0, 1.0),
           use_peephole=each(False, True)),
    *cases("BlockLSTMV2", scalar(_T, "int64"), x(_T, _N, _I), *_STATES, *_WEIGHTS, cell_clip=0.0, outputs=_HIDDEN, note="hidden"),
    *cases("GRUBlockCell", x(_N, _I), x(_N, _H), x(_I + _H, 2 * _H).const, x(_I + _H, _H).const, x(2 * _H).const, x(_H).const),
]
