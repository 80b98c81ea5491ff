/// \file
/// What this machine can do at most, measured: the figure that every benchmark is a fraction of.
#pragma once

#include <string>

namespace plsh::bench {

/// Rates of all threads together, per second.
struct Peaks {
  double fma_flops = 0;   ///< f32 multiply-adds in registers, two operations each
  double exp_rate = 0;    ///< 2^x of f32 numbers in the first cache, a polynomial of degree 5
  double read_bytes = 0;  ///< reading 512 MiB
  double copy_bytes = 0;  ///< copying 256 MiB, bytes read and written
};

/// The multiply-adds alone, for about this many seconds: to be repeated next to what is compared.
double measure_fma(int threads, double seconds);
Peaks measure_peaks(int threads);

/// The instruction set that the kernels and these measurements use here, in Highway's names.
std::string instruction_set();

}  // namespace plsh::bench
