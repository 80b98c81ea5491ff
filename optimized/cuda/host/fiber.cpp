#include "fiber.hpp"

#include "sanitizers.hpp"

namespace plsh::optimized::cuda::host {
namespace {

// A kernel's frame takes a few kilobytes, an instrumented one many times that. Pages that are not
// touched cost nothing.
constexpr std::size_t kStackBytes = 256 * 1024;

// Stacks are kept from one block to the next: Boost must not give them back.
struct KeptStack {
  void deallocate(boost::context::stack_context& /*stack*/) const {}
};

}  // namespace

Fiber::Fiber(const std::string& name) : allocator_(kStackBytes), stack_(allocator_.allocate()) {
  if (!has_tsan()) return;
  thread_ = __tsan_create_fiber(0);
  __tsan_set_fiber_name(thread_, name.c_str());
}

Fiber::~Fiber() {
  if (has_tsan()) __tsan_destroy_fiber(thread_);
  allocator_.deallocate(stack_);
}

void Fiber::prepare(std::function<void()> body) {
  body_ = std::move(body);
  started_ = false;
  context_ = boost::context::fiber(std::allocator_arg,
                                   boost::context::preallocated(stack_.sp, stack_.size, stack_),
                                   KeptStack{}, [this](boost::context::fiber&& caller) {
                                     caller_ = std::move(caller);
                                     enter();
                                     body_();
                                     leave(nullptr);
                                     return std::move(caller_);
                                   });
}

void Fiber::resume() {
  void* fake_stack = nullptr;
  if (has_asan()) {
    const void* const bottom = static_cast<char*>(stack_.sp) - stack_.size;
    __sanitizer_start_switch_fiber(&fake_stack, bottom, stack_.size);
  }
  if (has_tsan()) {
    caller_thread_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(thread_, started_ ? kOrdersNothing : 0);
  }
  started_ = true;
  context_ = std::move(context_).resume();
  if (has_asan()) __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

void Fiber::suspend() {
  leave(&fake_stack_);
  caller_ = std::move(caller_).resume();
  enter();
}

void Fiber::enter() {
  if (has_asan()) __sanitizer_finish_switch_fiber(fake_stack_, &caller_bottom_, &caller_size_);
}

// Without a place for the fake stack it ends here.
void Fiber::leave(void** fake_stack) {
  if (has_asan()) __sanitizer_start_switch_fiber(fake_stack, caller_bottom_, caller_size_);
  if (has_asan() && fake_stack == nullptr) fake_stack_ = nullptr;
  if (has_tsan()) __tsan_switch_to_fiber(caller_thread_, kOrdersNothing);
}

}  // namespace plsh::optimized::cuda::host
