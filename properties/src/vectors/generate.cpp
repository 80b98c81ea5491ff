#include <fmt/format.h>

#include <set>

#include "flags.hpp"
#include "groups.hpp"

namespace plsh::properties {
namespace vectors {

Group::Group(std::string id, std::string operation, std::string source, Json conventions)
    : json_{{"id", id},
            {"operation", operation},
            {"source", std::move(source)},
            {"conventions", std::move(conventions)},
            {"vectors", Json::array()}},
      id_(std::move(id)),
      operation_(vector_operation(operation)) {}

void Group::add(const std::string& name, const std::string& comment, std::vector<std::string> flags,
                Json input) {
  const std::string id = id_ + "/" + name;
  try {
    const Computed computed = operation_.compute(input, Digits{});
    Json vector{{"id", id},
                {"comment", comment},
                {"flags", std::move(flags)},
                {"input", std::move(input)},
                {"expected", computed.expected},
                {"tolerance", computed.tolerance}};
    json_["vectors"].push_back(std::move(vector));
  } catch (const std::exception& error) {
    throw std::logic_error(fmt::format("test vector {}: {}", id, error.what()));
  }
}

namespace {

/// One line where that fits in `width` columns, else one line for each member.
void write(const Json& json, std::size_t indent, std::size_t used, std::string& text) {
  constexpr std::size_t kWidth = 100;
  const std::string line = json.dump();
  if (line.size() + used <= kWidth || !json.is_structured() || json.empty()) {
    text += line;
    return;
  }
  const bool object = json.is_object();
  text += object ? '{' : '[';
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    text += (first ? "\n" : ",\n") + std::string(indent + 1, ' ');
    first = false;
    const std::string name = object ? Json(key).dump() + ": " : "";
    text += name;
    write(value, indent + 1, indent + 2 + name.size(), text);
  }
  text += "\n" + std::string(indent, ' ') + (object ? '}' : ']');
}

}  // namespace
}  // namespace vectors

VectorDocument generate_vectors() {
  using vectors::Json;
  const reference::PrecisionScope scope(vectors::Digits{}.working());
  Json groups = Json::array();
  std::set<std::string> used;
  for (const auto& part :
       {vectors::law_groups(), vectors::partition_groups(), vectors::attention_groups()})
    for (const Json& group : part) {
      for (const Json& vector : group.at("vectors"))
        for (const Json& flag : vector.at("flags")) used.insert(flag.get<std::string>());
      groups.push_back(group);
    }
  Json flags = Json::object();
  for (const vectors::Flag& flag : vectors::flags())
    if (used.contains(flag.name))
      flags[flag.name] = {{"meaning", flag.meaning}, {"failure_means", flag.failure_means}};
  return {{"format", "plsh-vectors"},
          {"version", 1},
          {"plsh", PLSH_VERSION},
          {"flags", std::move(flags)},
          {"groups", std::move(groups)}};
}

std::string vectors_text(const VectorDocument& document) {
  std::string text;
  vectors::write(document, 0, 0, text);
  return text + "\n";
}

VectorDocument parse_vectors(const std::string& text) {
  constexpr int kDeepest = 24;  // copying and writing a document recurses
  const auto limit = [](int depth, VectorDocument::parse_event_t, VectorDocument&) {
    if (depth > kDeepest) throw std::invalid_argument("the JSON is nested too deeply");
    return true;
  };
  try {
    return VectorDocument::parse(text, limit);
  } catch (const nlohmann::json::exception& error) {
    const std::string what = error.what();
    const std::size_t end = what.rfind("; last read");
    throw std::invalid_argument("not valid JSON: " +
                                what.substr(0, std::min<std::size_t>(end, 200)));
  }
}

}  // namespace plsh::properties
