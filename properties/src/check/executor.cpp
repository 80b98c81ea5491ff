#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "executor.hpp"

namespace plsh::properties {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// ---- messages: a length and JSON text --------------------------------------------------------

bool write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

enum class Read { ok, closed, timeout };

Read read_all(int fd, char* data, std::size_t size, std::optional<Clock::time_point> deadline) {
  while (size > 0) {
    int wait = -1;
    if (deadline) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      if (left <= 0) return Read::timeout;
      wait = static_cast<int>(std::min<long long>(left, 1'000'000'000));
    }
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, wait);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) continue;  // the deadline decides
    if (ready < 0) return Read::closed;
    const ssize_t n = read(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Read::closed;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return Read::ok;
}

}  // namespace

bool send_message(int fd, const json& message) {
  // Text from an implementation may be any bytes.
  const std::string text = message.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::uint64_t size = text.size();
  return write_all(fd, reinterpret_cast<const char*>(&size), sizeof size) &&
         write_all(fd, text.data(), text.size());
}

Received receive_message(int fd, double seconds) {
  std::optional<Clock::time_point> deadline;
  if (seconds > 0)
    deadline = Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::uint64_t size = 0;
  Read state = read_all(fd, reinterpret_cast<char*>(&size), sizeof size, deadline);
  std::string text;
  if (state == Read::ok) {
    if (size > (std::uint64_t{1} << 28)) return {Received::State::closed, {}};
    text.resize(size);
    state = read_all(fd, text.data(), text.size(), deadline);
  }
  if (state == Read::timeout) return {Received::State::timeout, {}};
  if (state == Read::closed) return {Received::State::closed, {}};
  json message = json::parse(text, nullptr, false);
  if (message.is_discarded()) return {Received::State::closed, {}};
  return {Received::State::ok, std::move(message)};
}

// ---- outcomes --------------------------------------------------------------------------------

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

Outcome DirectExecutor::run(const Property& property, const Case& parameters,
                            const Budget& budget) {
  return run_case(property, implementation_, parameters, budget);
}

// ---- the child process -----------------------------------------------------------------------

namespace {

/// Serves requests until the socket closes. Whatever the library prints has been sent elsewhere.
[[noreturn]] void serve(int socket, const Source& source) {
  if (!source.python.empty()) setenv("PLSH_PYTHON", source.python.c_str(), 1);
  std::optional<Implementation> implementation;
  for (;;) {
    const Received received = receive_message(socket, 0);
    if (received.state != Received::State::ok) _exit(0);
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
    if (!send_message(socket, reply)) _exit(0);
  }
}

std::string signal_text(int number) {
  const char* name = sigabbrev_np(number);
  return fmt::format("signal SIG{}", name ? name : std::to_string(number));
}

}  // namespace

// For a budget of samples: a day.
constexpr double kUnlimited = 86400;

class ChildExecutor::Process {
 public:
  explicit Process(const Source& source) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
      throw std::runtime_error(fmt::format("cannot create a socket: {}", std::strerror(errno)));
    log_ = memfd_create("plsh-implementation-output", MFD_CLOEXEC);
    if (log_ < 0)
      throw std::runtime_error(fmt::format("cannot create a log: {}", std::strerror(errno)));
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0)
      throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
    if (pid_ == 0) {
      // Ends with the parent, leaves no core files, keeps its output apart.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(0);
      const rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      // Should memory run out, this process goes, not the one that counts.
      const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
      if (score >= 0) {
        if (write(score, "1000", 4) != 4) { /* then it competes like any other */
        }
        close(score);
      }
      const int null = open("/dev/null", O_RDONLY);
      dup2(null, STDIN_FILENO);
      dup2(log_, STDOUT_FILENO);
      dup2(log_, STDERR_FILENO);
      close(sockets[0]);
      serve(sockets[1], source);
    }
    close(sockets[1]);
    socket_ = sockets[0];
  }

  ~Process() {
    if (!reaped_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(socket_);
    close(log_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int socket() const { return socket_; }

  /// How the process ended, with the end of what it printed.
  std::string obituary() {
    int status = 0;
    waitpid(pid_, &status, 0);
    reaped_ = true;
    std::string text;
    if (WIFSIGNALED(status))
      text = fmt::format("the process was ended by {}", signal_text(WTERMSIG(status)));
    else
      text = fmt::format("the process ended itself with status {}", WEXITSTATUS(status));
    const std::string printed = printed_text();
    return printed.empty() ? text : text + "; it printed: " + printed;
  }

 private:
  // The last lines, in one line of printable characters.
  std::string printed_text() const {
    const off_t size = lseek(log_, 0, SEEK_END);
    if (size <= 0) return "";
    constexpr off_t kKeep = 2000;
    std::string text(static_cast<std::size_t>(std::min(size, kKeep)), '\0');
    const ssize_t n = pread(log_, text.data(), text.size(), size > kKeep ? size - kKeep : 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    for (char& c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    return text;
  }

  pid_t pid_ = -1;
  int socket_ = -1;
  int log_ = -1;
  bool reaped_ = false;
};

ChildExecutor::ChildExecutor(Source source, double seconds_per_case)
    : source_(std::move(source)), seconds_per_case_(seconds_per_case) {}
ChildExecutor::~ChildExecutor() = default;

json ChildExecutor::ask(const json& request, double seconds) {
  if (!process_) process_ = std::make_unique<Process>(source_);
  Received received{Received::State::closed, {}};
  if (send_message(process_->socket(), request))
    received = receive_message(process_->socket(), seconds);
  if (received.state == Received::State::ok) return received.message;
  const std::string what =
      received.state == Received::State::timeout
          ? fmt::format("no answer within {:g} s (if it is only slow: --case-limit)", seconds)
          : process_->obituary();
  process_.reset();
  throw Violation(what);
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
