#include "planted.hpp"

#include <cstdlib>

#include "faults.hpp"

namespace {

int number_of_fault() {
  const char* const wanted = std::getenv("PLSH_CPU_FAULT");
  if (wanted == nullptr || *wanted == '\0') return 0;
  int number = 0;
  for (const PlantedFault& fault : planted_faults) {
    ++number;
    if (fault.name == wanted) return number;
  }
  std::abort();  // a test of a fault that does not exist
}

}  // namespace

const int plsh_planted = number_of_fault();
