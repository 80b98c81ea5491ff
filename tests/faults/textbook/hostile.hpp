/// \file
/// Faults of a whole library rather than of its arithmetic: it dies, hangs, throws, lies.
#pragma once

#include <plsh/interface/implementation.h>

namespace plsh::textbook {

/// Runs at the start of every operation, and does what the active fault says; most do not return.
/// \return PLSH_OK to go on, or what the operation must return.
int misbehave();

/// Writes 64 bytes beyond the elements of an output.
void overrun(const DLTensor* output);

/// Spoils a table.
void misdeclare(plsh_implementation& table);

}  // namespace plsh::textbook
