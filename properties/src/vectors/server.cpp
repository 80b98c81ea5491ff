#include "server.hpp"

#include <cstdlib>
#include <optional>

namespace plsh::properties::vectors {
namespace {

using nlohmann::json;

/// One message when the library is loaded, then one for each vector.
void serve(int socket, const Source& source, const std::vector<Chosen>& chosen, std::size_t first) {
  if (!source.python.empty()) setenv("PLSH_PYTHON", source.python.c_str(), 1);
  std::optional<Implementation> implementation;
  const auto answer = [&](const auto& work) {
    json reply;
    try {
      reply = work();
    } catch (const Violation& violation) {
      reply["violation"] = violation.what();
    } catch (const std::invalid_argument& error) {
      reply["damaged"] = error.what();
    } catch (const std::exception& error) {
      reply["error"] = error.what();
    }
    return send_message(socket, reply);
  };
  answer([&] {
    implementation = Implementation::load(source.library);
    return json{{"loaded", true}};
  });
  for (std::size_t k = first; implementation && k < chosen.size(); ++k) {
    const bool heard = answer([&] {
      const VectorResult result =
          run_vector(*implementation, chosen[k].operation, *chosen[k].vector);
      return json{{"status", static_cast<int>(result.status)}, {"message", result.message}};
    });
    if (!heard) return;
  }
}

}  // namespace

Server::Server(const Source& source, const std::vector<Chosen>& chosen, std::size_t first)
    : chosen_(chosen),
      at_(first),
      child_([&](int socket) { serve(socket, source, chosen, first); }) {}

json Server::receive(double seconds) {
  try {
    return child_.receive(seconds);
  } catch (const Violation&) {
    alive_ = false;
    throw;
  }
}

void Server::wait_until_loaded(double seconds) {
  const json reply = receive(seconds);
  if (reply.contains("violation")) throw Violation(reply["violation"].get<std::string>());
  for (const char* name : {"error", "damaged"})
    if (reply.contains(name)) throw std::runtime_error(reply[name].get<std::string>());
}

VectorResult Server::next(double seconds) {
  VectorResult result{read_text(*chosen_.at(at_++).vector, "id"), VectorResult::Status::failed, ""};
  json reply;
  try {
    reply = receive(seconds);
  } catch (const Violation& violation) {
    result.message = violation.what();
    return result;
  }
  if (reply.contains("damaged")) throw std::invalid_argument(reply["damaged"].get<std::string>());
  if (reply.contains("violation") || reply.contains("error")) {
    result.message = reply[reply.contains("violation") ? "violation" : "error"].get<std::string>();
    return result;
  }
  result.status = static_cast<VectorResult::Status>(reply.at("status").get<int>());
  result.message = reply.at("message").get<std::string>();
  return result;
}

}  // namespace plsh::properties::vectors
