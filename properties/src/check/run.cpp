#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>

#include "executor.hpp"

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

/// A process that checks one property after another, each with a child of its own for the library.
class Lane {
 public:
  Lane(const CheckOptions& options, const json& description, double log_threshold) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
      throw std::runtime_error(fmt::format("cannot create a socket: {}", std::strerror(errno)));
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0)
      throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(0);
      close(sockets[0]);
      work(sockets[1], options, description, log_threshold);
    }
    close(sockets[1]);
    socket_ = sockets[0];
  }
  ~Lane() {
    // Lanes inherit each other's sockets, so that closing one does not show at its other end.
    if (!idle || !send_message(socket_, {{"leave", true}})) kill(pid_, SIGKILL);
    close(socket_);
    waitpid(pid_, nullptr, 0);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  int socket() const { return socket_; }
  bool idle = true;

 private:
  [[noreturn]] static void work(int socket, const CheckOptions& options, const json& description,
                                double log_threshold) {
    {
      ChildExecutor executor(options.source, options.seconds_per_case);
      for (;;) {
        const Received received = receive_message(socket, 0);
        if (received.state != Received::State::ok || received.message.contains("leave")) break;
        json reply;
        try {
          reply["result"] = result_to_json(check_property(property(received.message.at("property")),
                                                          executor, description, options.seed,
                                                          options.effort, log_threshold));
        } catch (const std::exception& error) {
          reply["error"] = fmt::format("{}: {}", received.message.at("property").get<std::string>(),
                                       error.what());
        }
        if (!send_message(socket, reply)) break;
      }
    }
    _exit(0);
  }
  pid_t pid_ = -1;
  int socket_ = -1;
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
  std::vector<std::size_t> working_on;
  const int jobs =
      std::clamp(options.jobs, 1, static_cast<int>(std::max<std::size_t>(selected.size(), 1)));
  for (int k = 0; k < jobs; ++k) {
    lanes.push_back(std::make_unique<Lane>(options, report.implementation, log_threshold));
    working_on.push_back(0);
  }
  std::size_t next = 0;
  std::size_t done = 0;
  bool stop = false;
  while (done < selected.size() && !stop) {
    std::vector<pollfd> waiting;
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      if (lanes[k]->idle && next < selected.size()) {
        send_message(lanes[k]->socket(), {{"property", selected[next]->id}});
        working_on[k] = next++;
        lanes[k]->idle = false;
      }
      waiting.push_back({lanes[k]->socket(), POLLIN, 0});
    }
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR)
      throw std::runtime_error(fmt::format("poll: {}", std::strerror(errno)));
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      if (lanes[k]->idle || waiting[k].revents == 0) continue;
      const Received received = receive_message(lanes[k]->socket(), 0);
      if (received.state != Received::State::ok)
        throw std::runtime_error("the process that checks " + selected[working_on[k]]->id +
                                 " ended; is there enough memory?");
      if (received.message.contains("error"))
        throw std::runtime_error(received.message["error"].get<std::string>());
      results[working_on[k]] = result_from_json(received.message.at("result"));
      lanes[k]->idle = true;
      ++done;
      stop = stop || (options.fail_fast && results[working_on[k]]->verdict == CheckVerdict::fail);
      if (options.progress)
        options.progress(*results[working_on[k]], static_cast<int>(done),
                         static_cast<int>(selected.size()));
    }
  }
  for (std::optional<PropertyResult>& result : results)
    if (result) report.results.push_back(std::move(*result));
  return finish();
}

}  // namespace plsh::properties
