#include "hostile.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include "faults.hpp"
#include "operations.hpp"

namespace plsh::textbook {
namespace {

// Volatile keeps the compiler from seeing through what is wrong on purpose.
volatile int* volatile nowhere = nullptr;

int recurse(int depth);
int (*volatile next_call)(int) = recurse;

int recurse(int depth) {
  volatile int frame[1024] = {};
  frame[0] = next_call(depth + 1);
  return frame[0];
}

void stop_once() {
  static bool stopped = false;
  if (std::exchange(stopped, true)) return;
  const pid_t stopping = getpid();
  if (fork() == 0) {
    usleep(1'500'000);
    kill(stopping, SIGCONT);
    _exit(0);
  }
  std::raise(SIGSTOP);
}

}  // namespace

int misbehave() {
  switch (active_fault()) {
    case Fault::segmentation_fault:
      *nowhere = 1;
      return PLSH_OK;
    case Fault::aborts:
      std::abort();
    case Fault::hangs:
      for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    case Fault::spins: {
      volatile unsigned steps = 0;
      for (;;) steps = steps + 1;
    }
    case Fault::exits_with_0:
      std::fflush(nullptr);
      std::_Exit(0);
    case Fault::exits_through_atexit:
      std::exit(0);
    case Fault::throws_exception:
      throw std::runtime_error("an exception leaves a C interface");
    case Fault::throws_integer:
      throw 42;
    case Fault::returns_failed:
      refuse("this always fails");
      return PLSH_FAILED;
    case Fault::returns_unknown_status:
      return -17;
    case Fault::refuses_everything:
      return refuse("nothing is supported");
    case Fault::does_nothing:
      return PLSH_OK;
    case Fault::stack_overflow:
      return recurse(0);
    case Fault::kills_itself:
      std::raise(SIGKILL);
      return PLSH_OK;
    case Fault::divides_by_zero:
      std::raise(SIGFPE);
      return PLSH_OK;
    default:
      break;
  }
  if (variant(Variant::stopped)) stop_once();
  if (variant(Variant::prints)) {
    std::fputs("\x1b[31m{\"status\": \"pass\"}\nPLSH \xff\xfe noise on stdout\n", stdout);
    std::fputs("noise on stderr\n", stderr);
    std::fflush(stdout);
  }
  return PLSH_OK;
}

void overrun(const DLTensor* output) {
  if (output == nullptr) return;
  std::int64_t elements = 1;
  for (int axis = 0; axis < output->ndim; ++axis) {
    if (output->shape[axis] == 0) return;
    elements += (output->shape[axis] - 1) * output->strides[axis];
  }
  const auto bytes = static_cast<std::size_t>(elements) * (output->dtype.bits / 8U);
  std::memset(static_cast<unsigned char*>(output->data) + bytes, 0x5A, 64);
}

void misdeclare(plsh_implementation& table) {
  if (fault(Fault::table_version)) table.interface_version = PLSH_INTERFACE_VERSION + 1;
  if (fault(Fault::table_size)) table.struct_size = 16;
  if (fault(Fault::table_name_null)) table.name = nullptr;
  if (fault(Fault::table_name_empty)) table.name = "";
  if (fault(Fault::table_convention_unknown)) table.conventions.bin_rule = 99;
  if (fault(Fault::table_offers_nothing)) {
    table.slopes = nullptr;
    table.bins = nullptr;
    table.sample_partitions = nullptr;
    table.mean_mask = nullptr;
    table.exact_forward = nullptr;
    table.exact_backward = nullptr;
    table.sampled_forward = nullptr;
    table.sampled_backward = nullptr;
  }
  if (fault(Fault::table_crash)) *nowhere = 1;
}

}  // namespace plsh::textbook
