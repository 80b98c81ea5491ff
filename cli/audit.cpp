#include "command.hpp"

namespace plsh::cli {
void add_audit(CLI::App&, int&) {}
}  // namespace plsh::cli
