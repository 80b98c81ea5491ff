/// \file
/// What AddressSanitizer and ThreadSanitizer are told.
///
/// The executor is compiled without them, so that it is fast and its own bookkeeping is no access
/// of a kernel. Their functions are weak: null in a program that is built without them, so that one
/// library serves every build.
#pragma once

#include <cstddef>

extern "C" {
// <sanitizer/asan_interface.h> and <sanitizer/common_interface_defs.h>
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* at, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* at, std::size_t bytes);
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom,
                                                  std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom,
                                                   std::size_t* size);
// <sanitizer/tsan_interface.h>
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_set_fiber_name(void* fiber, const char* name);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_acquire(void* key);
[[gnu::weak]] void __tsan_release(void* key);
[[gnu::weak]] void __tsan_ignore_thread_begin();
[[gnu::weak]] void __tsan_ignore_thread_end();
// What the compiler calls for an access whose size it does not know.
[[gnu::weak]] void __asan_loadN(const void* at, std::size_t bytes);
[[gnu::weak]] void __asan_storeN(void* at, std::size_t bytes);
[[gnu::weak]] void __tsan_read_range_pc(const void* at, std::size_t bytes, const void* line);
[[gnu::weak]] void __tsan_write_range_pc(void* at, std::size_t bytes, const void* line);
}

namespace plsh::optimized::cuda::host {

/// Flag of __tsan_switch_to_fiber: what one thread did is not ordered before what the other does.
inline constexpr unsigned kOrdersNothing = 1;

inline bool has_asan() { return __asan_poison_memory_region != nullptr; }
inline bool has_tsan() { return __tsan_create_fiber != nullptr; }

/// The running thread reads or writes these bytes for the kernel, in which `line` is the address
/// of an instruction.
inline void kernel_reads(const void* at, std::size_t bytes, const void* line) {
  if (has_asan()) __asan_loadN(at, bytes);
  if (has_tsan()) __tsan_read_range_pc(at, bytes, line);
}
inline void kernel_writes(void* at, std::size_t bytes, const void* line) {
  if (has_asan()) __asan_storeN(at, bytes);
  if (has_tsan()) __tsan_write_range_pc(at, bytes, line);
}

/// What was done before a release of a key happens before what follows an acquire of it. A key is
/// an address.
inline void release(void* key) {
  if (has_tsan()) __tsan_release(key);
}
inline void acquire(void* key) {
  if (has_tsan()) __tsan_acquire(key);
}

/// While it lives, what the running thread does is no access of the kernel: it keeps calls of the
/// C library and shared templates, which may be instrumented, from being taken for one.
class Bookkeeping {
 public:
  Bookkeeping() {
    if (has_tsan()) __tsan_ignore_thread_begin();
  }
  ~Bookkeeping() {
    if (has_tsan()) __tsan_ignore_thread_end();
  }
  Bookkeeping(const Bookkeeping&) = delete;
  Bookkeeping& operator=(const Bookkeeping&) = delete;
};

}  // namespace plsh::optimized::cuda::host
