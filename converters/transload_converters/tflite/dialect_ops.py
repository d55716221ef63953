"""The operands and results of every builtin operator of TFLite, and what it computes.

Each line is `OPERATOR: operands -> results | meaning`. `x?` may be absent, `x*` is any number of them;
an indented line goes on with the one before. The
attributes are not listed: they are the fields of the operator's options table in the schema.

Sources: the kernels of `tensorflow/lite/kernels` for what an operator takes and gives; operand names of
MLIR's `tfl` dialect, `tensorflow/compiler/mlir/lite/ir/tfl_ops.td`.
"""

from __future__ import annotations

__all__ = ["SIGNATURES"]

SIGNATURES = """
ABS: x -> y | The absolute value of each element.
ADD: lhs rhs -> output | The sum of two tensors, with broadcast and a fused activation.
ADD_N: inputs* -> sum | The sum of any number of tensors of one shape.
ARG_MAX: input dim -> output | The index of the greatest element along a dimension.
ARG_MIN: input dim -> output | The index of the least element along a dimension.
ASSIGN_VARIABLE: resource_id value -> | Stores a tensor in a variable.
ATAN2: y x -> output | The angle of the points (x, y).
AVERAGE_POOL_2D: input -> output | The mean over a sliding window of an NHWC tensor; padding does not count.
BATCH_MATMUL: x y -> output | Matrix products over the last two dimensions; adj_x, adj_y transpose.
BATCH_TO_SPACE_ND: input block_shape indices -> output | Moves blocks of the batch dimension into space, then crops.
BIDIRECTIONAL_SEQUENCE_LSTM: input operands* -> fw_output bw_output? | An LSTM over a sequence, in both directions.
BIDIRECTIONAL_SEQUENCE_RNN: input operands* -> fw_output bw_output? | A plain recurrent layer over a sequence, in both
    directions.
BITCAST: input -> output | The same bits seen as another element type.
BITWISE_XOR: lhs rhs -> output | Exclusive or of the bits of integers.
BROADCAST_ARGS: s0 s1 -> r0 | The shape that two shapes broadcast to.
BROADCAST_TO: input shape -> output | The tensor repeated to a shape that it broadcasts to.
BUCKETIZE: input -> output | For each element the index of the interval between boundaries it lies in.
CALL: arguments* -> outputs* | Calls another subgraph.
CALL_ONCE: -> | Calls a subgraph before the first run, to initialize variables and tables.
CAST: input -> output | The values in another element type.
CEIL: x -> y | The least integer not below each element.
COMPLEX_ABS: input -> output | The magnitude of complex numbers.
CONCATENATION: values* -> output | Tensors joined along a dimension.
CONCAT_EMBEDDINGS: operands* -> outputs* | Embeddings of several channels joined.
CONV_2D: input filter bias? -> output | Convolution of an NHWC tensor; the filter is O, height, width, I.
CONV_3D: input filter bias? -> output | Convolution of an NDHWC tensor; the filter is depth, height, width, I, O.
CONV_3D_TRANSPOSE: output_shape filter input bias? -> output | The gradient of CONV_3D by its input.
COS: x -> y | The cosine of each element.
CUMSUM: input axis -> output | Running sums along a dimension.
DELEGATE: inputs* -> outputs* | Part of the graph that a delegate has taken over.
DENSIFY: input -> output | A sparse constant as a dense one.
DEPTHWISE_CONV_2D: input filter bias? -> output | Convolution of each channel by itself; the filter is 1, height, width,
    C * depth_multiplier.
DEPTH_TO_SPACE: input -> output | Moves blocks of channels into height and width.
DEQUANTIZE: input -> output | The real values of a quantized or float16 tensor.
DILATE: input dilations padding_value -> output | The tensor with padding values put between its elements.
DIV: lhs rhs -> output | The quotient of two tensors, with broadcast and a fused activation.
DYNAMIC_UPDATE_SLICE: operand update start_indices -> output | A tensor with a part replaced.
ELU: x -> y | x where it is positive, exp(x) - 1 elsewhere.
EMBEDDING_LOOKUP: lookup value -> output | Rows of a table by their indices.
EMBEDDING_LOOKUP_SPARSE: ids indices dense_shape weights value -> output | Sums of rows of a table.
EQUAL: x y -> output | Whether elements are equal.
EXP: x -> y | The exponential of each element.
EXPAND_DIMS: input dim -> output | The tensor with a dimension of size 1 put in.
FAKE_QUANT: input -> output | Rounds to what a quantized tensor of this range could hold.
FILL: dims input -> result | A tensor filled with one value.
FLOOR: x -> y | The greatest integer not above each element.
FLOOR_DIV: lhs rhs -> output | The quotient rounded down.
FLOOR_MOD: lhs rhs -> output | The remainder of FLOOR_DIV, with the sign of the divisor.
FULLY_CONNECTED: input filter bias? -> output* | Matrix product with a filter of O rows and I columns.
GATHER: params indices -> output | Slices along a dimension by their indices.
GATHER_ND: params indices -> output | Slices by index tuples.
GELU: input -> output | x times the normal distribution's cumulative probability at x.
GREATER: lhs rhs -> output | Whether elements are greater.
GREATER_EQUAL: lhs rhs -> output | Whether elements are greater or equal.
HARD_SWISH: input -> output | x * relu6(x + 3) / 6.
HASHTABLE: -> out | A hash table.
HASHTABLE_FIND: hash_table keys default_value -> out | The values of keys in a table.
HASHTABLE_IMPORT: hash_table keys values -> | Fills a hash table.
HASHTABLE_LOOKUP: lookup keys value -> output hits | Rows of a table by keys.
HASHTABLE_SIZE: hash_table -> out | The number of keys in a table.
IF: cond inputs* -> outputs* | Runs one of two subgraphs.
IMAG: input -> output | The imaginary parts of complex numbers.
L2_NORMALIZATION: input -> output | Each vector of the last dimension divided by its length.
L2_POOL_2D: input -> output | The root of the mean square over a sliding window of an NHWC tensor.
LEAKY_RELU: input -> output | x where it is positive, alpha * x elsewhere.
LESS: lhs rhs -> output | Whether elements are less.
LESS_EQUAL: lhs rhs -> output | Whether elements are less or equal.
LOCAL_RESPONSE_NORMALIZATION: input -> output | Each element divided by a power of the squares around it in its last
    dimension.
LOG: x -> y | The natural logarithm of each element.
LOGICAL_AND: lhs rhs -> output | Whether both are true.
LOGICAL_NOT: lhs -> output | Whether it is false.
LOGICAL_OR: lhs rhs -> output | Whether one or both are true.
LOGISTIC: x -> y | 1 / (1 + exp(-x)).
LOG_SOFTMAX: input -> output | The logarithm of SOFTMAX along the last dimension.
LSH_PROJECTION: hash_seed input weight? -> output | Locality-sensitive hashes of a tensor.
LSTM: input operands* -> outputs* | One step of an LSTM with state.
MATRIX_DIAG: diagonal -> output | Matrices with these diagonals and zeros elsewhere.
MATRIX_SET_DIAG: input diagonal -> result | Matrices with their diagonals replaced.
MAXIMUM: lhs rhs -> max | The greater of two tensors, with broadcast.
MAX_POOL_2D: input -> output | The maximum over a sliding window of an NHWC tensor.
MEAN: input axis -> output | The mean over some dimensions.
MINIMUM: lhs rhs -> min | The lesser of two tensors, with broadcast.
MIRROR_PAD: input pad -> output | The tensor extended by its mirror image.
MUL: lhs rhs -> output | The product of two tensors, with broadcast and a fused activation.
MULTINOMIAL: logits num_samples -> out | Random samples of classes.
NEG: x -> y | The negative of each element.
NON_MAX_SUPPRESSION_V4: boxes scores max_output_size iou_threshold score_threshold -> selected_indices valid_outputs |
    The best boxes of those that overlap.
NON_MAX_SUPPRESSION_V5: boxes scores max_output_size iou_threshold score_threshold soft_nms_sigma -> selected_indices
    selected_scores valid_outputs | The best boxes of those that overlap, others damped.
NOT_EQUAL: lhs rhs -> output | Whether elements differ.
ONE_HOT: indices depth on_value off_value -> output | on_value at the index, off_value elsewhere, along a new dimension.
PACK: values* -> output | Tensors of one shape stacked along a new dimension.
PAD: input padding -> output | The tensor extended by zeros.
PADV2: input padding constant_values -> output | The tensor extended by a value.
POW: lhs rhs -> output | The first to the power of the second.
PRELU: input alpha -> output | x where it is positive, alpha * x elsewhere, alpha being a tensor.
QUANTIZE: input -> output | Real values quantized, or quantized values in another quantization.
RANDOM_STANDARD_NORMAL: shape -> out | Normally distributed random numbers.
RANDOM_UNIFORM: shape -> out | Uniformly distributed random numbers.
RANGE: start limit delta -> result | Numbers from start in steps of delta below limit.
RANK: input -> output | The number of dimensions.
READ_VARIABLE: resource_id -> result | The tensor in a variable.
REAL: input -> output | The real parts of complex numbers.
REDUCE_ALL: input reduction_indices -> output | Whether all are true over some dimensions.
REDUCE_ANY: input reduction_indices -> output | Whether any is true over some dimensions.
REDUCE_MAX: input axes -> output | The maximum over some dimensions.
REDUCE_MIN: input axes -> output | The minimum over some dimensions.
REDUCE_PROD: input axes -> output | The product over some dimensions.
REDUCE_WINDOW: input init_value window_shape window_strides window_dilations -> output | A reduction over a sliding window.
RELU: x -> y | max(x, 0).
RELU6: x -> y | min(max(x, 0), 6).
RELU_0_TO_1: x -> y | min(max(x, 0), 1).
RELU_N1_TO_1: x -> y | min(max(x, -1), 1).
RESHAPE: input shape? -> output | The same elements in another shape.
RESIZE_BILINEAR: input size -> output | Height and width changed by linear interpolation.
RESIZE_NEAREST_NEIGHBOR: input size -> output | Height and width changed by taking the nearest element.
REVERSE_SEQUENCE: input seq_lengths -> output | The first elements of each sequence in reverse order.
REVERSE_V2: input axis -> output | The elements in reverse order along some dimensions.
RFFT2D: input fft_length -> output | The two-dimensional Fourier transform of real numbers.
RIGHT_SHIFT: lhs rhs -> output | Integers with their bits moved right.
RNN: input input_weights recurrent_weights bias hidden_state -> output | One step of a plain recurrent layer with state.
ROUND: x -> y | The nearest integer, the even one of two.
RSQRT: x -> y | 1 / sqrt(x).
SCATTER_ND: indices updates shape -> output | Zeros with slices added at index tuples.
SEGMENT_SUM: input segment_ids -> output | Sums of the rows that share an id; ids ascend.
SELECT: condition x y -> output | x where the condition is true, y elsewhere; no broadcast but of a vector condition.
SELECT_V2: condition x y -> output | x where the condition is true, y elsewhere, with broadcast.
SHAPE: input -> output | The sizes of the dimensions.
SIGN: x -> output | -1, 0 or 1 by the sign of each element.
SIN: x -> y | The sine of each element.
SKIP_GRAM: input -> output | Skip-grams of a text.
SLICE: input begin size -> output | A part of the tensor; size -1 is all that follows.
SOFTMAX: input -> output | exp(beta * x) divided by its sum along the last dimension.
SPACE_TO_BATCH_ND: input block_shape paddings -> output | Pads, then moves blocks of space into the batch dimension.
SPACE_TO_DEPTH: input -> output | Moves blocks of height and width into channels.
SPARSE_TO_DENSE: sparse_indices output_shape sparse_values default_value -> dense | A tensor of a default value with
    others at given indices.
SPLIT: split_dim value -> outputs* | The tensor cut into equal parts.
SPLIT_V: value size_splits split_dim -> outputs* | The tensor cut into parts of given sizes.
SQRT: x -> y | The square root of each element.
SQUARE: x -> y | The square of each element.
SQUARED_DIFFERENCE: lhs rhs -> output | (lhs - rhs) squared.
SQUEEZE: input -> output | The tensor without dimensions of size 1.
STRIDED_SLICE: input begin end strides -> output | A part of the tensor, in steps.
STABLEHLO_CASE: index inputs* -> outputs* | Runs the subgraph of a number, the last for a number that there is none of.
STABLEHLO_RNG_BIT_GENERATOR: initial_state -> output_state output | Random bits that a state determines, and the state after
    them.
SUB: lhs rhs -> output | The difference of two tensors, with broadcast and a fused activation.
SUM: input axes -> output | The sum over some dimensions.
SVDF: input feature_weights time_weights bias? activation_state -> output | A rank-decomposed filter over features and
    time, with state.
TANH: input -> output | The hyperbolic tangent of each element.
TILE: input multiples -> output | The tensor repeated along its dimensions.
TOPK_V2: input k -> values indices | The k greatest elements of the last dimension, sorted.
TRANSPOSE: input perm -> output | The dimensions in another order.
TRANSPOSE_CONV: output_shape weights input bias? -> output | The gradient of CONV_2D by its input; weights are O,
    height, width, I.
UNIDIRECTIONAL_SEQUENCE_LSTM: input input_to_input_weights? input_to_forget_weights input_to_cell_weights
    input_to_output_weights recurrent_to_input_weights? recurrent_to_forget_weights recurrent_to_cell_weights
    recurrent_to_output_weights cell_to_input_weights? cell_to_forget_weights? cell_to_output_weights? input_gate_bias?
    forget_gate_bias cell_bias output_gate_bias projection_weights? projection_bias? input_activation_state
    input_cell_state input_layer_norm_coefficients? forget_layer_norm_coefficients? cell_layer_norm_coefficients?
    output_layer_norm_coefficients? -> output | An LSTM over a sequence.
UNIDIRECTIONAL_SEQUENCE_RNN: input input_to_input_weights recurrent_to_input_weights input_gate_bias hidden_state ->
    output | A plain recurrent layer over a sequence.
UNIQUE: input -> output idx | The distinct elements, and for each element which of them it is.
UNPACK: input -> outputs* | The slices of the tensor along a dimension, without it.
UNSORTED_SEGMENT_MAX: input segment_ids num_segments -> output | Maxima of the slices that share an id.
UNSORTED_SEGMENT_MIN: input segment_ids num_segments -> output | Minima of the slices that share an id.
UNSORTED_SEGMENT_PROD: input segment_ids num_segments -> output | Products of the slices that share an id.
UNSORTED_SEGMENT_SUM: input segment_ids num_segments -> output | Sums of the slices that share an id.
VAR_HANDLE: -> resource_handle | A variable.
WHERE: condition -> index | The indices of the elements that are true.
WHILE: inputs* -> outputs* | Runs a subgraph as long as another one gives true.
ZEROS_LIKE: input -> output | Zeros in the shape of the tensor.
"""
