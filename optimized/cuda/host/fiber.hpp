/// \file
/// A logical thread: a stack of its own, switched to and from by the program itself, that
/// AddressSanitizer and ThreadSanitizer take for a thread.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <functional>
#include <string>

namespace plsh::optimized::cuda::host {

class Fiber {
 public:
  /// `name` is shown in reports.
  explicit Fiber(const std::string& name);
  /// Not while it is suspended.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Makes the next resume() call `body`, which must not throw. What the caller has done until that
  /// resume happens before it; later resumes order nothing.
  void prepare(std::function<void()> body);

  /// Runs it until it calls suspend() or its body returns.
  void resume();
  /// Goes back to resume(); called by the body.
  void suspend();

 private:
  void enter();
  void leave(void** fake_stack);

  boost::context::protected_fixedsize_stack allocator_;  // with a guard page
  boost::context::stack_context stack_;
  boost::context::fiber context_;  // where it is, while it is suspended
  boost::context::fiber caller_;   // where resume() was called, while it runs
  std::function<void()> body_;
  bool started_ = false;
  // For AddressSanitizer: the caller's stack, and what belongs to a suspended stack.
  const void* caller_bottom_ = nullptr;
  std::size_t caller_size_ = 0;
  void* fake_stack_ = nullptr;
  // For ThreadSanitizer.
  void* thread_ = nullptr;
  void* caller_thread_ = nullptr;
};

}  // namespace plsh::optimized::cuda::host
