#include "numbers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpfr.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <regex>

namespace plsh::properties::vectors {
namespace {

constexpr std::size_t kLongestNumber = 64;
constexpr std::size_t kMostLeaves = 100'000;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

bool is_hex(const std::string& text) {
  static const std::regex form("-?0x[0-9a-f](\\.[0-9a-f]+)?p[+-][0-9]{1,4}");
  return text.size() <= kLongestNumber && std::regex_match(text, form);
}

bool is_decimal(const std::string& text) {
  static const std::regex form("-?[0-9]+(\\.[0-9]+)?(e-?[0-9]{1,8})?");
  return text.size() <= kLongestNumber && std::regex_match(text, form);
}

// d.ddde-12 without the zeros that say nothing.
std::string decimal(const Mpfr& x, unsigned digits, mpfr_rnd_t rounding) {
  char* text = nullptr;
  mpfr_asprintf(&text, "%.*R*e", static_cast<int>(digits) - 1, rounding, x.backend().data());
  std::string result(text);
  mpfr_free_str(text);
  const std::size_t mark = result.find('e');
  std::string significand = result.substr(0, mark);
  const long exponent = std::strtol(result.c_str() + mark + 1, nullptr, 10);
  if (significand.find('.') != std::string::npos) {
    significand.erase(significand.find_last_not_of('0') + 1);
    if (significand.back() == '.') significand.pop_back();
  }
  return exponent == 0 ? significand : fmt::format("{}e{}", significand, exponent);
}

Mpfr from_text(const std::string& text, mpfr_rnd_t rounding) {
  Mpfr result;
  mpfr_set_str(result.backend().data(), text.c_str(), 10, rounding);
  return result;
}

std::string text_of(const Json& json) { return json.get_ref<const std::string&>(); }

// The ends of a recorded number, rounded inwards.
struct Ends {
  Mpfr low, high;
};
Ends ends_of(const Json& json) {
  if (is_interval(json))
    return {from_text(text_of(json[0]), MPFR_RNDU), from_text(text_of(json[1]), MPFR_RNDD)};
  const Mpfr value(read_number(json).value);
  return {value, value};
}

}  // namespace

std::string hex_text(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", x);
  return text;
}

Json number(const Interval& x, const Digits& digits) {
  const Mpfr low = reference::lower(x);
  const Mpfr high = reference::upper(x);
  const double value = mpfr_get_d(low.backend().data(), MPFR_RNDN);
  if (low == high && low == Mpfr(value)) return hex_text(value);
  if (mpfr_number_p(low.backend().data()) == 0 || mpfr_number_p(high.backend().data()) == 0)
    throw std::logic_error("an enclosure of a test vector is not bounded");
  return Json::array(
      {decimal(low, digits.written, MPFR_RNDD), decimal(high, digits.written, MPFR_RNDU)});
}

Json bound(double x) {
  if (x == 0) return 0.0;
  double rounded = 0;
  for (double larger = x; rounded < x; larger *= 1.002)
    rounded = std::strtod(fmt::format("{:.2e}", larger).c_str(), nullptr);
  return rounded;
}

bool is_interval(const Json& json) {
  return json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string() &&
         is_decimal(text_of(json[0])) && is_decimal(text_of(json[1]));
}

Recorded read_number(const Json& json) {
  if (is_interval(json)) {
    const Mpfr low = from_text(text_of(json[0]), MPFR_RNDD);
    const Mpfr high = from_text(text_of(json[1]), MPFR_RNDU);
    if (!(low <= high)) refuse("the interval is empty");
    const Mpfr middle((low + high) / 2);
    return {false, mpfr_get_d(middle.backend().data(), MPFR_RNDN)};
  }
  if (!json.is_string()) refuse("it is neither an exact number nor an interval");
  const std::string text = text_of(json);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "inf") return {true, infinity};
  if (text == "-inf") return {true, -infinity};
  if (!is_hex(text)) refuse("it is neither an exact number nor an interval");
  return {true, std::strtod(text.c_str(), nullptr)};
}

std::string contradiction(const Json& recorded, const Json& computed) {
  const bool exact = !is_interval(recorded);
  try {
    read_number(recorded);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  if (exact) {
    if (is_interval(computed)) return "it is not exact";
    return read_number(recorded).value == read_number(computed).value ? "" : "it is wrong";
  }
  const Ends outer = ends_of(recorded);
  const Ends inner = ends_of(computed);
  if (inner.low < outer.low || inner.high > outer.high)
    return "the interval does not hold the value";
  // 20 digits, both ends rounded outwards; the absolute part is for sums that cancel to nothing.
  const Mpfr size = reference::max(reference::abs(outer.low), reference::abs(outer.high));
  if (outer.high - outer.low > size * Mpfr(1e-18) + Mpfr(1e-40))
    return "the interval is wider than 20 digits need";
  return "";
}

const Json& member(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) refuse(fmt::format("\"{}\" is missing", name));
  return object.at(name);
}

namespace {

double to_float(const Json& json, const std::string& name) {
  double value = 0;
  try {
    if (!json.is_string()) refuse("");
    value = read_number(json).value;
  } catch (const std::invalid_argument&) {
    refuse(fmt::format("\"{}\": not a hexadecimal float", name));
  }
  if (!std::isfinite(value)) refuse(fmt::format("\"{}\" is not finite", name));
  if (round_to(Type::f32, value) != value) refuse(fmt::format("\"{}\" is not exact in f32", name));
  return value;
}

void collect(const Json& json, std::size_t level, const std::string& name, Nested& result) {
  if (level == result.shape.size()) {
    result.leaves.push_back(json);
    return;
  }
  if (!json.is_array() || json.empty())
    refuse(fmt::format("\"{}\" is not a list of {} levels", name, result.shape.size()));
  Index& extent = result.shape[level];
  if (extent == 0) extent = static_cast<Index>(json.size());
  if (extent != static_cast<Index>(json.size()))
    refuse(fmt::format("\"{}\": its lists differ in length", name));
  if (result.leaves.size() + json.size() > kMostLeaves)
    refuse(fmt::format("\"{}\" is too large", name));
  for (const Json& each : json) collect(each, level + 1, name, result);
}

}  // namespace

double read_float(const Json& object, const char* name) {
  return to_float(member(object, name), name);
}

Index read_integer(const Json& object, const char* name, Index low, Index high) {
  const Json& json = member(object, name);
  const bool fits =
      json.is_number_integer() && (!json.is_number_unsigned() ||
                                   json.get<std::uint64_t>() <= std::uint64_t{0x7FFFFFFFFFFFFFFF});
  if (!fits || json.get<Index>() < low || json.get<Index>() > high)
    refuse(fmt::format("\"{}\" is not an integer from {} to {}", name, low, high));
  return json.get<Index>();
}

bool read_bool(const Json& object, const char* name) {
  const Json& json = member(object, name);
  if (!json.is_boolean()) refuse(fmt::format("\"{}\" is not true or false", name));
  return json.get<bool>();
}

std::string read_text(const Json& object, const char* name) {
  const Json& json = member(object, name);
  if (!json.is_string()) refuse(fmt::format("\"{}\" is not a text", name));
  return text_of(json);
}

Nested read_nested(const Json& json, std::size_t rank, const std::string& name) {
  Nested result{std::vector<Index>(rank, 0), {}};
  collect(json, 0, name, result);
  return result;
}

std::vector<double> read_floats(const Json& object, const char* name,
                                const std::vector<Index>& shape) {
  const Nested list = read_nested(member(object, name), shape.size(), name);
  if (list.shape != shape)
    refuse(fmt::format("\"{}\" has shape [{}], expected [{}]", name, fmt::join(list.shape, ", "),
                       fmt::join(shape, ", ")));
  std::vector<double> result;
  for (const Json& leaf : list.leaves) result.push_back(to_float(leaf, name));
  return result;
}

Json nested(const std::vector<Index>& shape, const std::vector<Json>& leaves) {
  std::vector<Json> level = leaves;
  for (std::size_t a = shape.size(); a-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[a]);
    std::vector<Json> lists;
    for (std::size_t k = 0; k < level.size(); k += extent) {
      Json list = Json::array();
      for (std::size_t x = 0; x < extent; ++x) list.push_back(level[k + x]);
      lists.push_back(std::move(list));
    }
    level = std::move(lists);
  }
  return level.at(0);
}

Json nested_hex(const std::vector<Index>& shape, const std::vector<double>& values) {
  std::vector<Json> leaves;
  for (const double value : values) leaves.emplace_back(hex_text(value));
  return nested(shape, leaves);
}

}  // namespace plsh::properties::vectors
