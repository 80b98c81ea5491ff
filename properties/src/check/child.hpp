/// \file
/// Processes that answer messages, so that what a library under test does to its process hurts no
/// other.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace plsh::properties {

/// Messages are JSON, behind their length. False when the other side is gone.
bool send_message(int fd, const nlohmann::json& message);

struct Received {
  enum class State { ok, closed, timeout };
  State state;
  nlohmann::json message;
};
/// \param seconds how long to wait for the whole message; 0: for ever.
Received receive_message(int fd, double seconds);

/// A process that runs one function and ends, at the latest with this object.
///
/// It forks: use it from a process with one thread.
class Child {
 public:
  /// \param serve runs in the child; what it prints is kept apart, for the message on its end.
  explicit Child(const std::function<void(int socket)>& serve);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int socket() const { return socket_; }
  /// \param seconds of computing, or until it is found asleep; 0: no limit.
  /// \throws Violation saying how the process ended, or that the time is up.
  nlohmann::json receive(double seconds);
  nlohmann::json ask(const nlohmann::json& request, double seconds);

 private:
  bool answers_within(double seconds) const;
  std::string obituary();
  std::string printed_text() const;
  int pid_ = -1;
  int socket_ = -1;
  int log_ = -1;
  bool reaped_ = false;
};

}  // namespace plsh::properties
