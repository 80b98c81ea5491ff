#include "command.hpp"

namespace plsh::cli {
void add_plan(CLI::App&, int&) {}
}  // namespace plsh::cli
