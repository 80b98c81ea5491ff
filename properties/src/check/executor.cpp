#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <plsh/properties/check.hpp>

#include "child.hpp"

namespace plsh::properties {

using nlohmann::json;

namespace {

json outcome_to_json(const Outcome& outcome) {
  // JSON has no infinity.
  const auto finite = [](double x) { return std::isfinite(x) ? x : (x > 0 ? 1e300 : 0); };
  return {
      {"status", static_cast<int>(outcome.status)}, {"message", outcome.message},
      {"log_e_value", finite(outcome.log_e_value)}, {"observations", outcome.observations},
      {"error_ratio", finite(outcome.error_ratio)}, {"plain_ratio", finite(outcome.plain_ratio)}};
}

Outcome outcome_from_json(const json& message) {
  Outcome outcome;
  outcome.status = static_cast<Outcome::Status>(message.at("status").get<int>());
  message.at("message").get_to(outcome.message);
  message.at("log_e_value").get_to(outcome.log_e_value);
  message.at("observations").get_to(outcome.observations);
  message.at("error_ratio").get_to(outcome.error_ratio);
  message.at("plain_ratio").get_to(outcome.plain_ratio);
  return outcome;
}

/// Serves requests until the socket closes. Whatever the library prints has been sent elsewhere.
void serve(int socket, const Source& source) {
  if (!source.python.empty()) setenv("PLSH_PYTHON", source.python.c_str(), 1);
  std::optional<Implementation> implementation;
  for (;;) {
    const Received received = receive_message(socket, 0);
    if (received.state != Received::State::ok) return;
    json reply;
    try {
      if (!implementation) implementation = Implementation::load(source.library);
      if (received.message.contains("describe")) {
        reply["description"] = implementation->describe();
      } else {
        Budget budget;
        received.message.at("seconds").get_to(budget.seconds);
        received.message.at("log_threshold").get_to(budget.log_threshold);
        received.message.at("scale_error").get_to(budget.scale_error);
        received.message.at("samples").get_to(budget.samples);
        reply["outcome"] =
            outcome_to_json(run_case(property(received.message.at("property")), *implementation,
                                     received.message.at("case"), budget));
      }
    } catch (const Violation& violation) {
      reply["violation"] = violation.what();
    } catch (const std::invalid_argument& error) {
      reply["bad_case"] = error.what();
    } catch (const std::exception& error) {
      reply["error"] = error.what();
    }
    if (!send_message(socket, reply)) return;
  }
}

// For a budget of samples: a day.
constexpr double kUnlimited = 86400;

}  // namespace

Outcome DirectExecutor::run(const Property& property, const Case& parameters,
                            const Budget& budget) {
  return run_case(property, implementation_, parameters, budget);
}

ChildExecutor::ChildExecutor(Source source, double seconds_per_case)
    : source_(std::move(source)), seconds_per_case_(seconds_per_case) {}
ChildExecutor::~ChildExecutor() = default;

json ChildExecutor::ask(const json& request, double seconds) {
  if (!child_) child_ = std::make_unique<Child>([&](int socket) { serve(socket, source_); });
  try {
    return child_->ask(request, seconds);
  } catch (const Violation&) {
    child_.reset();  // the next request gets a new process
    throw;
  }
}

Outcome ChildExecutor::run(const Property& property, const Case& parameters, const Budget& budget) {
  json reply;
  try {
    reply = ask({{"property", property.id},
                 {"case", parameters},
                 {"seconds", budget.seconds},
                 {"log_threshold", budget.log_threshold},
                 {"scale_error", budget.scale_error},
                 {"samples", budget.samples}},
                seconds_per_case_ + (!property.statistical ? 0
                                     : budget.samples > 0  ? kUnlimited
                                                           : budget.seconds));
  } catch (const Violation& violation) {
    return failed(violation.what());
  }
  if (reply.contains("outcome")) return outcome_from_json(reply["outcome"]);
  if (reply.contains("violation")) return failed(reply["violation"].get<std::string>());
  if (reply.contains("bad_case")) throw std::invalid_argument(reply["bad_case"].get<std::string>());
  throw std::runtime_error(fmt::format("the check of {} could not be run: {}", property.id,
                                       reply.at("error").get<std::string>()));
}

json ChildExecutor::describe() {
  const json reply = ask({{"describe", true}}, seconds_per_case_);
  if (reply.contains("description")) return reply["description"];
  if (reply.contains("violation")) throw Violation(reply["violation"].get<std::string>());
  throw std::runtime_error(reply.at("error").get<std::string>());
}

}  // namespace plsh::properties
