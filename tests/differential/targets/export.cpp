// The optimized CPU code on one of the instruction sets that it is compiled for, which the
// environment variable PLSH_CPU_TARGET names. A processor chooses the best it has, so that the
// fallback would run nowhere.
#include <hwy/targets.h>

#include <cstdlib>
#include <plsh/optimized/cpu.hpp>
#include <string>

namespace {

plsh_implementation on_target() {
  plsh_implementation table = plsh::optimized::cpu::implementation();
  const char* const wanted = std::getenv("PLSH_CPU_TARGET");
  for (std::int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    const std::int64_t target = targets & -targets;
    if (wanted == nullptr || wanted != std::string(hwy::TargetName(target))) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    table.name = hwy::TargetName(target);
  }
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const plsh_implementation* plsh_implementation_v1(
    void) {
  static const plsh_implementation table = on_target();
  return &table;
}
