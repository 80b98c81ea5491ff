/// \file
/// Messages between processes.
#pragma once

#include <plsh/properties/check.hpp>

namespace plsh::properties {

struct Received {
  enum class State { ok, closed, timeout };
  State state;
  nlohmann::json message;
};

/// False when the other side is gone.
bool send_message(int fd, const nlohmann::json& message);
/// \param seconds how long to wait for the whole message; 0: for ever.
Received receive_message(int fd, double seconds);

nlohmann::json outcome_to_json(const Outcome& outcome);
Outcome outcome_from_json(const nlohmann::json& message);

}  // namespace plsh::properties
