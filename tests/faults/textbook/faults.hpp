/// \file
/// The planted faults, and the correct variants, of the textbook implementation.
///
/// At most one of them is active, for the whole process. The code asks for it where it strikes, so
/// the honest path is what remains when every such line is left out.
///
/// To add one: an enumerator here, an entry in faults.cpp or variants.cpp (the compiler compares
/// the order), and `if (fault(Fault::name))` where it strikes. A variant also changes what the
/// table declares, in table.cpp.
#pragma once

#include <string>
#include <vector>

namespace plsh::textbook {

enum class Fault {
  none,

  // sampler
  shift_missing,
  shift_unit_interval,
  shift_half_range,
  shift_integer,
  shift_from_width_uniform,
  shift_shared_by_samples,
  width_scale_sqrt_2,
  width_scale_2,
  sigma_1_percent,
  sigma_2_percent,
  width_shape_1,
  width_shape_3,
  width_uniforms_equal,
  width_constant,
  width_uniform,
  width_capped,
  width_integer,
  width_nan_sometimes,
  width_shared_by_samples,
  cuts_independent,
  floor_truncates,
  boundaries_float,
  uniforms_half,
  uniforms_bfloat16,
  uniform_may_be_0,
  stream_stride_1,
  stream_stride_2,
  antithetic_pairs,
  samples_equal,
  calls_repeat,
  seed_ignored,
  seed_low_bit_dropped,
  seed_high_half_dropped,
  seed_plus_sample,
  seed_plus_head,
  sample_plus_head,
  sample_16_bit,
  heads_share_stream,
  batch_shares_stream,
  batch_declared_shared,
  sample_duplicated,
  seed_from_clock,
  threads_change_draws,
  draws_in_order_of_arrival,
  grid_stride_skips_slot,
  slots_limited_to_65535,
  blocks_merged,
  last_position_glued,
  first_start_missing,
  start_written_twice,
  start_at_length,
  starts_descending,
  count_one_short,
  sigma_of_head_0,
  sigma_inverted,
  sigma_integer,
  sigma_cached,
  starts_strides_ignored,

  // bins
  bins_truncate,
  bins_ceil_minus_1,
  bins_epsilon,
  bins_shift_missing,
  bins_shift_in_widths,
  bins_float,
  bins_half,
  bins_bfloat16,
  bins_width_integer,
  bins_modulo_256,
  bins_clamped,
  bins_16_bit,
  bins_negative_unwritten,
  bins_int32_overflow,
  bins_first_width,
  bins_of_index,
  bins_strides_ignored,

  // masks
  mask_uint8_counts,
  mask_integer_division,
  mask_divided_twice,
  mask_undivided,
  mask_ored,
  mask_half_sum,
  mask_float_in_f64,
  mask_diagonal_missing,
  mask_upper_triangle_only,
  mask_blocks_modulo_256,
  mask_last_sample_lost,
  mask_last_block_lost,
  mask_last_position_lost,
  mask_padding_read,
  mask_head_0,
  mask_batch_0,
  mask_stale_block_list,
  mask_strides_ignored,
  mask_accumulates,

  // slopes
  slopes_geometric,
  slopes_sorted,
  slopes_reversed,
  slopes_first_is_one,
  slopes_exponent_off_by_one,
  slopes_integer_division,
  slopes_base_e,
  slopes_power_above,
  slopes_extra_odd,
  slopes_bfloat16,
  slopes_last_unwritten,
  slopes_strides_ignored,

  // exact forward
  bias_sign,
  bias_without_abs,
  bias_missing,
  bias_base_2,
  bias_scaled,
  bias_squared_distance,
  bias_clipped_at_64,
  bias_of_key_bfloat16,
  positions_half,
  slope_bfloat16,
  slope_of_batch_0,
  slope_of_head_0,
  slope_of_kv_head,
  scale_ignored,
  scale_cached,
  causal_ignored,
  causal_always,
  causal_strict,
  causal_off_by_one,
  alignment_bottom_right,
  rows_past_keys_unwritten,
  sentinel_finite,
  empty_row_uniform,
  empty_row_nan,
  empty_row_lse_0,
  nan_of_unseen_keys,
  product_half,
  logits_bfloat16,
  weights_bfloat16,
  sums_bfloat16,
  f64_computed_in_f32,
  outputs_rounded_to_bfloat16,
  tail_tile_has_zero_keys,
  head_dim_tail_reads_on,
  head_dim_limited_to_64,
  last_key_of_65_lost,
  last_row_of_65_unwritten,
  first_key_lost,
  maximum_not_subtracted,
  output_not_normalized,
  lse_base_2,
  lse_without_maximum,
  lse_is_maximum,
  lse_unscaled,
  lse_half,
  lse_unwritten,
  order_of_calls,
  second_call_differs,
  groups_interleaved,
  groups_ignored,
  group_tile_straddles,
  varlen_boundaries_ignored,
  varlen_empty_shifts,
  varlen_single_query_path,
  varlen_keys_of_longest,
  varlen_last_key_lost,
  varlen_key_starts_of_queries,
  varlen_positions_not_reset,
  length_16_bit,
  batch_limited_to_65535,

  // sampled forward
  samples_ored,
  first_sample_lost,
  last_sample_lost,
  samples_limited_to_32,
  repeated_samples_removed,
  outputs_averaged,
  hits_uint8,
  own_key_counted_again,
  block_end_off_by_one,
  block_start_off_by_one,
  block_limited_to_128,
  last_block_lost,
  block_index_int8,
  sampled_causal_by_block,
  outside_position_in_last_block,
  split_merge_of_empty,
  partition_of_head_0,
  partition_of_batch_0,
  partition_padding_read,
  partition_stale,
  lse_of_counts,

  // exact backward
  query_gradient_unscaled,
  key_gradient_unscaled,
  delta_missing,
  delta_of_previous_row,
  score_gradient_transposed,
  score_gradient_three_quarters,
  score_gradient_bfloat16,
  score_gradient_nan_at_65,
  own_key_gradient_missing,
  value_gradient_of_previous_row,
  gradient_value_dim_dropped,
  group_last_head_only,
  group_mean,
  group_count_for_kv_heads,
  backward_causal_ignored,
  backward_alignment,
  backward_bias_ignored,
  forward_bias_bfloat16,
  backward_lse_base_2,
  backward_lse_bfloat16,
  empty_row_gradient_nan,
  unseen_keys_unwritten,
  empty_query_sequence_unwritten,
  empty_query_sequence_crash,
  backward_order_of_calls,
  workspace_taken_for_zero,
  workspace_overrun,
  gradient_strides_ignored,
  output_gradient_strides_ignored,
  gradient_written_past_end,
  stored_output_modified,

  // sampled backward
  delta_per_sample,
  gradient_outside_blocks,
  backward_counts_not_divided,
  backward_partition_of_next_head,
  backward_partition_stale,
  backward_first_sample_only,

  // layout
  offset_int32,
  broadcast_stride_ignored,
  query_strides_swapped,
  key_strides_ignored,
  value_strides_ignored,
  output_strides_ignored,
  channels_from_32_zero,
  value_dim_is_head_dim,
  outputs_accumulated,
  second_half_unwritten,
  written_past_end,
  input_modified,

  // process
  segmentation_fault,
  aborts,
  hangs,
  spins,
  exits_with_0,
  exits_through_atexit,
  kills_itself,
  divides_by_zero,
  stack_overflow,
  throws_exception,
  throws_integer,
  returns_failed,
  returns_unknown_status,
  refuses_everything,
  does_nothing,
  heap_corruption,
  table_null,
  table_crash,
  table_version,
  table_size,
  table_name_null,
  table_name_empty,
  table_convention_unknown,
  table_offers_nothing,
};

/// Each must be accepted: the behaviour and what the table declares change together.
enum class Variant {
  none,

  // exact forward
  key_only_bias,
  distance_plus_1,
  declared_bfloat16_bias,
  declared_bfloat16_weights,
  keys_reversed,
  online_tiles,
  key_splits,
  unordered_sums,
  bottom_right,
  grouping_interleaved,
  lse_in_base_2,
  empty_row_is_nan,
  head_dim_limited,
  f32_only,
  only_exact_forward,

  // sampled forward
  counts_not_divided,

  // exact backward
  backward_recomputes,

  // slopes
  geometric_slopes,

  // bins
  bins_plus,
  bins_ceil,
  bins_round,
  bins_float_division,
  bins_float_reciprocal,

  // sampler
  closed_shift,
  width_at_least_1,
  shared_batch,
  mersenne_twister,
  draws_depend_on_threads,
  only_sampler,

  // process
  stopped,
  prints,
};

struct FaultInfo {
  std::string name;    ///< of the enumerator, with hyphens
  std::string what;    ///< one sentence
  std::string area;    ///< where it strikes: sampler, bins, masks, slopes, exact forward, ...
  std::string class_;  ///< the kind of mistake
  std::string source;  ///< a public report of it, or empty
};

/// All of them, in the order of the enumerators.
const std::vector<FaultInfo>& faults();
const std::vector<FaultInfo>& variants();

/// Activates a fault or variant and ends the one before; an empty name is the honest
/// implementation. \throws std::invalid_argument for an unknown name.
void set_fault(const std::string& name);

namespace detail {
extern Fault active_fault;
extern Variant active_variant;
}  // namespace detail

inline Fault active_fault() { return detail::active_fault; }
inline Variant active_variant() { return detail::active_variant; }
inline bool fault(Fault which) { return detail::active_fault == which; }
inline bool variant(Variant which) { return detail::active_variant == which; }

}  // namespace plsh::textbook
