// The shared library that `plsh check` loads.
#include <plsh/optimized/cpu.hpp>

extern "C" __attribute__((visibility("default"))) const plsh_implementation* plsh_implementation_v1(
    void) {
  return &plsh::optimized::cpu::implementation();
}
