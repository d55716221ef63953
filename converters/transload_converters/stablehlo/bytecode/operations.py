"""The properties of operations: which attributes each has, in the order in which bytecode holds them.

Source: MLIR writes an operation's inherent attributes in the order of their names; `?` marks those that may be missing.
Before version 5 of the format, they stood in the dictionary of attributes with all others.
"""

from __future__ import annotations

__all__ = ["PROPERTIES"]

_LISTS = """
builtin.module sym_name? sym_visibility?
func.call arg_attrs? callee no_inline? res_attrs?
func.func arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?
stablehlo.all_gather all_gather_dim channel_handle? replica_groups use_global_device_ids?
stablehlo.all_reduce channel_handle? replica_groups use_global_device_ids?
stablehlo.all_to_all channel_handle? concat_dimension replica_groups split_count split_dimension
stablehlo.batch_norm_grad epsilon feature_index
stablehlo.batch_norm_inference epsilon feature_index
stablehlo.batch_norm_training epsilon feature_index
stablehlo.broadcast broadcast_sizes
stablehlo.broadcast_in_dim broadcast_dimensions
stablehlo.cbrt result_accuracy?
stablehlo.cholesky lower?
stablehlo.collective_broadcast channel_handle? replica_groups
stablehlo.collective_permute channel_handle? source_target_pairs
stablehlo.compare compare_type? comparison_direction
stablehlo.composite composite_attributes? decomposition name version?
stablehlo.concatenate dimension
stablehlo.constant value
stablehlo.convolution batch_group_count dimension_numbers feature_group_count lhs_dilation? padding? precision_config?
    rhs_dilation? window_reversal? window_strides?
stablehlo.cosine result_accuracy?
stablehlo.cross-replica-sum replica_groups
stablehlo.custom_call api_version? backend_config? call_target_name called_computations? has_side_effect? operand_layouts?
    output_operand_aliases? result_layouts?
stablehlo.dot precision_config?
stablehlo.dot_general algorithm? dot_dimension_numbers precision_config?
stablehlo.dynamic_broadcast_in_dim broadcast_dimensions known_expanding_dimensions? known_nonexpanding_dimensions?
stablehlo.dynamic_conv batch_group_count dimension_numbers feature_group_count lhs_dilation? precision_config? rhs_dilation?
    window_reversal? window_strides?
stablehlo.dynamic_gather dimension_numbers indices_are_sorted?
stablehlo.dynamic_iota iota_dimension
stablehlo.dynamic_slice slice_sizes
stablehlo.einsum einsum_config
stablehlo.exponential result_accuracy?
stablehlo.exponential_minus_one result_accuracy?
stablehlo.fft fft_length fft_type
stablehlo.gather dimension_numbers indices_are_sorted? slice_sizes
stablehlo.get_dimension_size dimension
stablehlo.get_tuple_element index
stablehlo.infeed infeed_config? layout?
stablehlo.iota iota_dimension
stablehlo.log result_accuracy?
stablehlo.log_plus_one result_accuracy?
stablehlo.logistic result_accuracy?
stablehlo.map dimensions
stablehlo.outfeed outfeed_config?
stablehlo.pad edge_padding_high edge_padding_low interior_padding
stablehlo.recv channel_handle is_host_transfer? source_target_pairs?
stablehlo.reduce dimensions
stablehlo.reduce_precision exponent_bits mantissa_bits
stablehlo.reduce_scatter channel_handle? replica_groups scatter_dimension use_global_device_ids?
stablehlo.reduce_window base_dilations? padding? window_dilations? window_dimensions window_strides?
stablehlo.reverse dimensions
stablehlo.rng rng_distribution
stablehlo.rng_bit_generator rng_algorithm
stablehlo.rsqrt result_accuracy?
stablehlo.scatter indices_are_sorted? scatter_dimension_numbers unique_indices?
stablehlo.select_and_scatter padding? window_dimensions? window_strides?
stablehlo.send channel_handle is_host_transfer? source_target_pairs?
stablehlo.set_dimension_size dimension
stablehlo.sine result_accuracy?
stablehlo.slice limit_indices start_indices strides
stablehlo.sort dimension? is_stable?
stablehlo.sqrt result_accuracy?
stablehlo.tan result_accuracy?
stablehlo.tanh result_accuracy?
stablehlo.torch_index_select batch_dims dim
stablehlo.transpose permutation
stablehlo.triangular_solve left_side lower transpose_a unit_diagonal
stablehlo.unary_einsum einsum_config
vhlo.all_gather all_gather_dim channel_id replica_groups use_global_device_ids
vhlo.all_reduce channel_id replica_groups use_global_device_ids
vhlo.all_to_all channel_id concat_dimension replica_groups split_count split_dimension
vhlo.batch_norm_grad epsilon feature_index
vhlo.batch_norm_inference epsilon feature_index
vhlo.batch_norm_training epsilon feature_index
vhlo.broadcast broadcast_sizes
vhlo.broadcast_in_dim broadcast_dimensions
vhlo.call callee
vhlo.cbrt_v2 result_accuracy
vhlo.cholesky lower
vhlo.collective_broadcast channel_id replica_groups
vhlo.collective_broadcast_v2 channel_id has_dynamic_root replica_groups
vhlo.collective_permute channel_id source_target_pairs
vhlo.collective_reduce channel_id has_dynamic_root replica_groups use_global_device_ids
vhlo.compare compare_type comparison_direction
vhlo.composite composite_attributes decomposition name version
vhlo.concatenate dimension
vhlo.constant value
vhlo.convolution batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions
    kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation
    output_batch_dimension output_feature_dimension output_spatial_dimensions padding precision_config rhs_dilation
    window_reversal window_strides
vhlo.cosine_v2 result_accuracy
vhlo.cross-replica-sum replica_groups
vhlo.custom_call api_version backend_config call_target_name called_computations has_side_effect operand_layouts
    output_operand_aliases result_layouts
vhlo.custom_call_v2 api_version backend_config call_target_name called_computations has_side_effect operand_layouts
    output_operand_aliases result_layouts result_tilings
vhlo.dot precision_config
vhlo.dot_general lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions
    rhs_contracting_dimensions
vhlo.dot_general_v2 accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count
    lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config rhs_batching_dimensions
    rhs_component_count rhs_contracting_dimensions rhs_precision_type
vhlo.dynamic_broadcast_in_dim broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions
vhlo.dynamic_conv batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions
    kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation
    output_batch_dimension output_feature_dimension output_spatial_dimensions padding precision_config rhs_dilation
    window_reversal window_strides
vhlo.dynamic_conv_v2 batch_group_count feature_group_count input_batch_dimension input_feature_dimension
    input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions
    lhs_dilation output_batch_dimension output_feature_dimension output_spatial_dimensions precision_config rhs_dilation
    window_reversal window_strides
vhlo.dynamic_gather collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map
vhlo.dynamic_gather_v2 collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims
    start_index_map start_indices_batching_dims
vhlo.dynamic_iota iota_dimension
vhlo.dynamic_slice slice_sizes
vhlo.einsum einsum_config
vhlo.exponential_minus_one_v2 result_accuracy
vhlo.exponential_v2 result_accuracy
vhlo.fft fft_length fft_type
vhlo.func arg_attrs function_type res_attrs sym_name sym_visibility
vhlo.gather collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes start_index_map
vhlo.gather_v2 collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims slice_sizes
    start_index_map start_indices_batching_dims
vhlo.get_dimension_size dimension
vhlo.get_tuple_element index
vhlo.infeed infeed_config layout
vhlo.iota iota_dimension
vhlo.log_plus_one_v2 result_accuracy
vhlo.log_v2 result_accuracy
vhlo.logistic_v2 result_accuracy
vhlo.map dimensions
vhlo.outfeed outfeed_config
vhlo.pad edge_padding_high edge_padding_low interior_padding
vhlo.recv channel_id channel_type is_host_transfer
vhlo.recv_v2 channel_id channel_type is_host_transfer source_target_pairs
vhlo.reduce dimensions
vhlo.reduce_precision exponent_bits mantissa_bits
vhlo.reduce_scatter channel_id replica_groups scatter_dimension use_global_device_ids
vhlo.reduce_window base_dilations padding window_dilations window_dimensions window_strides
vhlo.reverse dimensions
vhlo.rng rng_distribution
vhlo.rng_bit_generator rng_algorithm
vhlo.rsqrt_v2 result_accuracy
vhlo.scatter index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims unique_indices
    update_window_dims
vhlo.scatter_v2 index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims scatter_dims_to_operand_dims
    scatter_indices_batching_dims unique_indices update_window_dims
vhlo.select_and_scatter padding window_dimensions window_strides
vhlo.send channel_id channel_type is_host_transfer
vhlo.send_v2 channel_id channel_type is_host_transfer source_target_pairs
vhlo.set_dimension_size dimension
vhlo.sine_v2 result_accuracy
vhlo.slice limit_indices start_indices strides
vhlo.sort dimension is_stable
vhlo.sqrt_v2 result_accuracy
vhlo.tan_v2 result_accuracy
vhlo.tanh_v2 result_accuracy
vhlo.torch_index_select batch_dims dim
vhlo.transpose permutation
vhlo.triangular_solve left_side lower transpose_a unit_diagonal
vhlo.unary_einsum einsum_config
"""


def _tables() -> dict[str, tuple[tuple[str, bool], ...]]:
    tables = {}
    for line in _LISTS.strip().replace("\n    ", " ").splitlines():
        op, *names = line.split()
        tables[op] = tuple((name.rstrip("?"), name.endswith("?")) for name in names)
    return tables


PROPERTIES = _tables()
"""By operation: the names of its attributes, and whether each may be missing.

An operation of VHLO stands here without `_v1`, and with its version where that changed its attributes; those with a
version that changed nothing (`_v2` of a collective) are found by `vhlo_properties` of the module `upgrade`.
"""
