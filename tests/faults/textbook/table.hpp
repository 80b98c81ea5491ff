/// \file
/// The table of the textbook implementation, for programs that link it statically.
#pragma once

#include <plsh/interface/implementation.h>

namespace plsh::textbook {

/// The table of the active fault or variant; null when that is its fault. It is rebuilt in place by
/// every call.
const plsh_implementation* implementation();

}  // namespace plsh::textbook
