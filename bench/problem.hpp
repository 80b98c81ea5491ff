/// \file
/// One attention problem, and the forms of attention that are compared on it.
#pragma once

#include <plsh/interface/implementation.h>

#include <plsh/optimized/cpu.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace plsh::bench {

using Index = std::int64_t;

/// Batch 1; one head for each sigma.
struct Shape {
  Index length = 8192;
  Index head_dim = 64;
  std::vector<double> sigmas{32};
  Index samples = 20;
  bool causal = false;
  plsh_type type = PLSH_F32;
};

/// What is computed, all from the same inputs. The error of a form is that of its output against
/// exact ALiBi attention.
struct Form {
  enum class Kind {
    draw,              ///< none: the partitions of the samples are drawn
    fused,             ///< sampled attention, every pair of the union once
    sample_by_sample,  ///< sampled attention as the paper writes it
    exact,             ///< exact ALiBi attention over the full length
    window,            ///< exact ALiBi weights within a window, else 0
    equal_window,      ///< a window with as many pairs as the union of the samples' blocks
    equal_blocks,      ///< one mask of fixed equal blocks of about 2 sigma, the mean width
  };
  Kind kind = Kind::fused;
  double reach = 0;  ///< window: its radius over sigma
  std::string name() const;
};

class Problem {
 public:
  /// Normal Q, K, V and partitions, all from the seed.
  Problem(const Shape& shape, std::uint64_t seed);
  ~Problem();
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  const Shape& shape() const { return shape_; }
  /// Pairs of a query and a key that the form must score, over all heads; for draw and
  /// sample_by_sample those of the union: these are measured by what they are for.
  double useful_pairs(const Form& form) const;
  /// Pairs over all samples.
  double written_pairs() const;

  /// Seconds of one call. \throws std::runtime_error when the call fails.
  double forward(const Form& form, int threads);
  /// The same for backward, of the output of the last forward of this form.
  double backward(const Form& form, int threads);
  /// Relative Frobenius error of the last output against exact ALiBi attention in double, over some
  /// rows of every head.
  double error();

 private:
  struct Data;
  plsh_attention arguments(const Form& form, int threads) const;
  optimized::cpu::AttentionForm attention_form(const Form& form) const;
  double window_pairs(double reach) const;
  double draw(int threads);
  std::vector<double> exact_rows() const;
  Shape shape_;
  std::unique_ptr<Data> data_;
};

}  // namespace plsh::bench
