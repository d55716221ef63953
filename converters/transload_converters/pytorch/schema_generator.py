"""Write `schemas.txt`, the signatures of operators, as an installed PyTorch declares them.

    python converters/transload_converters/pytorch/schema_generator.py      (`make torch-schemas`)

Kept are the operators of inference: not those that compute gradients, write into a tensor that is given for it (`out=`),
belong to
one device, or are another's in-place form (`relu_`), which is read as the operator without the underscore. Core ATen operators
are all kept, and marked with `!`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

TORCHVISION = (
    "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor",
    "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) "
    "-> (Tensor, Tensor)",
    "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio) -> (Tensor, Tensor)",
    "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) "
    "-> (Tensor, Tensor)",
    "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
    "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, "
    "bool use_mask) -> Tensor",
)
"""The operators of torchvision, whose package is not needed for this."""

TORCHAO = (
    "torchao::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, "
    "Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, "
    "ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)",
    "torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType input_dtype, "
    "Scalar? quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=6) -> Tensor",
    "torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType output_dtype, "
    "Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor",
)
"""Those of torchao's `quantize_`."""

_NO_INFERENCE = re.compile(
    r"backward|foreach|_fused_|cudnn|miopen|mkldnn|xnnpack|nnpack|_mps|cuda|sparse|_csr|_coo|nested|_jagged|fbgemm|_cslt|crow_|"
    r"_fw_|_jvp|_has_|_debug|_test_|_print|_backend|names|record_stream|_unsafe_|_amp_|qscheme|q_scale|q_zero|q_per|"
    r"_make_per|_choose_qparams|_autocast|from_file|set_data|requires_grad|retain|_copy\b(?<!_to_copy)|unsafe|_dyn_quant|_weight_int|"
    r"fake_quant|quantized_|_grouped_mm|_scaled|_sobol|_dirichlet|_standard_gamma|_nccl|_efficient|_flash|_use_|_thnn_|_dim_arange|"
    r"_validate|_assert_tensor|_resize|_coalesced|_values|\b_indices|^_?lu_|_reshape_alias|sspaddmm|hspmm|smm|_spdiags|_ctc|rrelu_with")
_EXCEPTIONS = re.compile(
    r"_unsafe_view|_unsafe_index|index_copy|lift_fresh_copy|_scaled_dot_product_(flash_attention_for_cpu|attention_math)$|_assert_tensor_metadata")
_TORCHSCRIPT = re.compile(r"Dict\(|\bt\b(?!\()|AnyEnum|__torch__|\bAny\b|Storage|Stream|QScheme|tupl|Future|\bobj\b|\.\.\.")
_CORE = "!"


def signatures() -> Iterator[str]:
    """Each operator's signature, the core ones with their mark."""
    import torch
    import torch.ao.quantization.fx._decomposed  # declares quantized_decomposed

    for declared in torch._C._jit_get_all_schemas():
        schema = str(declared)
        space, _, name = declared.name.partition("::")
        if space not in ("aten", "quantized_decomposed") or (space == "aten" and not hasattr(torch.ops.aten, name)):
            continue
        operator = getattr(getattr(getattr(torch.ops, space), name), declared.overload_name or "default", None)
        core = operator is not None and torch.Tag.core in operator.tags
        if core or (operator is not None and _is_inference(name, schema) and "Dimname" not in schema):
            yield _shorter((_CORE if core else "") + schema)
    yield from TORCHVISION
    yield from TORCHAO


def _is_inference(name: str, schema: str) -> bool:
    if "quantized_decomposed" in schema:
        return "choose_qparams" not in schema and not name.startswith("_")
    in_place = name.endswith("_") and not name.endswith("__")
    left_out = (_NO_INFERENCE.search(name) is not None and not _EXCEPTIONS.match(name)) or _TORCHSCRIPT.search(schema)
    return not in_place and "!" not in schema and not left_out and "Tensor" in schema


def _shorter(schema: str) -> str:
    """Without what says where a tensor lies and how random numbers are made, which nothing here depends on."""
    for kind in ("Layout", "Device"):
        schema = re.sub(rf", {kind}\? \w+=None", "", schema)
    return re.sub(r", bool\? pin_memory=None|, Generator\? generator=None|^aten::", "", schema).replace("!aten::", "!")


def main() -> None:
    """Write the table."""
    lines = sorted(set(signatures()), key=lambda line: line.lstrip(_CORE))
    path = Path(__file__).with_name("schemas.txt")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path}: {len(lines)} operators, {sum(line.startswith(_CORE) for line in lines)} of them core")


if __name__ == "__main__":
    main()
