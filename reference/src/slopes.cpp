#include <cmath>
#include <plsh/reference/slopes.hpp>

#include "validate.hpp"

namespace plsh::reference {

std::vector<double> alibi_slopes(int heads) {
  require_range("heads", heads, 1, 65'536);
  int power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<double> slopes;
  for (int h = 1; h <= power; ++h) slopes.push_back(std::exp2(-8.0 * h / power));
  for (int h = 1; static_cast<int>(slopes.size()) < heads; h += 2)
    slopes.push_back(std::exp2(-8.0 * h / (2 * power)));
  return slopes;
}

std::vector<double> alibi_decay_lengths(int heads) {
  std::vector<double> sigmas = alibi_slopes(heads);
  for (double& sigma : sigmas) sigma = 1 / sigma;
  return sigmas;
}

}  // namespace plsh::reference
