#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "enclosure_text.hpp"
#include "quantities.hpp"

namespace plsh::cli {
namespace {

constexpr Range digits_range{"1", "1000"};

struct Request {
  std::string quantity;
  std::map<std::string, std::string> texts;  // the options that were given, as typed
  std::string digits = "20";
  bool json = false;
  bool list = false;
  bool verbose = false;
};

std::string option_list(const std::vector<std::string>& names) {
  std::string result;
  for (const auto& name : names) result += (result.empty() ? "--" : " --") + name;
  return result;
}

std::string usage(const Quantity& quantity) {
  std::string result = option_list(quantity.required);
  for (const auto& name : quantity.optional) result += " [--" + name + "]";
  return result;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

const Quantity& find_quantity(const std::string& name) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const auto& quantity : quantities()) {
    if (quantity.name == name) return quantity;
    const bool part = name.size() >= 3 && quantity.name.find(name) != std::string::npos;
    near.emplace_back(part ? 1 : edit_distance(name, quantity.name), quantity.name);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  refuse(
      fmt::format("unknown quantity \"{}\"; the nearest are {}, {} and {}; "
                  "\"plsh value --list\" names all",
                  shown(name), near[0].second, near[1].second, near[2].second));
}

std::vector<Index> parse_blocks(const std::string& text, const Range& range) {
  std::vector<Index> blocks;
  Index total = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    blocks.push_back(parse_count("--blocks", text.substr(at, end - at), range));
    total += blocks.back();
    at = end + 1;
  }
  if (total > 64)
    refuse(
        fmt::format("--blocks: the lengths add up to n = {}; the exact law reaches n = 64", total));
  return blocks;
}

Arguments parse_arguments(const Quantity& quantity, std::map<std::string, std::string> texts) {
  const auto takes = [&](const std::string& name) {
    const auto in = [&](const auto& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    return in(quantity.required) || in(quantity.optional);
  };
  Arguments result;
  const auto read = [&](const ArgumentInfo& info) {
    const std::string option = std::string("--") + info.name;
    const std::string& text = texts.at(info.name);
    if (info.kind == Kind::decimal)
      result.decimals[info.name] = parse_decimal(option, text, info.range);
    else if (info.kind == Kind::count)
      result.counts[info.name] = parse_count(option, text, info.range);
    else
      result.blocks = parse_blocks(text, info.range);
  };
  const bool pair = takes("distance") && texts.contains("i") && texts.contains("j");
  if (pair && texts.contains("distance")) refuse("give either --distance or --i and --j, not both");
  if (takes("distance") && !takes("i") && texts.contains("i") != texts.contains("j"))
    refuse("--i and --j go together, or give --distance");
  for (const auto& info : argument_table()) {
    if (!texts.contains(info.name)) continue;
    const std::string name = info.name;
    if (!takes(name) && !(pair && (name == "i" || name == "j")))
      refuse(fmt::format("{} takes no --{}; it takes {}", quantity.name, name, usage(quantity)));
    read(info);
  }
  if (pair) result.counts["distance"] = std::abs(result.counts.at("i") - result.counts.at("j"));
  for (const auto& info : argument_table()) {
    const std::string name = info.name;
    const bool needed = std::find(quantity.required.begin(), quantity.required.end(), name) !=
                        quantity.required.end();
    if (needed && !texts.contains(name) && !(pair && name == "distance"))
      refuse(fmt::format("{} needs --{}, {}; allowed: {}", quantity.name, name, info.meaning,
                         info.range.words()));
  }
  return result;
}

// ---- evaluation ------------------------------------------------------------------------------

struct Answer {
  std::string kind;  // "digits", "exact" or "bounds"
  std::string value;
  std::string low;
  std::string high;
  std::string width;
  unsigned digits;
  unsigned precision_bits;
};

std::optional<Answer> answer_from(const Enclosure& x, unsigned digits, bool more_digits) {
  Answer answer{"digits",
                "",
                text_below(x.low, digits + 5),
                text_above(x.high, digits + 5),
                width_text(x.low, x.high),
                digits,
                reference::working_precision_bits()};
  if (x.bounds) {
    if (!decided_text(x.low, digits) || !decided_text(x.high, digits)) return std::nullopt;
    answer.kind = "bounds";
    answer.value = text_below(x.low, digits) + ".." + text_above(x.high, digits);
    return answer;
  }
  for (unsigned extra = 0; extra <= (more_digits ? 3u : 0u); ++extra)
    if (const auto text = decided_text(x.low, digits + extra)) {
      answer.kind = text->exact ? "exact" : "digits";
      answer.value = text->text;
      answer.digits = digits + extra;
      return answer;
    }
  return std::nullopt;
}

// A long argument such as 0.999...9 must be told from 1.
unsigned longest_text(const Arguments& arguments) {
  std::size_t longest = 0;
  for (const auto& [name, value] : arguments.decimals)
    longest = std::max(longest, value.text.size() + 2);
  return static_cast<unsigned>(longest);
}

Answer evaluate(const Quantity& quantity, const Arguments& arguments, unsigned digits,
                std::string& enclosure) {
  constexpr unsigned guard = 15;
  unsigned precision = digits + guard + longest_text(arguments);
  if (quantity.digits_lost) precision += quantity.digits_lost(arguments);
  const unsigned limit = 8 * precision + 8000;
  for (; precision <= limit; precision *= 2) {
    const reference::PrecisionScope scope(precision);
    const Enclosure x = quantity.evaluate(arguments);
    if (is_finite(x.low) && is_finite(x.high)) {
      if (const auto answer = answer_from(x, digits, false)) return *answer;
      // An enclosure this narrow that still does not decide sits on a rounding tie, such as 0.375
      // in two digits: one digit more decides.
      if (!x.bounds && width(x.low) * Mpfr(power_of_ten(digits + guard / 2)) < lower(x.low))
        if (const auto answer = answer_from(x, digits, true)) return *answer;
      enclosure = text_below(x.low, 6) + " to " + text_above(x.high, 6);
      // Below the smallest number that MPFR holds; more precision does not help.
      const Mpfr end = upper(x.high);
      if (end > 0 && mpfr_get_exp(end.backend().data()) < mpfr_get_emin() / 2) {
        enclosure += ", too near 0 for the exponent range of MPFR";
        break;
      }
    } else {
      enclosure = "unbounded";
    }
  }
  return {};
}

// ---- output ----------------------------------------------------------------------------------

void print_list(bool json) {
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& quantity : quantities())
      list.push_back({{"name", quantity.name},
                      {"sentence", quantity.sentence},
                      {"formula", quantity.formula},
                      {"required", quantity.required},
                      {"optional", quantity.optional},
                      {"example", quantity.example}});
    fmt::print("{}\n", list.dump(2));
    return;
  }
  for (const auto& quantity : quantities())
    fmt::print("{}\n    {}\n    formula: {}\n    options: {}\n    example: plsh value {} {}\n",
               quantity.name, quantity.sentence, quantity.formula, usage(quantity), quantity.name,
               fmt::join(quantity.example, " "));
}

void print_answer(const Request& request, const Quantity& quantity, const Arguments& arguments,
                  const Answer& answer) {
  if (request.json) {
    nlohmann::ordered_json given = nlohmann::ordered_json::object();
    for (const auto& info : argument_table()) {
      const std::string name = info.name;
      if (arguments.decimals.contains(name)) given[name] = arguments.decimals.at(name).text;
      if (arguments.counts.contains(name)) given[name] = arguments.counts.at(name);
      if (name == "blocks" && !arguments.blocks.empty()) given[name] = arguments.blocks;
    }
    const nlohmann::ordered_json object{{"quantity", quantity.name},
                                        {"arguments", given},
                                        {"digits", answer.digits},
                                        {"kind", answer.kind},
                                        {"value", answer.value},
                                        {"enclosure", {{"low", answer.low}, {"high", answer.high}}},
                                        {"precision_bits", answer.precision_bits}};
    fmt::print("{}\n", object.dump(2));
    return;
  }
  fmt::print("{}\n", answer.value);
  if (!request.verbose && isatty(STDOUT_FILENO) == 0) return;
  fmt::print("  {}\n  {}\n", quantity.sentence, quantity.formula);
  if (answer.kind == "exact")
    fmt::print("  exact\n");
  else if (answer.kind == "bounds")
    fmt::print("  proven bounds, rounded outwards; computed with {} bits\n", answer.precision_bits);
  else
    fmt::print("  {} digits, correctly rounded; proven within an interval of width {}, {} bits\n",
               answer.digits, answer.width, answer.precision_bits);
}

int run(const Request& request) {
  if (request.list) {
    print_list(request.json);
    return ok;
  }
  if (request.quantity.empty())
    refuse("which quantity? \"plsh value --list\" names all, such as spectral-norm");
  const Quantity& quantity = find_quantity(request.quantity);
  const auto digits = static_cast<unsigned>(parse_count("--digits", request.digits, digits_range));
  const Arguments arguments = parse_arguments(quantity, request.texts);
  std::string enclosure;
  const Answer answer = evaluate(quantity, arguments, digits, enclosure);
  if (answer.value.empty()) {
    fmt::print(stderr, "plsh value: {} digits of {} could not be decided; the value is within {}\n",
               digits, quantity.name, enclosure);
    return undecided;
  }
  print_answer(request, quantity, arguments, answer);
  return ok;
}

std::string footer() {
  std::string text = "Quantities (\"plsh value --list\" adds examples):\n";
  for (const auto& quantity : quantities())
    text += fmt::format("  {} {}\n      {}  [{}]\n", quantity.name, usage(quantity),
                        quantity.sentence, quantity.formula);
  return text +
         "\nExamples:\n"
         "  plsh value entry --distance 3 --sigma 4\n"
         "  plsh value spectral-norm --length 1e12 --sigma 0.1 --digits 1000\n"
         "  plsh value partition-probability --blocks 3,2,3 --sigma 4 --json\n"
         "\nEvery printed digit is proven: the value lies in an interval of which every number\n"
         "rounds to these digits. Options are exact decimals: 0.1 is one tenth. Whole numbers may\n"
         "be written like 1e6.\n"
         "Exit status: 0 printed, 2 wrong use, 3 the digits could not be decided.";
}

}  // namespace

void add_value(CLI::App& app, int& status) {
  auto* command = app.add_subcommand(
      "value", "Certified digits of the kernel, probabilities, norms, laws, quantiles and bounds.");
  const auto request = std::make_shared<Request>();
  command->add_option("QUANTITY", request->quantity, "what to compute; see below");
  for (const auto& info : argument_table()) {
    const std::string name = info.name;
    command->add_option_function<std::string>(
        "--" + name, [request, name](const std::string& text) { request->texts[name] = text; },
        fmt::format("{} ({})", info.meaning, info.range.words()));
  }
  command->add_option("--digits", request->digits, "significant digits (1 to 1000)")
      ->capture_default_str();
  command->add_flag("--json", request->json, "print one JSON object");
  command->add_flag("--list", request->list, "list the quantities; with --json for programs");
  command->add_flag("--verbose", request->verbose, "explain the number, also in a pipe");
  command->footer(footer());
  command->callback([request, &status] { status = run(*request); });
}

}  // namespace plsh::cli
