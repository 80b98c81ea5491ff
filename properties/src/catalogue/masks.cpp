// The mean mask of given partitions.
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <optional>
#include <plsh/reference/sampling.hpp>

#include "catalogue.hpp"
#include "sampler/draw.hpp"

namespace plsh::properties {
namespace {

using reference::Partition;

/// The partitions of one call, [batch][head][sample], and the mask that came back.
struct MaskCall {
  Index length = 1;
  Index batch = 1;
  Index heads = 1;
  Index samples = 1;
  std::vector<Partition> partitions;
  std::optional<Tensor> mask;

  std::span<const Partition> of(Index item, Index head) const {
    return std::span(partitions)
        .subspan(static_cast<std::size_t>((item * heads + head) * samples),
                 static_cast<std::size_t>(samples));
  }
};

/// Contiguous blocks of a kind: "drawn" as the sampler does, "random" cuts, "singletons", "one"
/// block, or "halves".
Partition partition_of_kind(const std::string& kind, Index length, std::uint64_t seed) {
  if (kind == "drawn")
    return reference::draw_partitions(length, std::max(1.0, static_cast<double>(length) / 6), seed,
                                      0, 1)
        .front();
  std::vector<Index> starts{0};
  for (Index i = 1; i < length; ++i) {
    const bool cut =
        kind == "singletons" ||
        (kind == "random" && mixed_seed(seed, static_cast<std::uint64_t>(i)) % 4 == 0) ||
        (kind == "halves" && i == (length + 1) / 2);
    if (cut) starts.push_back(i);
  }
  return {length, starts};
}

MaskCall call_mask(const Implementation& implementation, const Case& parameters,
                   std::uint64_t salt = 0) {
  MaskCall call;
  call.length = parameters.at("length").get<Index>();
  call.batch = parameters.at("batch").get<Index>();
  call.heads = parameters.at("heads").get<Index>();
  call.samples = parameters.at("samples").get<Index>();
  const auto spare = parameters.at("spare").get<Index>();
  const auto kind = parameters.at("kind").get<std::string>();
  const std::uint64_t seed = mixed_seed(parameters.at("seed").get<std::uint64_t>(), salt);
  const Layout layout = layout_from_string(parameters.at("layout").get<std::string>());
  const Type type = type_from_string(parameters.at("type").get<std::string>());

  Index capacity = 1;
  for (Index k = 0; k < call.batch * call.heads * call.samples; ++k) {
    call.partitions.push_back(
        partition_of_kind(kind, call.length, mixed_seed(seed, static_cast<std::uint64_t>(k))));
    capacity = std::max(capacity, call.partitions.back().block_count());
  }
  capacity += spare;
  Tensor counts(Type::i64, {call.batch, call.heads, call.samples}, layout);
  Tensor starts(Type::i64, {call.batch, call.heads, call.samples, capacity}, layout);
  std::size_t next = 0;
  for (Index b = 0; b < call.batch; ++b)
    for (Index h = 0; h < call.heads; ++h)
      for (Index s = 0; s < call.samples; ++s) {
        const Partition& partition = call.partitions[next++];
        counts.set_integer({b, h, s}, partition.block_count());
        for (Index k = 0; k < capacity; ++k) {
          // The padding looks like block starts, and must not be read.
          const bool padding = k >= partition.block_count();
          starts.set_integer({b, h, s, k}, padding
                                               ? (k * 7) % call.length
                                               : partition.starts()[static_cast<std::size_t>(k)]);
        }
      }
  counts.seal();
  starts.seal();
  call.mask.emplace(type, std::vector<Index>{call.batch, call.heads, call.length, call.length},
                    layout);
  implementation.mean_mask(counts, starts, *call.mask);
  for (const auto& [name, tensor] : {std::pair<const char*, const Tensor*>{"block_counts", &counts},
                                     {"block_starts", &starts},
                                     {"mask", &*call.mask}})
    if (const auto damage = tensor->damage(name)) throw Violation(*damage);
  return call;
}

/// Two roundings: of 1/s and of its product with the count, or of the quotient alone.
double entry_tolerance(const MaskCall& call) { return 2.01 * unit_roundoff(call.mask->type()); }

/// Calls check(mask row by row as a matrix, item, head, partitions) for every head.
template <class Check>
Outcome for_each_head(const MaskCall& call, Check&& check) {
  Outcome outcome;
  for (Index b = 0; b < call.batch; ++b)
    for (Index h = 0; h < call.heads; ++h) {
      reference::Matrix<double> mask(call.length, call.length);
      for (Index i = 0; i < call.length; ++i)
        for (Index j = 0; j < call.length; ++j) mask(i, j) = call.mask->get({b, h, i, j});
      const std::string where = fmt::format("batch item {}, head {}", b, h);
      if (const auto wrong = check(mask, call.of(b, h), where)) return failed(*wrong);
    }
  return outcome;
}

using Wrong = std::optional<std::string>;
using MaskMatrix = reference::Matrix<double>;

/// Compares with counts/s entry by entry.
Wrong differs_from_counts(const MaskMatrix& mask, const reference::Matrix<Index>& counts,
                          Index samples, double tolerance, const std::string& where) {
  for (Index i = 0; i < mask.rows(); ++i)
    for (Index j = 0; j < mask.cols(); ++j) {
      const double exact = static_cast<double>(counts(i, j)) / static_cast<double>(samples);
      if (!(std::fabs(mask(i, j) - exact) <= tolerance * exact))
        return fmt::format("entry [{}, {}] of the mask is {} instead of {}/{} = {} ({})", i, j,
                           mask(i, j), counts(i, j), samples, exact, where);
    }
  return std::nullopt;
}

Outcome check_definition(const Implementation& implementation, const Case& parameters,
                         const Budget&) {
  // Twice, with other partitions of the same shape: nothing may be kept from the first call.
  for (const std::uint64_t salt : {std::uint64_t{1}, std::uint64_t{2}}) {
    const MaskCall call = call_mask(implementation, parameters, salt);
    const Outcome outcome =
        for_each_head(call, [&](const MaskMatrix& mask, std::span<const Partition> partitions,
                                const std::string& where) {
          return differs_from_counts(mask, reference::co_occurrence_counts(partitions),
                                     call.samples, entry_tolerance(call), where);
        });
    if (outcome.status != Outcome::Status::passed) return outcome;
  }
  return passed();
}

Outcome check_features(const Implementation& implementation, const Case& parameters,
                       const Budget&) {
  const MaskCall call = call_mask(implementation, parameters);
  return for_each_head(call, [&](const MaskMatrix& mask, std::span<const Partition> partitions,
                                 const std::string& where) {
    const Eigen::SparseMatrix<Index> z = reference::binning_features(partitions);
    const reference::Matrix<Index> gram = Eigen::SparseMatrix<Index>(z * z.transpose()).toDense();
    return differs_from_counts(mask, gram, call.samples, entry_tolerance(call), where);
  });
}

Outcome check_multiples(const Implementation& implementation, const Case& parameters,
                        const Budget&) {
  const MaskCall call = call_mask(implementation, parameters);
  const auto s = static_cast<double>(call.samples);
  return for_each_head(
      call,
      [&](const MaskMatrix& mask, std::span<const Partition>, const std::string& where) -> Wrong {
        for (Index i = 0; i < call.length; ++i)
          for (Index j = 0; j < call.length; ++j) {
            const double k = std::nearbyint(mask(i, j) * s);
            if (!(k >= 0 && k <= s &&
                  std::fabs(mask(i, j) - k / s) <= entry_tolerance(call) * k / s))
              return fmt::format(
                  "entry [{}, {}] of the mask, {}, is no multiple of 1/{} in 0..1 ({})", i, j,
                  mask(i, j), call.samples, where);
          }
        return std::nullopt;
      });
}

Outcome check_diagonal(const Implementation& implementation, const Case& parameters,
                       const Budget&) {
  const MaskCall call = call_mask(implementation, parameters);
  return for_each_head(
      call,
      [&](const MaskMatrix& mask, std::span<const Partition>, const std::string& where) -> Wrong {
        for (Index i = 0; i < call.length; ++i)
          if (!(std::fabs(mask(i, i) - 1) <= entry_tolerance(call)))
            return fmt::format("entry [{}, {}] of the mask is {} instead of 1 ({})", i, i,
                               mask(i, i), where);
        return std::nullopt;
      });
}

Outcome check_symmetric(const Implementation& implementation, const Case& parameters,
                        const Budget&) {
  const MaskCall call = call_mask(implementation, parameters);
  return for_each_head(
      call,
      [&](const MaskMatrix& mask, std::span<const Partition>, const std::string& where) -> Wrong {
        for (Index i = 0; i < call.length; ++i)
          for (Index j = 0; j < i; ++j)
            if (!(mask(i, j) == mask(j, i)))
              return fmt::format("entries [{}, {}] and [{}, {}] of the mask are {} and {} ({})", i,
                                 j, j, i, mask(i, j), mask(j, i), where);
        return std::nullopt;
      });
}

Outcome check_semidefinite(const Implementation& implementation, const Case& parameters,
                           const Budget&) {
  const MaskCall call = call_mask(implementation, parameters);
  return for_each_head(
      call,
      [&](const MaskMatrix& mask, std::span<const Partition>, const std::string& where) -> Wrong {
        // The rounded mask is M~ + D with |D| <= tolerance M~, so that its eigenvalues move by at
        // most the tolerance times the largest row sum; the solver adds a few roundings of the
        // norm.
        const double norm = mask.cwiseAbs().rowwise().sum().maxCoeff();
        const double allowed =
            (entry_tolerance(call) + 50 * static_cast<double>(call.length) * 0x1p-53) * norm;
        if (!std::isfinite(norm)) return "the mask is not finite (" + where + ")";
        const double lowest =
            Eigen::SelfAdjointEigenSolver<MaskMatrix>(mask, Eigen::EigenvaluesOnly)
                .eigenvalues()[0];
        if (!(lowest >= -allowed))
          return fmt::format("the mask has the eigenvalue {}, allowed is {} ({})", lowest, -allowed,
                             where);
        return std::nullopt;
      });
}

Outcome check_norm(const Implementation& implementation, const Case& parameters, const Budget&) {
  const MaskCall call = call_mask(implementation, parameters);
  return for_each_head(
      call,
      [&](const MaskMatrix& mask, std::span<const Partition> partitions,
          const std::string& where) -> Wrong {
        const auto largest = static_cast<double>(partitions.front().largest_block());
        if (!mask.allFinite()) return "the mask is not finite (" + where + ")";
        const double norm = Eigen::SelfAdjointEigenSolver<MaskMatrix>(mask, Eigen::EigenvaluesOnly)
                                .eigenvalues()
                                .cwiseAbs()
                                .maxCoeff();
        if (!(std::fabs(norm - largest) <=
              50 * static_cast<double>(call.length) * 0x1p-53 * largest))
          return fmt::format(
              "the mask of one sample has norm {}, its largest block has {} positions ({})", norm,
              largest, where);
        return std::nullopt;
      });
}

// ---- families --------------------------------------------------------------------------------

rc::Gen<Case> mask_cases(const rc::Gen<Index>& lengths, const rc::Gen<Index>& samples,
                         Index most_streams, std::vector<std::string> kinds,
                         std::vector<std::string> layouts) {
  // At full size: RapidCheck's early, small cases would use the low ends of the ranges only.
  return rc::gen::map(
      rc::gen::resize(
          rc::kNominalSize,
          rc::gen::tuple(rc::gen::arbitrary<std::uint32_t>(), lengths, samples,
                         rc::gen::inRange<Index>(1, most_streams + 1),
                         rc::gen::inRange<Index>(1, most_streams + 1),
                         rc::gen::inRange<Index>(0, 6), rc::gen::elementOf(std::move(kinds)),
                         rc::gen::elementOf(std::move(layouts)),
                         rc::gen::elementOf(std::vector<std::string>{"f32", "f64"}))),
      [](const std::tuple<std::uint32_t, Index, Index, Index, Index, Index, std::string,
                          std::string, std::string>& x) {
        const auto& [seed, length, count, batch, heads, spare, kind, layout, type] = x;
        return Case{{"seed", seed},   {"length", length}, {"samples", count},
                    {"batch", batch}, {"heads", heads},   {"spare", spare},
                    {"kind", kind},   {"layout", layout}, {"type", type}};
      });
}

const std::vector<std::string>& every_kind() {
  static const std::vector<std::string> kinds{"drawn", "random", "singletons", "one", "halves"};
  return kinds;
}

Family small_family(int cases) {
  return {"small", "Any contiguous blocks, a few heads and items, outputs of any layout.",
          [] {
            return mask_cases(rc::gen::inRange<Index>(1, 24), rc::gen::inRange<Index>(1, 14), 3,
                              every_kind(), {"packed", "transposed", "reversed", "padded"});
          },
          cases};
}

Family samples_family() {
  return {"many samples", "Counts around 255 and 256 and beyond, where narrow counters wrap.",
          [] {
            return mask_cases(rc::gen::inRange<Index>(1, 8),
                              rc::gen::element<Index>(255, 256, 257, 300, 1000, 2049, 65'537), 1,
                              {"random", "one", "halves"}, {"packed"});
          },
          10};
}

Family blocks_family() {
  return {"many blocks", "More blocks than a byte counts.",
          [] {
            return mask_cases(rc::gen::inRange<Index>(257, 400), rc::gen::inRange<Index>(1, 3), 1,
                              {"singletons"}, {"packed"});
          },
          4};
}

Family streams_family() {
  return {"heads and items", "Different partitions in every head and item.",
          [] {
            return mask_cases(rc::gen::inRange<Index>(8, 20), rc::gen::inRange<Index>(1, 5), 4,
                              {"drawn", "random"}, {"packed", "transposed", "reversed", "padded"});
          },
          15};
}

Family single_family() {
  return {"one sample", "The mask of one partition.",
          [] {
            return mask_cases(rc::gen::inRange<Index>(1, 48), rc::gen::just<Index>(1), 2,
                              every_kind(), {"packed"});
          },
          15};
}

Property mask_property(
    std::string id, std::string statement, std::vector<Family> families,
    std::function<Outcome(const Implementation&, const Case&, const Budget&)> check) {
  Property property;
  property.id = std::move(id);
  property.claim = "C12";
  property.statement = std::move(statement);
  property.needs = {Operation::mean_mask};
  property.families = std::move(families);
  property.check = std::move(check);
  return property;
}

}  // namespace

void add_mask_properties(std::vector<Property>& all) {
  all.push_back(mask_property("mask.diagonal",
                              "Every position shares a block with itself: M~_ii = 1.",
                              {small_family(15), samples_family()}, check_diagonal));
  all.push_back(mask_property("mask.symmetric", "M~_ij = M~_ji, bit by bit.", {small_family(15)},
                              check_symmetric));
  all.push_back(mask_property("mask.multiples",
                              "Every entry is k/s with 0 <= k <= s, within two roundings.",
                              {small_family(15), samples_family()}, check_multiples));
  all.push_back(mask_property(
      "mask.definition",
      "M~_ij is the fraction of the samples in which i and j share a block, within two roundings.",
      {small_family(30), streams_family(), samples_family(), blocks_family()}, check_definition));
  all.push_back(mask_property("mask.features",
                              "M~ = Z Z^T / s with the one-hot binning features Z.",
                              {small_family(15)}, check_features));
  all.push_back(mask_property("mask.semidefinite", "M~ has no negative eigenvalue.",
                              {small_family(15)}, check_semidefinite));
  all.push_back(mask_property("mask.norm",
                              "The spectral norm of the mask of one sample is its largest block.",
                              {single_family()}, check_norm));
}

}  // namespace plsh::properties
