"""The layers: what each takes and gives, which parameters it has, and what it computes.

Each line is `Type [parameters]: operands -> results | meaning`; operands are the layer's bottoms and, behind the `/`, its blobs.
`x?` may be absent, `x*` is any number of them; an indented line goes on with the one before. The attributes are not listed: they
are the fields of the parameters in `caffe.proto`, those of messages in them too.

Sources: https://caffe.berkeleyvision.org/tutorial/layers.html for BVLC Caffe; of forks' layers their papers and repositories:
SSD (Normalize, Permute, PriorBox, DetectionOutput), Faster R-CNN and R-FCN (Proposal, ROIPooling, PSROIPooling), PSPNet (BN,
Interp), SegNet and ENet (Upsample, BN), ShuffleNet (ShuffleChannel), SENet (Axpy), YOLO (Reorg, Region, Upsample), TPU-MLIR
(ContinuationIndicator, MatMul, FrcnDetection, RetinaFaceDetection, YoloDetection).
"""

from __future__ import annotations

__all__ = ["ALIASES", "SIGNATURES"]

SIGNATURES = """
AbsVal: x -> y | The absolute value of each element.
ArgMax argmax_param: x -> y | The places of the top_k greatest elements along axis (without it: of each sample), as floats, or the
    elements with out_max_val.
Axpy: scale x y -> z | `scale * x + y`, scale being a number a channel.
BN bn_param: x / slope bias mean? variance? -> y | `(x - mean) / sqrt(variance + eps) * slope + bias`, or, without mean and
    variance (bn_mode INFERENCE), `x * slope + bias`, per channel.
BNLL: x -> y | `log(1 + exp(x))`.
BatchNorm batch_norm_param: x / mean variance factor? slope? bias? -> y | `(x - mean/factor) / sqrt(variance/factor + eps)` per
    channel; 0 for 1/0. With scale_bias, `* slope + bias`.
BatchReindex: x indices -> y | The samples that indices name.
Bias bias_param: x bias -> y | `x + bias`, the latter along the dimensions from axis on. Bias is a bottom or a blob.
Clip clip_param: x -> y | `min(max(x, min), max)`.
Concat concat_param: xs* -> y | The tensors one after the other along axis.
ContinuationIndicator continuation_indicator_param: x -> y | [T, N]: 0 at the first step of time, 1 at the others.
Convolution convolution_param: x / weight bias? -> y | Cross-correlation, the filter being [O, C/group, kernel..].
ConvolutionDepthwise convolution_param: x / weight bias? -> y | Cross-correlation of each channel by itself.
Crop crop_param: x like -> y | The part of x from offset on that has the sizes of the second tensor in the dimensions from
    axis on.
Deconvolution convolution_param: x / weight bias? -> y | The gradient of Convolution by its input; the filter is
    [C, O/group, kernel..].
DepthwiseConvolution convolution_param: x / weight bias? -> y | Cross-correlation of each channel by itself.
DetectionOutput detection_output_param: locations confidences priors -> y | Boxes decoded by their priors, and of each class the
    best kept of those that overlap: [1, 1, N, 7] of image, label, score and corners; zeros where no box is left.
Dropout dropout_param: x -> y | In inference, x; without scale_train, `(1 - dropout_ratio) * x`.
ELU elu_param: x -> y | x where it is positive, `alpha * (exp(x) - 1)` elsewhere.
Eltwise eltwise_param: xs* -> y | The product, the sum with coefficients, or the greatest of the tensors.
Embed embed_param: x / weight bias? -> y | Rows of weight by their numbers, plus bias.
Exp exp_param: x -> y | `base ^ (shift + scale * x)`; base -1 is e.
Filter: xs* -> ys* | The samples for which the last tensor is not 0; how many, only the data says.
Flatten flatten_param: x -> y | The dimensions from axis to end_axis as one.
FrcnDetection frcn_detection_param: deltas scores rois -> y | Boxes decoded from regions, of each class the best kept of those
    that overlap: [N, 1, keep_topk, 6] of corners, label and score, the best first; zeros where no box is left.
HSigmoid: x -> y | `min(max(x + 3, 0), 6) / 6`.
HSwish: x -> y | `x * min(max(x + 3, 0), 6) / 6`.
Im2col convolution_param: x -> y | The windows of x as columns: [N, C * kernel.., outputs..].
InnerProduct inner_product_param: x / weight bias? -> y | The product of the dimensions from axis on, as one, with weight [O, K]
    (with transpose, [K, O]), plus bias.
Interp interp_param: x -> y | Bilinear interpolation that keeps the corners.
LRN lrn_param: x -> y | `x / (k + alpha/n * s)^beta`, s the sum of squares over local_size channels, or over a window of as many
    pixels a side (k is 1 then), n its size.
LSTM recurrent_param: x cont x_static? h_0? c_0? / weight_x bias weight_static? weight_h -> y h? c? | Long short-term memory over
    [T, N, ..]; cont [T, N] is 0 where a sequence begins. Gates in the order i, f, o, g.
LSTMUnit: c_prev x cont -> c h | One step of LSTM, from the sums [1, N, 4H] of the gates.
Log log_param: x -> y | The logarithm of `shift + scale * x` to base; base -1 is e.
Lstm lstm_param: x / weight_x weight_h bias -> y | Long short-term memory over [T, N, I] that starts from zeros.
    Gates in the order i, f, o, g.
MVN mvn_param: x -> y | x less its mean, divided by its standard deviation plus eps, over the pixels of a channel or of a sample.
MatMul matmul_param: a b -> y | The matrix products of [.., dim_1, dim_2] and [.., dim_2, dim_3].
Mish: x -> y | `x * tanh(log(1 + exp(x)))`.
Normalize norm_param: x / scale -> y | `x / sqrt(sum(x^2) + eps) * scale`, the sum over channels or over all of a sample.
PReLU prelu_param: x / slope -> y | x where it is positive, `slope * x` elsewhere, slope a number a channel.
PSROIPooling psroi_pooling_param: x rois -> y | The means of the bins of regions, each bin of channels of its own.
Parameter parameter_param: / value -> y | A blob.
Permute permute_param: x -> y | Dimensions in another order; those that order leaves out come behind.
Pooling pooling_param: x -> y mask? | The greatest element or the mean of each window; the mask is where the greatest were.
Power power_param: x -> y | `(shift + scale * x) ^ power`.
PriorBox prior_box_param: x image -> y | [1, 2, 4N]: the corners of N boxes around each pixel, relative to the image, and their
    variances.
Proposal proposal_param: scores deltas image? -> rois rois_scores? | The best kept of a network's boxes that overlap: [N, 5] of
    image and corners; zeros where no box is left.
RNN recurrent_param: x cont x_static? h_0? / weight_x bias_h weight_static? weight_h weight_o bias_o -> y h? | `h =
    tanh(W_h h + W_x x + b_h)`, `y = tanh(W_o h + b_o)` over [T, N, ..].
ROIPooling roi_pooling_param: x rois -> y | The greatest elements of the bins of regions.
ReLU relu_param: x -> y | x where it is positive, `negative_slope * x` elsewhere.
ReLU6 relu6_param relu_param: x -> y | `min(max(x, 0), threshold)`; with a negative_slope, this times x below 0.
Reduction reduction_param: x -> y | coeff times the sum, sum of absolute values, sum of squares or mean of the dimensions from
    axis on.
Region region_param: x -> y | YOLO's [N, num * (coords + 1 + classes), H, W] with sigmoid of centres and objectness, softmax of
    classes.
Reorg reorg_param: x -> y | Blocks of stride x stride pixels as channels, in the order of YOLO v2; with reverse, back.
Reshape reshape_param: x -> y | The same elements in another shape; 0 keeps a size, -1 is what is left.
RetinaFaceDetection retinaface_detection_param: xs* -> y | Faces of three scales, the best kept of those that overlap:
    [1, 1, keep_topk, 15] of corners, score and five points; zeros where no face is left.
Reverse reverse_param: x -> y | The order along axis turned round.
SPP spp_param: x -> y | Pooling over 1, 4, 16, .. bins of the image, one after the other; of one level, [N, C, 1, 1].
Scale scale_param: x scale bias? -> y | `x * scale + bias`, along the dimensions from axis on. Scale is a bottom or a blob.
ShuffleChannel shuffle_channel_param: x -> y | Channel `i * (C/group) + j` becomes channel `j * group + i`.
Sigmoid: x -> y | `1 / (1 + exp(-x))`.
Slice slice_param: x -> ys* | Cut along axis at slice_point, or into equal parts.
Softmax softmax_param: x -> y | `exp(x) / sum(exp(x))` along axis.
Split: x -> ys* | x, several times.
Swish swish_param: x -> y | `x / (1 + exp(-beta * x))`.
TanH: x -> y | The hyperbolic tangent.
Threshold threshold_param: x -> y | 1 where x is greater than threshold, 0 elsewhere.
Tile tile_param: x -> y | x repeated tiles times along axis.
Upsample upsample_param: x mask? -> y | Each pixel repeated scale times both ways, or, with a mask of Pooling, put where it was.
YoloDetection yolo_detection_param: xs* -> y | Boxes of YOLO v3 or v4, of each class the best kept of those that overlap:
    [N, 1, keep_topk, 6] of centre, size, label and score, the best first; zeros where no box is left.
"""

ALIASES = {
    "ConvolutionDepthWise": "ConvolutionDepthwise", "DepthwiseConv": "DepthwiseConvolution", "FrcnOutput": "FrcnDetection",
    "Hardswish": "HSwish", "HardSwish": "HSwish", "HardSigmoid": "HSigmoid", "Lrn": "LRN", "Matmul": "MatMul", "Mvn": "MVN",
    "Relu": "ReLU", "Relu6": "ReLU6", "Tanh": "TanH",
}
"""Other names of the same layers in forks."""
