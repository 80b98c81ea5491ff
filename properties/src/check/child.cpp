#include "child.hpp"

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
#include <filesystem>
#include <fstream>
#include <optional>
#include <plsh/properties/implementation.hpp>
#include <sstream>

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

// ---- the process -----------------------------------------------------------------------------

namespace {

std::runtime_error system_error(const char* what) {
  return std::runtime_error(fmt::format("cannot create {}: {}", what, std::strerror(errno)));
}

/// What /proc tells of a process.
struct Activity {
  double processor_seconds = 0;
  bool asleep = true;  ///< every thread waits for something
};

Activity activity_of(int pid) {
  Activity activity;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::error_code gone;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
    std::ifstream in(thread.path() / "stat");
    std::string text;
    std::getline(in, text);
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    // state, ten fields, utime, stime; see proc(5).
    std::istringstream fields(text.substr(name_end + 1));
    std::string field;
    fields >> field;
    if (field != "S") activity.asleep = false;
    for (int skipped = 0; skipped < 10; ++skipped) fields >> field;
    double user = 0;
    double system = 0;
    fields >> user >> system;
    activity.processor_seconds += (user + system) / ticks;
  }
  return activity;
}

std::string signal_text(int number) {
  const char* name = sigabbrev_np(number);
  return fmt::format("signal SIG{}", name ? name : std::to_string(number));
}

}  // namespace

Child::Child(const std::function<void(int socket)>& serve) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw system_error("a socket");
  log_ = memfd_create("plsh-child-output", MFD_CLOEXEC);
  if (log_ < 0) throw system_error("a log");
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw system_error("a process");
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
    serve(sockets[1]);
    _exit(0);
  }
  close(sockets[1]);
  socket_ = sockets[0];
}

Child::~Child() {
  if (!reaped_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(socket_);
  close(log_);
}

// A busy machine, or a process that is stopped, is no fault of an implementation: the time is up
// when it was spent in computing, or when the process sleeps at its end. Ten times as long is
// enough in any case.
bool Child::answers_within(double seconds) const {
  const double computed = activity_of(pid_).processor_seconds;
  for (int rounds = 0; rounds < 10; ++rounds) {
    pollfd waiting{socket_, POLLIN, 0};
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(seconds));
    int ready = 0;
    for (auto left = until - Clock::now(); ready <= 0 && left.count() > 0;
         left = until - Clock::now())
      ready = poll(&waiting, 1,
                   static_cast<int>(std::min<long long>(
                       std::chrono::ceil<std::chrono::milliseconds>(left).count(), 1'000'000'000)));
    if (ready > 0) return true;
    const Activity now = activity_of(pid_);
    if (now.asleep || now.processor_seconds - computed >= 0.9 * seconds) return false;
  }
  return false;
}

json Child::receive(double seconds) {
  if (seconds > 0 && !answers_within(seconds))
    throw Violation(
        fmt::format("no answer within {:g} s (if it is only slow: --case-limit)", seconds));
  const Received received = receive_message(socket_, seconds);
  if (received.state == Received::State::ok) return received.message;
  if (received.state == Received::State::timeout)
    throw Violation(
        fmt::format("no answer within {:g} s (if it is only slow: --case-limit)", seconds));
  throw Violation(obituary());
}

json Child::ask(const json& request, double seconds) {
  if (!send_message(socket_, request)) throw Violation(obituary());
  return receive(seconds);
}

std::string Child::obituary() {
  int status = 0;
  waitpid(pid_, &status, 0);
  reaped_ = true;
  const std::string text =
      WIFSIGNALED(status)
          ? fmt::format("the process was ended by {}", signal_text(WTERMSIG(status)))
          : fmt::format("the process ended itself with status {}", WEXITSTATUS(status));
  const std::string printed = printed_text();
  return printed.empty() ? text : text + "; it printed: " + printed;
}

// The last lines, in one line of printable characters.
std::string Child::printed_text() const {
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

}  // namespace plsh::properties
