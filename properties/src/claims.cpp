#include <plsh/properties/claims.hpp>
#include <stdexcept>

namespace plsh::properties {

const std::vector<Claim>& claims() {
  static const std::vector<Claim> all{
      {"C1", "Exact expectation", "E[M(h)] = L* exactly.", "proofs-notes/C1.md", true},
      {"C2", "Contiguous blocks",
       "Every mask M(h) is block diagonal with contiguous, disjoint blocks that cover all positions.",
       "proofs-notes/C2.md", true},
      {"C3", "Spectral error",
       "||L* - M~||_2 is small with high probability and falls as O(1/sqrt(s)).",
       "proofs-notes/C3.md", true},
      {"C4", "Max-norm error",
       "max_ij |L*_ij - M~_ij| is small with high probability and falls as O(1/sqrt(s)).",
       "proofs-notes/C4.md", true},
      {"C5", "Largest block",
       "With high probability b_max = O(sigma log(s/delta)), which for s ~ log n is about "
       "sigma log log n.",
       "proofs-notes/C5.md", true},
      {"C6", "Cost",
       "T~ costs O(n d (sigma s log(s/delta) + 1)) operations: block attention, short-context and "
       "without positional bias.",
       "proofs-notes/C6.md", true},
      {"C7", "All inputs at once",
       "With s logarithmic in n the approximation holds for all Q, K, V at once, with high "
       "probability over the masks alone.",
       "proofs-notes/C7.md", true},
      {"C8", "Output error bound",
       "The output error is bounded by the bias error over the smallest row sum of the biased "
       "weights.",
       "proofs-notes/C8.md", true},
      {"C9", "Convergence", "The measured norm errors and output errors go to zero as s grows.",
       "proofs-notes/C9.md", true},
      {"C10", "Training",
       "With s = 10, 20 a model trained with T~ is near one trained with T*, ahead of no bias and of "
       "fixed equal blocks.",
       "proofs-notes/C10.md", false},
      {"C11", "Longer contexts", "That holds at evaluation lengths beyond the training length.",
       "proofs-notes/C11.md", false},
      {"C12", "Feature view",
       "Bias, mask and embedding are one thing: M~ = Z Z^T with Z the n x (bins) random binning "
       "features over sqrt(s).",
       "proofs-notes/C12.md", true},
      {"C13", "Where it pays",
       "No wall-clock win over optimized exact kernels is claimed at today's lengths: find where the "
       "crossover is.",
       "proofs-notes/C13.md", true},
  };
  return all;
}

const Claim& claim(const std::string& id) {
  for (const Claim& candidate : claims())
    if (candidate.id == id) return candidate;
  throw std::invalid_argument("unknown claim \"" + id + "\"; the claims are C1 to C13");
}

}  // namespace plsh::properties
