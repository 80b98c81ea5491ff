#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <plsh/properties/check.hpp>
#include <set>

#include "child.hpp"

namespace plsh::properties {
namespace {

using nlohmann::json;

json result_to_json(const PropertyResult& result) {
  json message{{"id", result.id},
               {"verdict", static_cast<int>(result.verdict)},
               {"cases", result.cases},
               {"refused", result.refused},
               {"unsuitable", result.unsuitable},
               {"seconds", result.seconds},
               {"log_e_value", result.log_e_value},
               {"observations", result.observations},
               {"error_ratio", result.error_ratio},
               {"plain_ratio", result.plain_ratio},
               {"message", result.message}};
  if (result.counterexample)
    message["counterexample"] = {{"family", result.counterexample->family},
                                 {"case", result.counterexample->parameters},
                                 {"message", result.counterexample->message},
                                 {"shrinks", result.counterexample->shrinks}};
  return message;
}

PropertyResult result_from_json(const json& message) {
  PropertyResult result;
  message.at("id").get_to(result.id);
  result.verdict = static_cast<CheckVerdict>(message.at("verdict").get<int>());
  message.at("cases").get_to(result.cases);
  message.at("refused").get_to(result.refused);
  message.at("unsuitable").get_to(result.unsuitable);
  message.at("seconds").get_to(result.seconds);
  message.at("log_e_value").get_to(result.log_e_value);
  message.at("observations").get_to(result.observations);
  message.at("error_ratio").get_to(result.error_ratio);
  message.at("plain_ratio").get_to(result.plain_ratio);
  message.at("message").get_to(result.message);
  if (message.contains("counterexample")) {
    const json& example = message["counterexample"];
    result.counterexample = Counterexample{example.at("family"), example.at("case"),
                                           example.at("message"), example.at("shrinks")};
  }
  return result;
}

/// Checks the properties that it is asked for, with a process of their own for the library.
void check_properties(int socket, const CheckOptions& options, const json& description,
                      double log_threshold) {
  ChildExecutor executor(options.source, options.seconds_per_case);
  for (;;) {
    const Received received = receive_message(socket, 0);
    if (received.state != Received::State::ok) return;
    json reply;
    try {
      reply["result"] =
          result_to_json(check_property(property(received.message.at("property")), executor,
                                        description, options.seed, options.effort, log_threshold));
    } catch (const std::exception& error) {
      reply["error"] =
          fmt::format("{}: {}", received.message.at("property").get<std::string>(), error.what());
    }
    if (!send_message(socket, reply)) return;
  }
}

/// A process that works on one property at a time.
struct Lane {
  Lane(const CheckOptions& options, const json& description, double log_threshold)
      : child([&](int socket) { check_properties(socket, options, description, log_threshold); }) {}
  Child child;
  std::optional<std::size_t> working_on;
};

}  // namespace

std::vector<const Property*> select_properties(const std::vector<std::string>& names) {
  std::set<std::string> ids;
  for (const std::string& name : names) {
    bool known = false;
    for (const Property& candidate : catalogue())
      if (candidate.id == name || candidate.id.starts_with(name + ".")) {
        ids.insert(candidate.id);
        known = true;
      }
    if (!known) property(name);  // throws, naming those that are near
  }
  std::vector<const Property*> result;
  for (const Property& candidate : catalogue())
    if (names.empty() || ids.contains(candidate.id)) result.push_back(&candidate);
  return result;
}

bool CheckReport::any(CheckVerdict verdict) const {
  return std::any_of(results.begin(), results.end(),
                     [&](const PropertyResult& result) { return result.verdict == verdict; });
}

CheckReport run_check(const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<const Property*> selected = select_properties(options.properties);
  CheckReport report;
  report.options = options;

  PropertyResult table;
  table.id = "interface.table";
  table.cases = 1;
  try {
    report.implementation = ChildExecutor(options.source, options.seconds_per_case).describe();
    table.verdict = CheckVerdict::pass;
  } catch (const Violation& violation) {
    table.verdict = CheckVerdict::fail;
    table.message = violation.what();
  }
  report.results.push_back(table);
  const auto finish = [&] {
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  };
  if (table.verdict == CheckVerdict::fail) {
    if (options.progress) options.progress(table, 1, 1);
    return finish();
  }

  // The false alarms of all statistical cases together have probability at most alpha.
  int statistical = 0;
  for (const Property* p : selected)
    if (p->statistical)
      for (const Family& family : p->families) statistical += family.cases;
  const double log_threshold = std::log(std::max(statistical, 1) / options.alpha);

  std::vector<std::optional<PropertyResult>> results(selected.size());
  std::vector<std::unique_ptr<Lane>> lanes;
  const int jobs =
      std::clamp(options.jobs, 1, static_cast<int>(std::max<std::size_t>(selected.size(), 1)));
  for (int k = 0; k < jobs; ++k)
    lanes.push_back(std::make_unique<Lane>(options, report.implementation, log_threshold));
  std::size_t next = 0;
  std::size_t done = 0;
  bool stop = false;
  while (done < selected.size() && !stop) {
    std::vector<pollfd> waiting;
    for (const auto& lane : lanes) {
      if (!lane->working_on && next < selected.size()) {
        send_message(lane->child.socket(), {{"property", selected[next]->id}});
        lane->working_on = next++;
      }
      waiting.push_back({lane->child.socket(), POLLIN, 0});
    }
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR)
      throw std::runtime_error(fmt::format("poll: {}", std::strerror(errno)));
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      Lane& lane = *lanes[k];
      if (!lane.working_on || waiting[k].revents == 0) continue;
      json reply;
      try {
        reply = lane.child.receive(0);
      } catch (const Violation& violation) {
        throw std::runtime_error(fmt::format("checking {}: {}; is there enough memory?",
                                             selected[*lane.working_on]->id, violation.what()));
      }
      if (reply.contains("error")) throw std::runtime_error(reply["error"].get<std::string>());
      PropertyResult& result = results[*lane.working_on].emplace(result_from_json(reply["result"]));
      lane.working_on.reset();
      ++done;
      stop = stop || (options.fail_fast && result.verdict == CheckVerdict::fail);
      if (options.progress)
        options.progress(result, static_cast<int>(done), static_cast<int>(selected.size()));
    }
  }
  for (std::optional<PropertyResult>& result : results)
    if (result) report.results.push_back(std::move(*result));
  return finish();
}

}  // namespace plsh::properties
