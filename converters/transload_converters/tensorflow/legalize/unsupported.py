"""Ops that are refused, each with its reason."""

from __future__ import annotations

from transload.rewrite import RewriteTable

from ..texts import LOOKED_UP

TABLE = RewriteTable()

_TRAINING = ("it trains the model", "export the model for inference")
_PLACES = ("it hands work to devices of a cluster", "export the model for one device")
_TABLES = (LOOKED_UP, "move the look-up in front of the model")
_INPUT = ("it reads data from outside the graph", "cut the model behind it: `--inputs`")

TABLE.refuse({f"tf.{name}": reason for names, reason in (
    ("ResourceApplyAdam ResourceApplyGradientDescent ResourceApplyKerasMomentum", _TRAINING),
    ("CrossReplicaSum TPUCompilationResult TPUExecute TPUExecuteAndUpdateVariables TPUGetLayoutOp TPUReplicateMetadata "
     "TPUReplicatedInput TPUReplicatedOutput TPUReshardVariables OutfeedEnqueueTuple", _PLACES),
    ("HashTable HashTableV2 LookupTableFind LookupTableFindV2 LookupTableImport LookupTableImportV2 LookupTableSize "
     "LookupTableSizeV2 InitializeTableV2 InitializeTableFromTextFileV2", _TABLES),
    ("InfeedDequeueTuple IteratorGetNext ParseExample ParseExampleV2 ParseSingleExample DecodeJpeg DecodePng DecodeImage "
     "DecodeRaw ReadFile", _INPUT),
    ("Multinomial RandomGamma RandomPoissonV2 ParameterizedTruncatedNormal StatelessMultinomial",
     ("it draws from a distribution whose parameters are data", "draw in front of the model")),
    ("DrawBoundingBoxes DrawBoundingBoxesV2", ("it paints into images", "paint behind the model")),
    ("FractionalMaxPool FractionalAvgPool", ("its windows are drawn at random", "pool by windows of one size")),
    ("Placeholder PlaceholderV2", ("it is an input that nothing says to be one", "name it among the inputs: `--shape`")),
    ("Igamma Igammac Zeta Polygamma Betainc", ("there is no operator for this function, nor a short series", "")),
    ("Svd Qr SelfAdjointEigV2 Eig LogMatrixDeterminant Lu",
     ("it takes as many steps as the data need", "compute it in front of the model")),
    ("QuantizedAdd QuantizedAvgPool QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConcat QuantizedConcatV2 "
     "QuantizedConv2D QuantizedConv2DAndRequantize QuantizedDepthwiseConv2D QuantizedInstanceNorm QuantizedMatMul "
     "QuantizedMaxPool QuantizedMul QuantizedRelu QuantizedRelu6 QuantizedReluX QuantizedReshape QuantizedResizeBilinear "
     "QuantizeDownAndShrinkRange Requantize RequantizationRange",
     ("its scale is a range that is computed as the model runs", "convert the float model, and quantize that: `--quantize`")),
    ("RaggedGather RaggedRange RaggedTensorToSparse RaggedTensorToTensor",
     ("tensors whose rows differ in length are not followed, also where the lengths are constants",
      "use dense tensors, with a mask")),
    ("SparseFillEmptyRows SparseReshape SparseConcat "
     "SparseSlice SparseAdd SparseReduceSum SparseTensorDenseAdd SparseSoftmax SerializeSparse DenseToDenseSetOperation SetSize",
     ("the size of its result depends on data", "use dense tensors, with a mask")),
    ("CTCGreedyDecoder CTCBeamSearchDecoder CTCLoss", ("how much it decodes depends on data", "decode behind the model")),
    ("StringJoin StringSplitV2 AsString StringToNumber StringLower StaticRegexReplace StringFormat",
     ("it works on texts", "move what is done to texts in front of the model")),
) for name in names.split()})
