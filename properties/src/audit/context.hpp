/// What the checks of the claims share: sizes, random streams, progress, measurements made once.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <plsh/properties/audit.hpp>
#include <plsh/properties/evidence.hpp>
#include <plsh/properties/safetensors.hpp>

namespace plsh::properties::audit {

using namespace reference;
using Json = nlohmann::json;

/// Failure probability at which the high-probability bounds are stated and checked.
inline constexpr double delta = 0.1;

/// How much work each effort does.
struct Sizes {
  Index law_samples;       ///< draws per head for the exact-law evidence
  Index pair_samples;      ///< draws per head for pairs far from the origin
  Index decay_length;      ///< n for the errors against s
  Index decay_repeats;     ///< independent repeats of them
  Index longest_spectral;  ///< largest n for the spectral error
  Index block_trials;      ///< trials per head for b_max
  Index cost_samples;      ///< draws per head for the cost
  Index output_length;     ///< n of synthetic inputs
  Index output_repeats;
  Index partitions_checked;
};
Sizes sizes_for(Effort effort);

/// The numbers of samples at which errors are measured: 4, 8, ..., 1024.
const std::vector<Index>& sample_counts();

/// Errors of M~ against s for one head: [repeat][index into sample_counts()].
struct HeadErrors {
  double sigma = 0;
  std::vector<std::vector<double>> spectral;
  std::vector<std::vector<double>> max;
  std::vector<std::vector<double>> frobenius;
  std::vector<std::vector<double>> row_relative;  ///< max_i sum_j |L* - M~| / sum_j L*
};

/// One attention input, real or synthetic.
struct LabelledInput {
  std::string label;
  bool real;
  std::size_t head;  ///< the standard head whose decay length is used
  double sigma;
  HeadInput<double> input;
};

/// Output errors of one input against s.
struct OutputErrors {
  const LabelledInput* input;
  Matrix<double> exact;                       ///< T*
  std::vector<std::vector<double>> relative;  ///< [repeat][s]: ||T~ - T*||_F / ||T*||_F
  std::vector<double> bound;                  ///< [s]: the same from the per-row bound of C8
  double worst_ratio = 0;                     ///< largest |T~ - T*| / bound over rows and channels
  std::string worst_place;
};

class Context {
 public:
  Context(const AuditOptions& audit_options, const Subject& audited, const Progress& progress);

  const AuditOptions& options;
  const Subject& subject;
  const Sizes sizes;
  /// The decay lengths that the paper's heads have, and those the subject uses for them.
  const std::vector<double> sigmas;
  const std::vector<double> subject_sigmas;
  Json plots = Json::object();
  Json data;
  unsigned threads = 1;

  /// The claim being worked on, for the progress display.
  std::string current;
  void stage(const std::string& text, double fraction) const;

  /// The head whose decay length is sigma. \throws std::runtime_error when none of the 8 has it.
  std::size_t head_of(double sigma) const;

  /// Names sample k of a head in one of the audit's independent streams.
  SampleId id(std::uint32_t stream, std::size_t head, Index k) const;
  /// Samples first..first+count-1 of a stream, drawn by the subject at its own decay length.
  std::vector<Partition> draw(std::uint32_t stream, std::size_t head, Index length, Index first,
                              Index count) const;

  /// Counts s M~ of the first s = sample_counts()[k] samples, for each k in turn.
  void for_each_prefix(
      std::span<const Partition> samples,
      const std::function<void(std::size_t k, const Matrix<Index>& counts)>& body) const;

  /// Entries uniform on (-1, 1), from samples first, first + 1, ... of a stream.
  Matrix<double> uniform_matrix(std::uint32_t stream, std::size_t head, Index first, Index rows,
                                Index cols) const;

  /// body(0), ..., body(count - 1) on all threads; the first exception is rethrown.
  void parallel_for(Index count, const std::function<void(Index)>& body) const;

  const std::vector<HeadErrors>& head_errors();
  const std::vector<LabelledInput>& inputs();
  const std::vector<OutputErrors>& output_errors();

 private:
  const Progress& progress_;
  std::vector<HeadErrors> head_errors_;
  std::vector<LabelledInput> inputs_;
  std::vector<OutputErrors> output_errors_;
};

/// The independent streams. A head number is stream * 1024 + head.
namespace stream {
inline constexpr std::uint32_t law = 0, pairs = 1, decay = 2, length = 3, blocks = 4, cost = 5,
                               output = 6, partitions = 7, features = 8, uniform = 9, picture = 10,
                               observed_blocks = 11, small_output = 12;
}

/// Slope of ln(error) against ln(s), fitted to each repeat by least squares; the mean over the
/// repeats, with its 95% Student interval.
struct Exponent {
  double mean;
  double low;
  double high;
};
Exponent fit_exponent(const std::vector<std::vector<double>>& errors);

/// One series of the decay plot: mean, least and largest error for each s, the bound, the exponent.
Json decay_series(const std::string& label, double sigma,
                  const std::vector<std::vector<double>>& errors,
                  const std::vector<double>& bounds);

/// Adds a check; a failed one refutes the claim.
void add_check(ClaimReport& report, const std::string& name, bool passed,
               const std::string& detail);

/// Sets the e-value of a claim and, beyond the threshold, the refutation.
void set_evidence(ClaimReport& report, double log_e_value, const std::string& what);

/// The verdict from what was found: refuted on any failed check or e-value beyond the threshold.
void conclude(ClaimReport& report, Verdict otherwise);

/// The smallest index in low..high for which `holds` is true, given that it stays true from there
/// on and is true at high.
Index first_where(Index low, Index high, const std::function<bool(Index)>& holds);

/// Largest absolute entry; NaN when there is one.
double max_abs(const Matrix<double>& m);

/// How far two evaluations of one attention output in double may lie apart, to first order: a logit
/// has error at most (head_dim + 2) u scale sum|q||k|, a weight twice that relative to its row, and
/// sums of at most `terms` terms add terms u; twice, for two evaluations.
double rounding_tolerance(const HeadInput<double>& input, Index terms);

/// Keeps the largest ratio in `worst`; a NaN counts as infinite. Returns whether it was replaced.
bool keep_worst(double ratio, double& worst);

// One function a claim, each in the file of its subject.
void audit_expectation(Context&, ClaimReport&);    // C1
void audit_contiguity(Context&, ClaimReport&);     // C2
void audit_spectral(Context&, ClaimReport&);       // C3
void audit_max_norm(Context&, ClaimReport&);       // C4
void audit_largest_block(Context&, ClaimReport&);  // C5
void audit_cost(Context&, ClaimReport&);           // C6
void audit_uniform(Context&, ClaimReport&);        // C7
void audit_output(Context&, ClaimReport&);         // C8
void audit_convergence(Context&, ClaimReport&);    // C9
void audit_features(Context&, ClaimReport&);       // C12
void audit_crossover(Context&, ClaimReport&);      // C13

}  // namespace plsh::properties::audit
