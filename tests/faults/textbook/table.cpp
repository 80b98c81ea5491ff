#include "table.hpp"

#include <string>

#include "faults.hpp"
#include "hostile.hpp"
#include "operations.hpp"

namespace plsh::textbook {
namespace {

std::string& reason() {
  static std::string text;
  return text;
}

/// An operation with the misbehaviour in front of it.
template <auto operation, class... Arguments>
int entry(Arguments... arguments) {
  const int status = misbehave();
  if (status != PLSH_OK || fault(Fault::does_nothing)) return status;
  return operation(arguments...);
}

/// The same, for an operation whose arguments hold its outputs.
template <auto operation, auto output, class Arguments>
int entry_of(const Arguments* arguments) {
  const int status = entry<operation>(arguments);
  if (fault(Fault::heap_corruption)) overrun(arguments->*output);
  return status;
}

plsh_conventions conventions() {
  plsh_conventions c = {};
  c.bin_precision = PLSH_BINS_F64;
  c.promises = PLSH_DETERMINISTIC_FORWARD | PLSH_DETERMINISTIC_BACKWARD | PLSH_THREAD_INDEPENDENT |
               PLSH_SAMPLE_OFFSETS;
  for (plsh_precision& precision : c.precision)
    precision = {1, PLSH_F32, PLSH_F32, PLSH_F32, PLSH_F32};
  c.precision[PLSH_F64] = {1, PLSH_F64, PLSH_F64, PLSH_F64, PLSH_F64};

  if (fault(Fault::batch_declared_shared)) c.batch_samples = PLSH_BATCH_SHARED;

  // A variant declares what it does.
  switch (active_variant()) {
    case Variant::geometric_slopes:
      c.slope_rule = PLSH_SLOPES_GEOMETRIC;
      break;
    case Variant::bins_plus:
      c.bin_rule = PLSH_BIN_FLOOR_PLUS;
      break;
    case Variant::bins_ceil:
      c.bin_rule = PLSH_BIN_CEIL;
      break;
    case Variant::bins_round:
      c.bin_rule = PLSH_BIN_ROUND;
      break;
    case Variant::bins_float_division:
    case Variant::bins_float_reciprocal:
      c.bin_precision = PLSH_BINS_F32;
      break;
    case Variant::bottom_right:
      c.causal_alignment = PLSH_ALIGN_BOTTOM_RIGHT;
      break;
    case Variant::empty_row_is_nan:
      c.empty_row = PLSH_EMPTY_NAN;
      break;
    case Variant::lse_in_base_2:
      c.lse_base = PLSH_LSE_BASE_2;
      break;
    case Variant::key_only_bias:
    case Variant::distance_plus_1:
      c.lse_bias = PLSH_LSE_SHIFTED;
      break;
    case Variant::counts_not_divided:
      c.lse_weights = PLSH_LSE_COUNT;
      break;
    case Variant::grouping_interleaved:
      c.head_grouping = PLSH_GROUP_INTERLEAVED;
      break;
    case Variant::shared_batch:
      c.batch_samples = PLSH_BATCH_SHARED;
      break;
    case Variant::mersenne_twister:
      c.promises &= ~static_cast<std::uint32_t>(PLSH_SAMPLE_OFFSETS);
      break;
    case Variant::draws_depend_on_threads:
      c.promises &= ~static_cast<std::uint32_t>(PLSH_THREAD_INDEPENDENT);
      break;
    case Variant::unordered_sums:
      c.promises &=
          ~static_cast<std::uint32_t>(PLSH_DETERMINISTIC_FORWARD | PLSH_DETERMINISTIC_BACKWARD);
      break;
    case Variant::declared_bfloat16_weights:
      c.precision[PLSH_BF16].weights = PLSH_BF16;
      break;
    case Variant::declared_bfloat16_bias:
      c.precision[PLSH_BF16].bias = PLSH_BF16;
      break;
    case Variant::f32_only:
      for (const plsh_type type : {PLSH_F64, PLSH_F16, PLSH_BF16}) c.precision[type] = {};
      break;
    default:
      break;
  }
  return c;
}

/// Takes out what a variant does not offer.
void keep_offered(plsh_implementation& table) {
  const bool sampler_only = variant(Variant::only_sampler);
  const bool forward_only = variant(Variant::only_exact_forward);
  if (sampler_only) table.exact_forward = nullptr;
  if (forward_only) table.sample_partitions = nullptr;
  if (!sampler_only && !forward_only) return;
  table.slopes = nullptr;
  table.bins = nullptr;
  table.mean_mask = nullptr;
  table.workspace_size = nullptr;
  table.exact_backward = nullptr;
  table.sampled_forward = nullptr;
  table.sampled_backward = nullptr;
}

}  // namespace

int refuse(const std::string& text) {
  reason() = text;
  return PLSH_REFUSED;
}

const char* error_message() { return reason().c_str(); }

const plsh_implementation* implementation() {
  if (fault(Fault::table_null)) return nullptr;
  static plsh_implementation table;
  table = {};
  table.interface_version = PLSH_INTERFACE_VERSION;
  table.struct_size = sizeof(plsh_implementation);
  table.name = "textbook";
  table.version = "1";
  table.conventions = conventions();
  table.device = {kDLCPU, 0};
  table.error_message = error_message;
  table.slopes = [](DLTensor* out) {
    const int status = entry<slopes>(out);
    if (fault(Fault::heap_corruption)) overrun(out);
    return status;
  };
  table.bins = [](const DLTensor* positions, const DLTensor* widths, const DLTensor* shifts,
                  DLTensor* out) {
    const int status = entry<bins>(positions, widths, shifts, out);
    if (fault(Fault::heap_corruption)) overrun(out);
    return status;
  };
  table.mean_mask = [](const DLTensor* counts, const DLTensor* starts, DLTensor* mask) {
    const int status = entry<mean_mask>(counts, starts, mask);
    if (fault(Fault::heap_corruption)) overrun(mask);
    return status;
  };
  table.sample_partitions = entry_of<sample_partitions, &plsh_sampling::block_starts>;
  table.workspace_size = workspace_size;
  table.exact_forward = entry_of<exact_forward, &plsh_attention::output>;
  table.exact_backward = entry_of<exact_backward, &plsh_attention::key_gradient>;
  table.sampled_forward = entry_of<sampled_forward, &plsh_attention::output>;
  table.sampled_backward = entry_of<sampled_backward, &plsh_attention::key_gradient>;
  keep_offered(table);
  misdeclare(table);
  return &table;
}

}  // namespace plsh::textbook
