#include "guide.hpp"

#include <fmt/format.h>

#include <array>

#include "text.hpp"

namespace plsh::cli::report {
namespace {

struct Sign {
  std::string_view verdict;
  std::string_view style;
  std::string_view sign;  // shape, not colour alone, tells the verdicts apart
};

constexpr std::array signs{
    Sign{"certified", "certified", "✔"}, Sign{"consistent", "consistent", "≈"},
    Sign{"refuted", "refuted", "✘"},     Sign{"undecided", "undecided", "?"},
    Sign{"not audited", "skipped", "–"},
};

struct Entry {
  std::string_view term;  // HTML
  std::string_view meaning;
};

std::string definitions(const auto& entries) {
  std::string html = "<dl class=\"definitions\">\n";
  for (const Entry& entry : entries)
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", entry.term, entry.meaning);
  return html + "</dl>\n";
}

}  // namespace

std::string badge(std::string_view verdict) {
  for (const Sign& sign : signs)
    if (sign.verdict == verdict)
      return fmt::format("<span class=\"badge {}\"><span aria-hidden=\"true\">{}</span> {}</span>",
                         sign.style, sign.sign, sign.verdict);
  return fmt::format("<span class=\"badge skipped\">{}</span>", escape(verdict));
}

std::string introduction() {
  return R"(<p>A transformer with <em>ALiBi</em> lets nearby positions count more than distant ones: it
multiplies each attention weight by <b>L*</b> = exp(−distance/<i>σ</i>), where the decay length
<i>σ</i> differs from head to head. <em>Positional LSH</em> replaces this smooth bias by random
zero-one masks. Each mask cuts the positions into contiguous blocks (a random width and a random
shift decide where), and a position attends only inside its own block. Two positions share a
block with probability exactly exp(−distance/<i>σ</i>), so the masks are the ALiBi bias in
expectation, and the mean of <i>s</i> of them, <b>M̃</b>, comes close to it. What is gained:
attention inside blocks touches a number of pairs that grows with the context length, not with
its square.</p>
<p>This page audits the claims of the paper “Positional LSH: Binary Block Matrix Approximation
for Attention with Linear Biases” (D. Wolfson and T. Wagner, arXiv 2605.09472): how close the
mean of the masks is, how large the blocks become, what they cost, and what that means for the
output of attention.</p>
)";
}

std::string verdict_guide() {
  static constexpr std::array entries{
      Entry{"certified",
            "There is a proof, and every number that the claim rests on was computed inside an "
            "interval that provably holds the true value. The claim can only be wrong if the "
            "proof is."},
      Entry{"consistent",
            "The claim was put to tests whose false-alarm probability is bounded by a theorem, or "
            "measured against its bound, and nothing spoke against it. That is evidence, not "
            "proof."},
      Entry{"refuted",
            "A counterexample was found, or data that a true claim would produce with no more "
            "than the stated false-alarm probability. The counterexample is part of the claim’s "
            "details."},
      Entry{
          "undecided",
          "The budget ended before the evidence did. It counts neither for nor against the claim."},
      Entry{"not audited", "The claim is listed for completeness; nothing was computed for it."},
  };
  std::string html = "<dl class=\"definitions verdicts\">\n";
  for (const Entry& entry : entries)
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", badge(entry.term), entry.meaning);
  return html + "</dl>\n";
}

std::string glossary() {
  static constexpr std::array entries{
      Entry{"position, <i>n</i>",
            "A place in the sequence of tokens; <i>n</i>, the context length, is their number."},
      Entry{"head",
            "One of several attention computations that run side by side, each with its own "
            "decay length."},
      Entry{"<i>σ</i>, slope",
            "The decay length in positions. ALiBi’s slope is its inverse, 1/<i>σ</i>: a steep "
            "slope sees only the nearest positions."},
      Entry{"L*", "The ALiBi bias as a matrix of weights, exp(−distance/<i>σ</i>)."},
      Entry{"block", "A run of neighbouring positions that one mask keeps together."},
      Entry{"<i>b</i><sub>max</sub>", "The size of the largest block over all <i>s</i> masks."},
      Entry{"mask, M", "A zero-one matrix: one where two positions share a block."},
      Entry{"<i>s</i>, M̃", "The number of independent masks, and their mean."},
      Entry{"partition law",
            "The exact probability of every way in which the positions can be cut into blocks."},
      Entry{"spectral norm",
            "The most by which a matrix can lengthen a vector; of the difference L* − M̃, the "
            "worst error over all directions at once."},
      Entry{"max norm",
            "The largest entry of a matrix by size: the worst error over all pairs of positions."},
      Entry{"Frobenius norm",
            "The root of the sum of the squared entries: the error over all entries together."},
      Entry{"<i>δ</i>", "The probability with which a bound may fail."},
      Entry{"tightness",
            "Bound divided by the observed value: 1 means that the bound cannot be improved."},
      Entry{"e-value",
            "A measure of evidence against a claim. If the claim is true, it exceeds 1/α with "
            "probability at most α, however long one samples. The tables give its logarithm to "
            "base ten: negative means that the data support the claim."},
      Entry{"dense attention", "Attention that scores every pair of positions: <i>n</i>² of them."},
      Entry{"union", "The pairs that at least one of the <i>s</i> masks keeps, each counted once."},
      Entry{"window",
            "Exact ALiBi attention restricted to positions no further apart than a radius."},
  };
  return definitions(entries);
}

}  // namespace plsh::cli::report
