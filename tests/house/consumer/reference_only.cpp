#include <cstdio>
#include <plsh/reference/kernel.hpp>

int main() {
  const plsh::reference::AlibiKernel<double> kernel(4, 2.0);
  std::printf("%.17g\n", kernel.entry(1, 1));
}
