/// Argument checks: the message names the argument, its value and the allowed range.
#pragma once

#include <plsh/reference/real.hpp>
#include <stdexcept>
#include <string>

namespace plsh::reference {

inline void require(bool ok, const std::string& message) {
  if (!ok) throw std::invalid_argument(message);
}

inline void require_range(const char* name, Index value, Index low, Index high) {
  require(low <= value && value <= high, std::string(name) + " = " + std::to_string(value) +
                                             " is outside " + std::to_string(low) + ".." +
                                             std::to_string(high));
}

inline constexpr Index max_length = 1'000'000'000'000'000;

inline void require_length(Index length) { require_range("length", length, 1, max_length); }

template <class Real>
void require_sigma(const Real& sigma) {
  const double value = to_double(sigma);
  require(certainly_positive(sigma) && std::isfinite(value),
          "sigma = " + std::to_string(value) + " must be finite and above 0");
}

template <class Real>
void require_probability(const char* name, const Real& value) {
  require(certainly_positive(value) && certainly_positive(Real(Real(1) - value)),
          std::string(name) + " = " + std::to_string(to_double(value)) + " is outside (0, 1)");
}

}  // namespace plsh::reference

/// Compiles function templates for the three number types of the reference.
#define PLSH_FOR_EACH_REAL(APPLY) APPLY(double) APPLY(Mpfr) APPLY(Interval)
