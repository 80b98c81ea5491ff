/// \file
/// What the audit examines: the ingredients of the method, by default those of the reference.
///
/// The audit's expectations (closed forms, exact laws, bounds) never come from here. Replacing one
/// ingredient by a faulty one must make the check of some claim fail; the tests do exactly that.
#pragma once

#include <functional>
#include <plsh/reference/attention.hpp>
#include <plsh/reference/sampling.hpp>
#include <span>

namespace plsh::properties {

struct Subject {
  /// The decay length of each head.
  std::function<std::vector<double>(int heads)> decay_lengths;
  /// h(position) for a given binning.
  std::function<reference::Integer(reference::Index position, const reference::Binning&)> bin_of;
  /// One random partition of 0..length-1.
  std::function<reference::Partition(reference::Index length, double sigma,
                                     const reference::SampleId&)>
      sample;
  /// L* as a function of distance.
  std::function<reference::Interval(reference::Index distance, const reference::Interval& sigma)>
      kernel;
  /// s M~ as counts, shape [n, n].
  std::function<reference::Matrix<reference::Index>(std::span<const reference::Partition>)> counts;
  /// t with P(largest of s widths > t) = delta.
  std::function<double(double delta, double sigma, reference::Index samples)> width_quantile;
  /// Expected number of pairs that one mask keeps.
  std::function<reference::Interval(reference::Index length, const reference::Interval& sigma)>
      expected_pairs;
  /// Positional LSH attention of one head.
  std::function<reference::HeadOutput<double>(const reference::HeadInput<double>&,
                                              std::span<const reference::Partition>)>
      sampled_attention;
  /// The bound of C8 for the weights M~, one per query row.
  std::function<reference::Vector<reference::Interval>(
      const reference::HeadInput<reference::Interval>&, const reference::Interval& sigma,
      const reference::Matrix<reference::Interval>& weights)>
      output_error_bound;
};

/// The reference's own ingredients.
Subject reference_subject();

}  // namespace plsh::properties
