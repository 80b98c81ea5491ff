/// \file
/// Numbers and nested lists of a test vector, as JSON and back.
///
/// Exact numbers are C hexadecimal floats as text ("0x1.8p+1", "-inf"); others are certified
/// decimal intervals, lists of two texts ["lo", "hi"], rounded outwards. Integers are JSON
/// integers.
#pragma once

#include <plsh/properties/vectors.hpp>
#include <plsh/reference/real.hpp>
#include <string>
#include <vector>

namespace plsh::properties::vectors {

using Json = VectorDocument;
using reference::Interval;
using reference::Mpfr;

/// How numbers are computed and written. Vectors are written with 20 digits; a verification uses
/// more, so that its enclosures lie inside what was written.
struct Digits {
  unsigned written = 20;
  unsigned working() const { return 3 * written; }
};

/// "0x1.8p+1"; infinite values are "inf" and "-inf".
std::string hex_text(double x);
/// Exact when the enclosure is one number that a double holds.
Json number(const Interval& x, const Digits& digits);
/// A bound as a JSON number of three digits, rounded up.
Json bound(double x);

/// What a recorded number of an expected value says.
struct Recorded {
  bool exact;
  double value;  ///< the number itself, or the double nearest to the middle of the interval
};
/// \throws std::invalid_argument
Recorded read_number(const Json& json);
bool is_interval(const Json& json);
/// Empty when a recorded number states what the narrower, computed one proves; otherwise why not.
std::string contradiction(const Json& recorded, const Json& computed);

/// \throws std::invalid_argument naming the member unless `object` is one and has it.
const Json& member(const Json& object, const char* name);
double read_float(const Json& object, const char* name);  ///< finite, and exact in f32
Index read_integer(const Json& object, const char* name, Index low, Index high);
bool read_bool(const Json& object, const char* name);
std::string read_text(const Json& object, const char* name);

/// A nested list, taken apart.
struct Nested {
  std::vector<Index> shape;
  std::vector<Json> leaves;  ///< in row-major order
};
/// \param rank levels of lists; each list of a level has the same length, at least 1.
/// \throws std::invalid_argument naming `name`.
Nested read_nested(const Json& json, std::size_t rank, const std::string& name);
/// The same for finite numbers, exact in f32.
std::vector<double> read_floats(const Json& object, const char* name,
                                const std::vector<Index>& shape);
/// Leaves as a nested list.
Json nested(const std::vector<Index>& shape, const std::vector<Json>& leaves);
Json nested_hex(const std::vector<Index>& shape, const std::vector<double>& values);

}  // namespace plsh::properties::vectors
