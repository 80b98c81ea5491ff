/// \file
/// A child process that runs vectors, one after the other.
#pragma once

#include "../check/child.hpp"
#include "numbers.hpp"

namespace plsh::properties::vectors {

struct Chosen {
  std::string operation;
  const Json* vector;
};

class Server {
 public:
  /// Forks; the child loads the library and runs the vectors from number `first` on.
  Server(const Source& source, const std::vector<Chosen>& chosen, std::size_t first);

  /// \throws std::runtime_error, Violation as Implementation::load does.
  void wait_until_loaded(double seconds);
  /// The result of the next vector; failed when the process ends or does not answer, and then the
  /// process is no longer alive. \throws std::invalid_argument for a damaged vector.
  VectorResult next(double seconds);
  bool alive() const { return alive_; }

 private:
  nlohmann::json receive(double seconds);

  const std::vector<Chosen>& chosen_;
  std::size_t at_;
  Child child_;
  bool alive_ = true;
};

}  // namespace plsh::properties::vectors
