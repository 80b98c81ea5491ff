// The symbol of the shared library. The environment variable PLSH_TEXTBOOK_FAULT names a fault or a
// variant; unset or empty, the implementation is honest.
#include <plsh/interface/implementation.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "faults.hpp"
#include "table.hpp"

extern "C" __attribute__((visibility("default"))) const plsh_implementation* plsh_implementation_v1(
    void) {
  const char* name = std::getenv("PLSH_TEXTBOOK_FAULT");
  try {
    plsh::textbook::set_fault(name == nullptr ? "" : name);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "PLSH_TEXTBOOK_FAULT: %s\n", error.what());
    return nullptr;
  }
  return plsh::textbook::implementation();
}
