#include <iostream>
#include <plsh/optimized/cpu.hpp>
#include <plsh/properties/claims.hpp>
#include <plsh/reference/kernel.hpp>

int main() {
  using namespace plsh::reference;
  const PrecisionScope precision(50);
  const AlibiKernel<Interval> kernel(1024, Interval(8));
  // exp(-3/8), known to 30 digits from elsewhere.
  std::cout << certified_digits(kernel.entry(10, 13), 30) << '\n'
            << plsh::properties::claim("C1").title << '\n'
            << plsh::optimized::cpu::implementation().name << '\n';
}
