/// \file
/// Runs the program as a user does: as a child process, of which only stdout, stderr and the exit
/// status are seen.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace plsh::test {

struct ProcessResult {
  int status = -1;  ///< exit status, or 128 + the signal that ended it
  std::string out;
  std::string err;
  double seconds = 0;
};

/// Starts `program` with `arguments` (no shell in between), with an empty standard input, and waits
/// for its end. \throws std::runtime_error when it cannot be started.
inline ProcessResult run_process(const std::string& program,
                                 const std::vector<std::string>& arguments) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);

  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execv(program.c_str(), words.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  ProcessResult result;
  // Both at once: a child that fills one pipe while we wait for the other would hang.
  std::array<pollfd, 2> ends{pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  for (int open_ends = 2; open_ends > 0;) {
    if (poll(ends.data(), ends.size(), -1) < 0) continue;
    for (auto& end : ends) {
      if (end.fd < 0 || end.revents == 0) continue;
      std::array<char, 65536> buffer{};
      const ssize_t count = read(end.fd, buffer.data(), buffer.size());
      if (count > 0) {
        (end.fd == out[0] ? result.out : result.err)
            .append(buffer.data(), static_cast<std::size_t>(count));
      } else if (count == 0) {
        close(end.fd);
        end.fd = -1;
        --open_ends;
      }
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

/// Runs the program of this build.
inline ProcessResult plsh(const std::vector<std::string>& arguments) {
  return run_process(PLSH_PROGRAM, arguments);
}

/// "value entry --sigma 4" -> {"value", "entry", "--sigma", "4"}; words are separated by blanks.
inline std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t at = text.find_first_not_of(' '); at != std::string::npos;) {
    const std::size_t end = text.find(' ', at);
    result.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(' ', end);
  }
  return result;
}

}  // namespace plsh::test
