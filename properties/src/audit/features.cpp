// C12: bias, mask and embedding are one thing.
#include <plsh/reference/spectral.hpp>

#include "context.hpp"

namespace plsh::properties::audit {

void audit_features(Context& context, ClaimReport& report) {
  report.ours =
      "s M~ = Z Z^T in integers, Z the one-hot bins of all samples side by side: so M~ is symmetric, "
      "positive semidefinite, with unit diagonal, and one mask has spectral norm = its largest block.";
  Index cases = 0;
  std::string fault;
  const Index repeats = context.options.effort == Effort::quick ? 4 : 20;
  for (std::size_t h = 0; h < context.sigmas.size(); ++h) {
    context.stage("integer identities", static_cast<double>(h) / 8);
    for (Index r = 0; r < repeats && fault.empty(); ++r, ++cases) {
      const Index length = 2 + 17 * r % 130;
      const Index samples = r == 0 ? 300 : 1 + 7 * r % 40;  // 300: beyond what 8 bits count
      const auto drawn = context.draw(stream::features, h, length, r * 1000, samples);
      const Matrix<Index> counts = context.subject.counts(drawn);
      const Eigen::SparseMatrix<Index> z = binning_features(drawn);
      const Matrix<Index> product = Matrix<Index>(Eigen::SparseMatrix<Index>(z * z.transpose()));
      const auto where =
          fmt::format("sigma = {}, n = {}, s = {}", context.sigmas[h], length, samples);
      if (counts.rows() != length || counts.cols() != length || counts != product) {
        for (Index i = 0; i < length && fault.empty(); ++i)
          for (Index j = 0; j < length && fault.empty(); ++j)
            if (counts(i, j) != product(i, j))
              fault = fmt::format("{}: s M~({}, {}) = {} but (Z Z^T)({}, {}) = {}", where, i, j,
                                  counts(i, j), i, j, product(i, j));
        if (fault.empty()) fault = where + ": M~ has the wrong shape";
        break;
      }
      for (Index i = 0; i < length && fault.empty(); ++i)
        if (counts(i, i) != samples)
          fault = fmt::format("{}: the diagonal entry {} of s M~ is {}", where, i, counts(i, i));
      // M x = b_max x for the indicator x of the largest block, and no block sum can do better.
      const Partition& partition = drawn.front();
      Vector<Index> x = Vector<Index>::Zero(length);
      for (Index b = 0; b < partition.block_count(); ++b)
        if (partition.block(b).size() == partition.largest_block()) {
          x.segment(partition.block(b).begin, partition.block(b).size()).setOnes();
          break;
        }
      const Matrix<Index> m = mask(partition);
      if (fault.empty() && (m * x != partition.largest_block() * x ||
                            m.rowwise().sum().maxCoeff() != partition.largest_block()))
        fault = where + ": the spectral norm of a mask is not its largest block";
    }
  }
  add_check(report, "s M~ = Z Z^T", fault.empty(),
            fault.empty() ? fmt::format("{} sets of samples, equal in integers", cases) : fault);
  report.observed = NamedValue{"sets of samples checked", static_cast<double>(cases)};
  report.evidence = fmt::format(
      "Proved; {} sets of samples compared entry by entry in integers, up to s = 300. The largest "
      "eigenvalue of a mask is pinned from both sides: an eigenvector, and the largest row sum.",
      cases);
  conclude(report, Verdict::certified);
}

}  // namespace plsh::properties::audit
