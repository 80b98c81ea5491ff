#include "child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace plsh::optimized::cuda {

Ending run_in_child(const std::function<int()>& body) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> errors(std::tmpfile(), std::fclose);
  if (errors == nullptr) throw std::runtime_error("no temporary file");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    dup2(fileno(errors.get()), STDERR_FILENO);
    _exit(body());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("the child was lost");

  Ending ending{WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), ""};
  std::rewind(errors.get());
  std::array<char, 4096> piece;
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), errors.get()))
    ending.errors.append(piece.data(), size);
  return ending;
}

}  // namespace plsh::optimized::cuda
