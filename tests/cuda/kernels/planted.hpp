/// \file
/// The faults that the kernels of these tests can be compiled with.
#pragma once

namespace plsh::optimized::cuda {

enum class Planted {
  none,
  // sum_tree
  barrier_missing_after_store,
  barrier_missing_between_steps,
  barrier_replaced_by_warp_barrier,
  divergent_barrier,
  return_before_barrier,
  tail_read_unguarded,
  tail_write_unguarded,
  too_many_elements_shared,
  shared_index_past_the_end,
  shared_index_before_the_beginning,
  shared_arrays_differ,
  shared_array_misaligned,
  // sum_warp
  lane_missing_in_shuffle,
  lane_returned_before_shuffle,
  shuffles_of_different_lines,
  shuffle_and_barrier,
  lane_mask_too_large,
  plain_addition_of_lanes,
  plain_addition_of_blocks,
  blocks_write_one_element,
  // histogram
  counts_not_initialized,
  warp_barrier_missing,
  // sum_pipeline
  wait_for_the_wrong_group,
  no_barrier_after_wait,
  no_barrier_before_reuse,
  copy_without_group,
  copy_in_flight_at_return,
  copy_misaligned,
  copy_past_shared_array,
  copy_tail_unguarded,
  tail_zeroed_in_flight,
  read_before_wait,
  // sum_ring
  no_wait_for_full,
  no_wait_for_empty,
  arrive_before_reading,
  wrong_parity,
  too_many_arrivals,
  too_many_arrivals_expected,
  too_many_bytes_expected,
  too_few_bytes_expected,
  bulk_copy_misaligned,
  bulk_copy_of_odd_size,
  bulk_copy_in_flight_at_end,
  bulk_copy_past_the_end,
  mbarrier_used_before_barrier,
  mbarrier_not_initialized,
  mbarrier_initialized_twice,
  mbarrier_written_over,
  // multiply
  row_misaligned,
  matrix_not_transposed,
  fragment_registers_swapped,
  product_of_half_a_warp,
  no_warp_barrier_before_load,
};

}  // namespace plsh::optimized::cuda
