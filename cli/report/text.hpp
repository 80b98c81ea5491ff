/// \file
/// Text and numbers as a reader wants to see them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace plsh::cli::report {

/// Escapes text for HTML content and attributes. Control characters, which no HTML may hold, become
/// the replacement character.
std::string escape(std::string_view text);

/// A number with `digits` significant digits, thousands separators and, where it is very large or
/// very small, a power of ten. Plain Unicode text, good for HTML and for figures.
std::string number(double value, int digits = 3);
/// The same for a number that may be null: an en dash.
std::string number(const nlohmann::json& value, int digits = 3);
/// Fixed decimals, so that a column of numbers lines up.
std::string fixed(double value, int decimals);
/// A whole number with thousands separators.
std::string whole(double value);
/// A label for a tick of a logarithmic axis: a power of ten as such.
std::string power_of_ten(int exponent);
/// A duration in seconds, e.g. "3.2 s" or "2 min 3 s".
std::string duration(double seconds);
/// "sigma" written as its letter, as the figures do.
std::string greek(std::string text);
/// At most `length` characters (not bytes), with an ellipsis where some were cut off.
std::string shortened(const std::string& text, std::size_t length);
/// The number of characters (not bytes).
std::size_t characters(std::string_view text);
/// "one row", "3 rows": small numbers in words, the noun in its right form.
std::string counted(std::size_t count, std::string_view singular, std::string_view plural);

}  // namespace plsh::cli::report
