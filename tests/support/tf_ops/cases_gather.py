"""Reading and writing by subscripts, segments, finding, counting, diagonals."""

from __future__ import annotations

from .spec import cases, each, ints, scalar, values, x

_IDS = values([0, 0, 2, 3, 3], "int32")
_ORDERED = values([0, 0, 1, 3, 3], "int32").const
_KINDS = "float32 int32 bool"


def _k(*numbers: int):
    return ints(*numbers) if len(numbers) > 1 else scalar(numbers[0])


_DIAGONALS = [_k(0), _k(1), _k(-1), _k(-1, 1), _k(0, 2), _k(-2, -1)]

CASES = [
    *cases("Gather", on=[(x(5, 3), values([0, 4, 2], "int32")), (x(5), values([[1, 2], [0, 0]], "int64")), (x(4, 2), scalar(3))],
           types=_KINDS),
    *cases("GatherV2", on=[(x(5, 3), values([0, 4, 2], "int32"), scalar(0)), (x(2, 5, 3), values([[1, 2], [0, 4]], "int64"),
           scalar(1)),
                           (x(2, 5), values([3, 0], "int32"), scalar(-1))], types=_KINDS),
    *cases("GatherV2", x(2, 5, 3), values([[1, 2], [0, 4]], "int32"), scalar(1), batch_dims=each(1, -1)),
    *cases("GatherNd", on=[(x(3, 4), values([[0, 1], [2, 3]], "int32")), (x(3, 4), values([[1], [0]], "int64")),
                           (x(2, 3, 4), values([[[0, 1]], [[1, 2]]], "int32"))], types=_KINDS),
    *cases("ScatterNd", on=[(values([[1], [3]], "int32"), x(2, 3), ints(5, 3)), (values([[0, 1], [2, 2]], "int32"), x(2),
           ints(3, 4)),
                            (values([[1], [1], [0]], "int32").const, x(3), ints(4))], types="float32 int32"),
    *cases("TensorScatterUpdate", x(5, 3), values([[1], [3]], "int32"), x(2, 3), types=_KINDS),
    *cases("TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin", on=[
        (x(5, 3), values([[1], [3]], "int32"), x(2, 3)), (x(3, 4), values([[0, 1], [2, 2]], "int64"), x(2)),
        (x(4), values([[1], [1], [0]], "int32").const, x(3))], types="float32 int32"),
    *cases("ScatterNdNonAliasingAdd", x(5, 3), values([[1], [3]], "int32"), x(2, 3)),
    *cases("GatherNd", on=[(x(3, 4), values([[0, 1], [3, 0], [-1, 2], [2, 4]], "int32")),
                           (x(3, 4), values([[[-1], [0]], [[3], [2]]], "int64"))], types=_KINDS, bad_indices_policy="IGNORE"),
    *cases("ScatterNd", on=[(values([[1], [5], [-1]], "int32"), x(3, 3), ints(5, 3)),
                            (values([[0, 1], [2, 4], [-1, 2], [1, 0]], "int32"), x(4), ints(3, 4))], types="float32 int32 bool",
           bad_indices_policy="IGNORE"),
    *cases("TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin", on=[
        (x(5, 3), values([[1], [5], [-1]], "int32"), x(3, 3)), (x(3, 4), values([[0, 1], [2, 4], [-1, 2]], "int64"), x(3))],
        types="float32 int32", bad_indices_policy="IGNORE"),
    *cases("ScatterNdNonAliasingAdd", x(5, 3), values([[1], [7]], "int32"), x(2, 3), bad_indices_policy="IGNORE"),
    *cases("XlaDynamicUpdateSlice", x(4, 5), x(2, 2), each(values([1, 2], "int32"), values([3, 4], "int32").const), xla=True),
    *cases("SparseToDense", on=[(values([[0, 1], [2, 3]], "int32"), ints(3, 4), x(2), values(-1.0)),
                                (values([1, 3], "int32"), ints(5), values([2.0, 3.0]), scalar(0.0, "float32")),
                                (scalar(2), ints(4), scalar(5.0, "float32"), scalar(1.0, "float32"))]),
    *cases("DynamicStitch ParallelDynamicStitch", ints(0, 2), ints(3, 1), x(2, 3), x(2, 3), N=2),
    *cases("DynamicStitch", scalar(1), values([[0, 2]], "int32").const, x(2), x(1, 2, 2), N=2),
    *cases("DynamicStitch", ints(0, 1, 2), ints(1), x(3), x(1), N=2, note="twice"),
    *cases("DynamicPartition", x(5, 2), ints(0, 1, 1, 0, 2), num_partitions=3, types="float32 int32"),
    *cases("Where", values([[True, False], [True, True]], "bool").const, types="bool"),
    *cases("Where", values([0.0, 1.5, 0.0, -1.0]).const),
    *cases("Unique UniqueWithCounts", values([4, 1, 4, 7, 1], "int32").const, types="int32", out_idx=each("int32", "int64")),
    *cases("Unique UniqueWithCounts", values([float("nan"), 1.0, float("nan"), 2.0, 1.0]).const),
    *cases("UniqueV2 UniqueWithCountsV2", on=[(values([4, 1, 4, 7], "int32").const, ints()),
                                              (values([[1, 2], [3, 4], [1, 2]], "int32").const, ints(0))], types="int32"),
    *cases("ListDiff", ints(1, 2, 3, 4, 2), ints(2, 5), types="int32"),
    *cases("LowerBound UpperBound", values([[1.0, 2.0, 2.0, 5.0]]), values([[2.0, 0.0, 7.0]]), out_type=each("int32", "int64")),
    *cases("LowerBound UpperBound", values([[1, 2, 2, 5], [0, 0, 3, 4]]), values([[2, 0], [0, 4]]), types="int32"),
    *cases("Bucketize", x(3, 4), boundaries=[-1.0, 0.0, 0.5]),
    *cases("Bucketize", x(3, 4), types="int32", boundaries=[-3.0, 0.0, 5.5]),
    *cases("Bincount", values([1, 2, 2, 5, 9]), scalar(6), each(x(0, dtype="float32"), x(5, dtype="float32")), types="int32"),
    *cases("DenseBincount", on=[(values([1, 2, 2, 5]), scalar(6), x(0, dtype="float32")),
                                (values([[1, 2, 2], [0, 0, 5]]), scalar(4), x(0, dtype="float32")),
                                (values([[1, 2, 2], [0, 0, 5]]), scalar(4), x(2, 3, dtype="float32"))], types="int32"),
    *cases("DenseBincount", values([[1, 2, 2], [0, 0, 5]]), scalar(4), x(0, dtype="float32"), types="int32", binary_output=True),
    *cases("HistogramFixedWidth", x(3, 4, low=-3.0, high=3.0), values([-2.0, 2.0]).const, scalar(5)),
    # segments
    *cases("UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin",
           on=[(x(5, 2), _IDS, scalar(4)), (x(5), values([3, -1, 0, 3, 1], "int32"), scalar(5)),
               (x(2, 3, 2), values([[0, 1, 0], [2, 2, 1]], "int64"), scalar(3))], types="float32 int32"),
    *cases("SegmentSum SegmentProd SegmentMax SegmentMin SegmentMean", x(5, 2), _ORDERED, types="float32"),
    *cases("SegmentSum SegmentProd SegmentMax SegmentMin", x(5, low=-3, high=4), _ORDERED, types="int32"),
    *cases("SegmentSumV2 SegmentProdV2 SegmentMaxV2 SegmentMinV2", x(5, 2), _ORDERED, scalar(4), xla=True),
    *cases("SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN", x(6, 2), values([5, 0, 2, 2, 1], "int32"), _ORDERED),
    *cases("SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments", x(6, 2),
           values([5, 0, 2, 2, 1], "int32"), _ORDERED, scalar(5)),
    # diagonals
    *cases("MatrixDiag", each(x(3), x(2, 3)), types="float32 int32"),
    *cases("MatrixDiagPart", each(x(3, 3), x(2, 3, 4), x(4, 2)), types="float32 int32"),
    *cases("MatrixSetDiag", on=[(x(3, 3), x(3)), (x(2, 3, 4), x(2, 3))], types="float32 int32"),
    *cases("MatrixDiagPartV2", x(2, 3, 4), each(*_DIAGONALS), scalar(9.0, "float32")),
    *cases("MatrixDiagPartV3", x(2, 3, 4), each(*_DIAGONALS), scalar(9.0, "float32"),
           align=each("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")),
    *cases("MatrixDiagV2 MatrixDiagV3", on=[
        (x(2, 3), scalar(0), scalar(-1), scalar(-1), scalar(9.0, "float32")), (x(3), scalar(1), scalar(-1), scalar(-1),
            scalar(0.0, "float32")),
        (x(2, 3, 3), ints(-1, 1), scalar(-1), scalar(-1), scalar(7.0, "float32")), (x(3), scalar(-1), scalar(4), scalar(5),
            scalar(0.0, "float32")),
        (x(2, 3), ints(0, 1), scalar(3), scalar(4), scalar(1.0, "float32"))]),
    *cases("MatrixDiagV3", x(3, 3), ints(-1, 1), scalar(3), scalar(3), scalar(0.0, "float32"),
           align=each("LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")),
    *cases("MatrixSetDiagV2 MatrixSetDiagV3", on=[(x(2, 3, 4), x(2, 3), scalar(0)), (x(2, 3, 4), x(2, 3), scalar(1)),
                                                  (x(2, 3, 4), x(2, 3, 3), ints(-1, 1))]),
    *cases("MatrixSetDiagV3", x(3, 4), x(3, 3), ints(-1, 1), align=each("LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")),
    *cases("MatrixBandPart", x(2, 4, 5), each(scalar(1), scalar(-1)), each(scalar(0), scalar(2), scalar(-1)),
           types="float32 int32"),
    *cases("MatrixInverse MatrixDeterminant", values([[2.0, 1.0], [0.5, 3.0]]).const),
    *cases("Cholesky", values([[4.0, 1.0], [1.0, 3.0]]).const),
    *cases("MatrixSolve", values([[4.0, 1.0], [1.5, 3.0]]).const, x(2, 2).const, adjoint=each(False, True)),
    *cases("MatrixTriangularSolve", values([[4.0, 1.0], [1.5, 3.0]]).const, x(2, 2).const, lower=each(False, True)),
]
