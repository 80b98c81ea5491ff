/// \file
/// Figures that need no axes: heat maps of masks, and the exact law of the partition.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace plsh::cli::report {

/// A square matrix of weights from 0 (blank) to 1 (full colour), rows from top to bottom.
using Weights = std::vector<std::vector<double>>;

/// The mask of a partition given by the first position of each block.
Weights block_mask(const std::vector<std::size_t>& starts, std::size_t length);
/// The matrix whose entry (i, j) is kernel[abs(i - j)].
Weights kernel_matrix(const std::vector<double>& kernel);

/// `weights` as an image. \param steps the number of shades: a mean of s masks has s + 1 values.
std::string heat_map(const Weights& weights, int steps, const std::string& description);
/// The scale of the heat maps, 0 to 1.
std::string heat_scale();

/// The most likely partitions, one row each: its blocks, a bar, its probability.
/// \param law the member "law" of an audit's plots.
std::string law_bars(const nlohmann::json& law);

}  // namespace plsh::cli::report
