// Correct implementations that look wrong to a careless suite.
#include "catalogue.hpp"
#include "faults.hpp"

namespace plsh::textbook {
namespace {

constexpr Entry<Variant> kVariants[] = {
    // exact forward
    {Variant::key_only_bias, "key-only-bias",
     "under a causal mask the bias depends on the key only", "exact forward", "sign and offset",
     "https://github.com/mosaicml/llm-foundry/issues/186"},
    {Variant::distance_plus_1, "distance-plus-1", "the bias is -m (distance + 1)", "exact forward",
     "sign and offset", "https://github.com/vllm-project/vllm/pull/945"},
    {Variant::declared_bfloat16_bias, "declared-bfloat16-bias",
     "for bf16 tensors slopes and bias are rounded to bf16, as declared", "exact forward",
     "low precision", "https://github.com/NVIDIA/TensorRT-Model-Connect/issues/667"},
    {Variant::declared_bfloat16_weights, "declared-bfloat16-weights",
     "for bf16 tensors weights are rounded to bf16, as declared", "exact forward", "low precision",
     ""},
    {Variant::keys_reversed, "keys-reversed", "sums run from the last key to the first",
     "exact forward", "determinism", ""},
    {Variant::online_tiles, "online-tiles", "online softmax over tiles of 64 keys", "exact forward",
     "tiles", ""},
    {Variant::key_splits, "key-splits", "three key splits, joined by their log-sum-exp",
     "exact forward", "lse", ""},
    {Variant::unordered_sums, "unordered-sums",
     "the order of summation changes from call to call, determinism is not promised",
     "exact forward", "determinism", ""},
    {Variant::bottom_right, "bottom-right", "bottom-right alignment", "exact forward",
     "causal alignment", "https://github.com/Dao-AILab/flash-attention/issues/402"},
    {Variant::grouping_interleaved, "grouping-interleaved", "key/value heads alternate",
     "exact forward", "groups", "https://github.com/onnx/onnx/pull/7274"},
    {Variant::lse_in_base_2, "lse-in-base-2", "the log-sum-exp has base 2", "exact forward", "lse",
     ""},
    {Variant::empty_row_is_nan, "empty-row-is-nan", "a row that sees nothing is NaN",
     "exact forward", "empty rows", ""},
    {Variant::head_dim_limited, "head-dim-limited", "a head_dim above 128 is refused",
     "exact forward", "process", ""},
    {Variant::f32_only, "f32-only", "all types but f32 are refused", "exact forward", "process",
     ""},
    {Variant::only_exact_forward, "only-exact-forward", "nothing but exact forward is offered",
     "exact forward", "process", ""},

    // sampled forward
    {Variant::counts_not_divided, "counts-not-divided",
     "the number of samples is left out of weights and log-sum-exp", "sampled forward",
     "combination", ""},

    // exact backward
    {Variant::backward_recomputes, "backward-recomputes",
     "backward recomputes weights and D instead of reading the forward pass", "exact backward",
     "lse", ""},

    // slopes
    {Variant::geometric_slopes, "geometric-slopes", "2^(-8 (h+1)/H) for every H", "slopes",
     "slopes", "https://github.com/ml-explore/mlx/pull/3071"},

    // bins
    {Variant::bins_plus, "bins-plus", "floor((i + u)/w)", "bins", "floor and shift", ""},
    {Variant::bins_ceil, "bins-ceil", "ceil((i - u)/w)", "bins", "floor and shift", ""},
    {Variant::bins_round, "bins-round", "(i - u)/w rounded to nearest", "bins", "floor and shift",
     ""},
    {Variant::bins_float_division, "bins-float-division", "bins are computed in f32", "bins",
     "low precision", ""},
    {Variant::bins_float_reciprocal, "bins-float-reciprocal",
     "bins are computed in f32 by the reciprocal of the width", "bins", "low precision", ""},

    // sampler
    {Variant::closed_shift, "closed-shift", "the shift may be 0 and may be w", "sampler",
     "end points", "https://github.com/pytorch/pytorch/issues/96947"},
    {Variant::width_at_least_1, "width-at-least-1",
     "widths below 1 are raised to 1: the same masks", "sampler", "distribution", ""},
    {Variant::shared_batch, "shared-batch", "the items of a batch share their partitions",
     "sampler", "seed reuse", ""},
    {Variant::mersenne_twister, "mersenne-twister", "another generator, without sample offsets",
     "sampler", "seed reuse", ""},
    {Variant::draws_depend_on_threads, "draws-depend-on-threads",
     "draws depend on the number of threads, independence is not promised", "sampler",
     "determinism", "https://github.com/pytorch/pytorch/issues/196613"},
    {Variant::only_sampler, "only-sampler", "nothing but the sampler is offered", "sampler",
     "process", ""},

    // process
    {Variant::stopped, "stopped", "the process is stopped for 1.5 s, as on a busy machine",
     "slopes", "process", ""},
    {Variant::prints, "prints", "every operation prints noise on both streams", "process",
     "process", ""},
};
static_assert(complete(kVariants));

}  // namespace

const std::vector<FaultInfo>& variants() {
  static const std::vector<FaultInfo> list = described(kVariants);
  return list;
}

}  // namespace plsh::textbook
