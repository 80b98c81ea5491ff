#include "server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "../check/executor.hpp"

namespace plsh::properties::vectors {
namespace {

using nlohmann::json;

/// The child: one message when the library is loaded, then one for each vector.
[[noreturn]] void serve(int socket, const Source& source, const std::vector<Chosen>& chosen,
                        std::size_t first) {
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
    if (!send_message(socket, reply)) _exit(0);
  };
  answer([&] {
    implementation = Implementation::load(source.library);
    return json{{"loaded", true}};
  });
  if (!implementation) _exit(0);
  for (std::size_t k = first; k < chosen.size(); ++k)
    answer([&] {
      const VectorResult result =
          run_vector(*implementation, chosen[k].operation, *chosen[k].vector);
      return json{{"status", static_cast<int>(result.status)}, {"message", result.message}};
    });
  _exit(0);
}

}  // namespace

Server::Server(const Source& source, const std::vector<Chosen>& chosen, std::size_t first)
    : chosen_(chosen), at_(first) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw std::runtime_error(fmt::format("cannot create a socket: {}", std::strerror(errno)));
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
    const int null = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
    close(sockets[0]);
    serve(sockets[1], source, chosen, first);
  }
  close(sockets[1]);
  socket_ = sockets[0];
}

Server::~Server() {
  if (alive_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(socket_);
}

json Server::receive(double seconds) {
  const Received received = receive_message(socket_, seconds);
  if (received.state == Received::State::ok) return received.message;
  alive_ = false;
  int status = 0;
  if (received.state == Received::State::timeout) kill(pid_, SIGKILL);
  waitpid(pid_, &status, 0);
  if (received.state == Received::State::timeout)
    throw Violation(fmt::format("no answer within {:g} s", seconds));
  if (!WIFSIGNALED(status))
    throw Violation(fmt::format("the process ended itself with status {}", WEXITSTATUS(status)));
  const char* name = sigabbrev_np(WTERMSIG(status));
  throw Violation(fmt::format("the process was ended by signal SIG{}",
                              name ? name : std::to_string(WTERMSIG(status))));
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
