/// \file
/// What properties without reference values share: elements of the tensors of a problem by
/// sequence, row and head, two runs compared element by element, and how such a property is put
/// together.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "case.hpp"
#include "expected.hpp"
#include "generators.hpp"

namespace plsh::properties {

/// One of the four attention operations.
struct Kind {
  bool exact;
  bool backward;
  Operation operation() const;
};

/// A tensor of an attention problem.
enum class Part {
  query,
  key,
  value,
  output_gradient,
  output,
  log_sum_exp,
  query_gradient,
  key_gradient,
  value_gradient
};
const Tensor& tensor_of(const AttentionProblem& problem, Part part);
Tensor& tensor_of(AttentionProblem& problem, Part part);

/// An element by what it belongs to rather than by where it lies: rows count from 0 in a sequence.
struct Element {
  Part part;
  Index sequence;
  Index row;   ///< a query or a key
  Index head;  ///< a query head, or a key/value head
  Index component = 0;
};
double get(const AttentionProblem& problem, const Element& e);
void set(AttentionProblem& problem, const Element& e, double value);
/// As messages name it: the tensor and the index in it, e.g. "output[0, 3, 1, 0]".
std::string to_string(const AttentionProblem& problem, const Element& e);

/// Where it lies among the elements of its tensor in row-major order.
std::size_t flat_index(const AttentionProblem& problem, const Element& e);

Index rows_of(const AttentionProblem& problem, Part part, Index sequence);
Index heads_of(const AttentionProblem& problem, Part part);
Index components_of(const AttentionProblem& problem, Part part);

template <class Visit>
void for_each_element(const AttentionProblem& problem, Part part, Index sequence,
                      const Visit& visit) {
  for (Index i = 0; i < rows_of(problem, part, sequence); ++i)
    for (Index h = 0; h < heads_of(problem, part); ++h)
      for (Index x = 0; x < components_of(problem, part); ++x)
        visit(Element{part, sequence, i, h, x});
}
template <class Visit>
void for_each_element(const AttentionProblem& problem, Part part, const Visit& visit) {
  for (Index s = 0; s < problem.parameters().batch; ++s) for_each_element(problem, part, s, visit);
}

/// Fills one input: element e becomes value(e).
template <class Value>
void fill_input(AttentionProblem& problem, Part part, const Value& value) {
  for_each_element(problem, part, [&](const Element& e) { set(problem, e, value(e)); });
  tensor_of(problem, part).seal();
}

/// A case under way: what is checked, on which implementation.
struct Setup {
  const Implementation& implementation;
  Kind kind;
  AttentionCase c;         ///< of a supported type
  const Case& parameters;  ///< for members that only one property knows
  std::string choice(const char* member, const char* otherwise) const;
  /// A number that follows from the seed, in 0..count - 1; `what` tells several apart.
  Index pick(Index count, std::uint64_t what = 0) const;
  /// Forward, and backward when that is what is checked.
  void run(AttentionProblem& problem) const;
  /// output, log_sum_exp; or the three gradients.
  std::vector<Part> results() const;
  bool promises_same_bits() const;
};

/// Which keys of its sequence a query sees, [key_length].
std::vector<bool> seen_keys(const Setup& setup, const AttentionProblem& problem, Index sequence,
                            Index query, Index head);
/// The position of a query among the keys.
Index position_of(const Setup& setup, const AttentionProblem& problem, Index sequence, Index query);
Index kv_head_of(const Setup& setup, const AttentionProblem& problem, Index head);
/// ln 2 of the declared base: what a factor of e adds to the log-sum-exp.
double lse_unit(const Setup& setup);

/// A value with the largest error that an honest implementation may have made in it.
struct Reading {
  double value = 0;
  double tolerance = 0;
};
Reading operator+(const Reading& a, const Reading& b);
Reading operator-(const Reading& a, const Reading& b);
Reading operator*(double factor, const Reading& a);

/// The results of a run, with the tolerances that the declared precisions grant. An element that is
/// not compared has an infinite tolerance.
class Readings {
 public:
  Readings(const Setup& setup, const AttentionProblem& problem);
  Reading at(const Element& e) const;

 private:
  const AttentionProblem& problem_;
  std::map<Part, Expectation> expected_;
};

/// Collects elements that differ; the first and how many go into the message.
class Differences {
 public:
  /// \param change what was done, e.g. "after the samples were listed twice".
  explicit Differences(std::string change) : change_(std::move(change)) {}
  /// The error may be as large as both tolerances together.
  void within(const AttentionProblem& problem, const Element& e, const Reading& got,
              const Reading& expected);
  /// A value that is known.
  void exactly(const AttentionProblem& problem, const Element& e, double expected);
  /// The same bits, zeros of either sign alike; when these are not promised, the same within twice
  /// the tolerance.
  void same(const Setup& setup, const AttentionProblem& got, const Element& e,
            const AttentionProblem& expected, const Element& from, const Readings* tolerances);
  Outcome outcome() const;

 private:
  void add(const std::string& text);
  std::string change_;
  std::string first_;
  Index count_ = 0;
  double ratio_ = 0;
};

/// Runs both problems and compares: `expected(readings of the base, element)` is what an element of
/// the changed run must be within the tolerances.
template <class Expected>
void compare_runs(const Setup& setup, AttentionProblem& base, AttentionProblem& changed,
                  Differences& differences, const Expected& expected) {
  setup.run(base);
  setup.run(changed);
  const Readings of_base(setup, base);
  const Readings of_changed(setup, changed);
  for (const Part part : setup.results())
    for_each_element(changed, part, [&](const Element& e) {
      differences.within(changed, e, of_changed.at(e), expected(of_base, e));
    });
}

/// What is not compared.
inline constexpr double anything = std::numeric_limits<double>::infinity();

/// Gives `to` the slopes and partitions of `from`: as many sequences, heads, samples and keys.
void copy_slopes_and_partitions(const AttentionProblem& from, AttentionProblem& to);

/// A property of several operations, before it is one of each.
struct Invariance {
  std::string name;       ///< after the operation's
  std::string statement;  ///< "{}" stands for "output and log-sum-exp" or "gradients"
  std::vector<Kind> kinds;
  std::vector<Family> families;
  std::function<Outcome(const Setup&)> check;
  std::string claim;             ///< empty: C8 for exact attention, C6 for sampled
  std::vector<Operation> needs;  ///< besides the operation itself
};
void add_invariance(std::vector<Property>& all, const Invariance& invariance);

inline const std::vector<Kind> all_kinds{
    {true, false}, {true, true}, {false, false}, {false, true}};
inline const std::vector<Kind> forward_kinds{{true, false}, {false, false}};
inline const std::vector<Kind> backward_kinds{{true, true}, {false, true}};
inline const std::vector<Kind> exact_kinds{{true, false}, {true, true}};
inline const std::vector<Kind> sampled_kinds{{false, false}, {false, true}};

void add_weight_invariances(std::vector<Property>& all);
void add_logit_invariances(std::vector<Property>& all);
void add_locality_invariances(std::vector<Property>& all);
void add_row_invariances(std::vector<Property>& all);
void add_block_invariances(std::vector<Property>& all);
void add_sample_invariances(std::vector<Property>& all);
void add_part_invariances(std::vector<Property>& all);
void add_mask_invariances(std::vector<Property>& all);
void add_symmetry_invariances(std::vector<Property>& all);

}  // namespace plsh::properties
