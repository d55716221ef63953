"""Look-ups by index: gather, scatter, one-hot, embeddings, segments."""

from __future__ import annotations

from .spec import Tensor, axes, cases, each, i32, i64, number, u8, w, x, y

STORED = "f32 i32 i64 bool i8t u8 i16t"


def ids(*shape: int, below: int) -> Tensor:
    """Random subscripts."""
    return i32(*shape, low=0, high=below - 1)


def places(*numbers: tuple[int, ...]) -> Tensor:
    """A constant matrix of subscripts."""
    return i32(len(numbers), len(numbers[0]), data=numbers)


GATHER = [
    *cases("GATHER", x(5, 4, 3), ids(2, 3, below=3), formats=STORED, result=x(), axis=each(0, 1, 2, -1)),
    *cases("GATHER", x(5, 4), each(axes(3, 0, 4), number(2), i64(2, low=0, high=4)), formats="f32 i8t i32", result=x(), axis=0),
    *cases("GATHER", x(2, 5, 4), ids(2, 3, below=4), formats="f32 i8t i32", result=x(), axis=each(1, 2), batch_dims=1),
    *cases("GATHER", x(2, 3, 5, 4), ids(2, 3, 2, below=4), formats="f32 i8t", result=x(), axis=each(2, 3, -1), batch_dims=2),
    *cases("GATHER", x(5, 4).const, ids(6, below=5), formats="f32 i8t", result=x(), axis=0),
    *cases("GATHER_ND", x(4, 3, 2), each(ids(5, 1, below=4), ids(5, 2, below=3), ids(2, 2, 3, below=2), ids(1, below=4)),
           formats=STORED,
           result=x()),
    *cases("GATHER_ND", x(4, 3), i64(2, 2, low=0, high=2), formats="f32", result=x()),
    *cases("EMBEDDING_LOOKUP", ids(4, below=6), x(6, 3), formats="f32 i8t u8", result=x()),
    *cases("EMBEDDING_LOOKUP", axes(3, 3, 0), w(6, 3, axis=None), formats="f32 f16 i8 hybrid hybrid_axis", result=x()),
    *cases("EMBEDDING_LOOKUP", axes(3, 3, 0), w(6, 4, axis=None), formats="hybrid hybrid4 hybrid2", result=x()),
    *cases("EMBEDDING_LOOKUP", axes(3, 3, 0), w(6, 4), formats="hybrid_axis", result=x()),
    *cases("HASHTABLE_LOOKUP", i32(7, low=0, high=9), axes(1, 2, 4, 5, 8), each(x(5, 3), x(5), x(5, 2, 2).const),
           formats="f32 i32 i64 bool i8t u8 i16t", results=[x(), u8()]),
    *cases("EMBEDDING_LOOKUP_SPARSE", ids(5, below=6), places((0, 0), (0, 1), (2, 0), (2, 1), (2, 2)), axes(4, 3),
           x(5, low=0.2), x(6, 3), combiner=each("SUM", "MEAN", "SQRTN")),
    *cases("EMBEDDING_LOOKUP_SPARSE", ids(4, below=6), places((0, 0, 0), (0, 1, 0), (1, 2, 1), (1, 2, 0)), axes(2, 3, 2),
           x(4, low=0.2), x(6, 2, 2), combiner=each("SUM", "MEAN", "SQRTN")),
    *cases("GATHER GATHER_ND", x(5, 4), ids(6, 1, below=5), formats="i8t u8 i16t", result=y()),
    *cases("GATHER", x(5, 4), ids(6, below=5), formats="raw_i8 raw_u8 raw_i16", result=x(), axis=0),
    *cases("GATHER_ND", x(5, 4), ids(6, 1, below=5), formats="raw_i8 raw_u8 raw_i16", result=x()),
    *cases("EMBEDDING_LOOKUP", ids(4, below=6), x(6, 3), formats="i16t i32 i64 bool raw_u16", result=x()),
    *cases("ONE_HOT", ids(4, below=5), number(5), x(data=1), x(data=0), formats="i8t u8 bool", result=x(), axis=-1),
    *cases("ONE_HOT", ids(4, below=5), number(5), x(data=1), x(data=0), formats="f32 i32 i64 raw_i8 raw_u8", result=x(),
           axis=each(-1, 0, 1)),
    *cases("ONE_HOT", i32(2, 3, low=-1, high=5), number(4), x(data=3), x(data=1), formats="f32 i32", result=x(),
           axis=each(-1, 0, 1, 2)),
]

DIAGONAL = "f32 i32 i64 i8t u8 i16t raw_i8 raw_u8 raw_i16 raw_u32"
SCATTER = [
    *cases("SCATTER_ND", places((2,), (0,), (5,), (3,)), x(4, 3), axes(7, 3), formats="f32 i32 i64 bool i8t u8", result=x()),
    *cases("SCATTER_ND", places((2, 1), (0, 0), (1, 2)), x(3), axes(4, 3), formats="f32 i32 raw_i8", result=x()),
    *cases("SCATTER_ND", places((2,), (2,), (0,)), x(3), axes(4), formats="f32 i32", result=x(), note="repeated"),
    *cases("SCATTER_ND", ids(3, 1, below=5), x(3, 2), axes(5, 2), formats="f32 i32", result=x()),
    *cases("SPARSE_TO_DENSE", axes(1, 4, 6), axes(8), x(3), x(data=0), formats="f32 i32 i64 i8t u8", result=x()),
    *cases("SPARSE_TO_DENSE", places((0, 1), (1, 2), (3, 0)), axes(4, 3), x(3), x(data=1), formats="f32 i32 raw_i8 raw_u8",
           result=x()),
    *cases("SPARSE_TO_DENSE", number(2), axes(4), x(), x(data=0), formats="f32 i32", result=x()),
    *cases("MATRIX_DIAG", each(x(4), x(2, 3)), formats=DIAGONAL, result=x()),
    *cases("MATRIX_SET_DIAG", each(x(2, 3, 4), x(2, 4, 3), x(2, 3, 3)), x(2, 3), formats=DIAGONAL, result=x()),
]

UNSORTED = "UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN"
SEGMENTS = [
    *cases("SEGMENT_SUM", x(5, 3), axes(0, 0, 1, 2, 2), formats="f32 i32", result=x()),
    *cases(UNSORTED, x(5, 3), each(axes(2, 0, 2, 3, 0), axes(2, -1, 2, 3, 0)), number(5), formats="f32 i32", result=x()),
    *cases(UNSORTED, x(5, 3), i32(5, low=-1, high=3), number(4), formats="f32 i32", result=x()),
    *cases("UNSORTED_SEGMENT_SUM", x(2, 3, 2), places((1, 0, 1), (2, 2, 0)), number(3), formats="f32 i32", result=x()),
    *cases("BUCKETIZE", x(3, 4), formats="f32 i32 i64", result=i32(), boundaries=each((0.0, 1.0), (-1.5, 0.0, 0.5, 10.0))),
]

CASES = GATHER + SCATTER + SEGMENTS
