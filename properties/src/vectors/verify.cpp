#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "operations.hpp"

namespace plsh::properties {
namespace vectors {
namespace {

/// A value in a message: what it is, not all of it.
std::string shown(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 80 ? text : fmt::format("{}...", text.substr(0, 77));
}

class Verification {
 public:
  std::vector<std::string> run(const Json& document) {
    if (!document.is_object()) return {"the document is not a JSON object"};
    if (!document.contains("format") || document["format"] != "plsh-vectors")
      return {"\"format\" is not \"plsh-vectors\""};
    if (!document.contains("version") || document["version"] != 1)
      return {fmt::format("\"version\" is {}, this program reads version 1",
                          document.contains("version") ? shown(document["version"]) : "missing")};
    if (!document.contains("plsh") || !document["plsh"].is_string())
      problem("", "\"plsh\", the version of the generating program, is missing");
    members("", document, {"format", "version", "plsh", "flags", "groups"});
    read_flags(document);
    if (!document.contains("groups") || !document["groups"].is_array()) {
      problem("", "\"groups\" is not a list");
      return problems_;
    }
    for (const Json& group : document["groups"]) read_group(group);
    for (const auto& [name, used] : flags_)
      if (!used) problem("", fmt::format("flag \"{}\" is defined and not used", name));
    compare_with_published();
    return problems_;
  }

 private:
  void problem(const std::string& where, const std::string& what) {
    problems_.push_back(where.empty() ? what : where + ": " + what);
  }

  void members(const std::string& where, const Json& object, const std::set<std::string>& known) {
    for (const auto& [name, value] : object.items())
      if (!known.contains(name))
        problem(where, fmt::format("unknown member \"{}\"", name.substr(0, 60)));
  }

  bool is_text(const Json& object, const char* name) {
    return object.contains(name) && object[name].is_string() &&
           !object[name].get_ref<const std::string&>().empty();
  }

  void read_flags(const Json& document) {
    if (!document.contains("flags") || !document["flags"].is_object()) {
      problem("", "\"flags\" is not an object");
      return;
    }
    for (const auto& [name, flag] : document["flags"].items()) {
      flags_[name] = false;
      if (!flag.is_object() || !is_text(flag, "meaning") || !is_text(flag, "failure_means"))
        problem("flag " + name, "\"meaning\" or \"failure_means\" is missing");
    }
  }

  void read_group(const Json& group) {
    if (!group.is_object() || !is_text(group, "id")) {
      problem("", "a group has no \"id\"");
      return;
    }
    const auto id = group["id"].get<std::string>();
    if (!groups_.insert(id).second) problem(id, "two groups have this id");
    members(id, group, {"id", "operation", "source", "conventions", "vectors"});
    if (!is_text(group, "source")) problem(id, "\"source\" is missing");
    if (!group.contains("conventions") || !group["conventions"].is_object())
      problem(id, "\"conventions\" is not an object");
    if (!is_text(group, "operation")) {
      problem(id, "\"operation\" is missing");
      return;
    }
    const auto known = vector_operations().find(group["operation"].get<std::string>());
    if (known == vector_operations().end()) {
      problem(id, fmt::format("unknown operation {}", shown(group["operation"])));
      return;
    }
    if (!group.contains("vectors") || !group["vectors"].is_array() || group["vectors"].empty()) {
      problem(id, "\"vectors\" is not a list of vectors");
      return;
    }
    for (const Json& vector : group["vectors"]) read_vector(id, known->second, vector);
  }

  void read_vector(const std::string& group, const VectorOperation& operation, const Json& vector) {
    if (!vector.is_object() || !is_text(vector, "id")) {
      problem(group, "a vector has no \"id\"");
      return;
    }
    const auto id = vector["id"].get<std::string>();
    members(id, vector, {"id", "comment", "flags", "input", "expected", "tolerance"});
    if (!id.starts_with(group + "/")) problem(id, "the id does not begin with that of its group");
    if (!vectors_.emplace(id, &vector).second) problem(id, "two vectors have this id");
    if (!is_text(vector, "comment")) problem(id, "\"comment\" is missing");
    if (!vector.contains("flags") || !vector["flags"].is_array()) {
      problem(id, "\"flags\" is not a list");
    } else {
      for (const Json& flag : vector["flags"]) {
        const auto known = flag.is_string() ? flags_.find(flag.get<std::string>()) : flags_.end();
        if (known == flags_.end())
          problem(id, fmt::format("flag {} is not defined", shown(flag)));
        else
          known->second = true;
      }
    }
    for (const char* name : {"input", "expected", "tolerance"})
      if (!vector.contains(name) || !vector[name].is_object()) {
        problem(id, fmt::format("\"{}\" is not an object", name));
        return;
      }
    try {
      const Computed computed = operation.compute(vector["input"], digits_);
      compare(id, "expected", vector["expected"], computed.expected, true);
      compare(id, "tolerance", vector["tolerance"], computed.tolerance, false);
    } catch (const std::exception& error) {
      problem(id, fmt::format("input: {}", error.what()));
    }
  }

  /// \param values certified numbers, or else tolerances.
  void compare(const std::string& id, const std::string& path, const Json& recorded,
               const Json& computed, bool values) {
    if (computed.is_object()) {
      if (!recorded.is_object() || recorded.size() != computed.size()) {
        problem(id, fmt::format("{} has other members than its input asks for", path));
        return;
      }
      for (const auto& [name, value] : computed.items()) {
        if (recorded.contains(name))
          compare(id, path + "." + name, recorded[name], value, values);
        else
          problem(id, fmt::format("{}.{} is missing", path, name));
      }
      return;
    }
    const bool leaf = !computed.is_array() || (values && is_interval(computed));
    if (!leaf) {
      if (!recorded.is_array() || recorded.size() != computed.size()) {
        problem(id, fmt::format("{} has another length than its input asks for", path));
        return;
      }
      for (std::size_t k = 0; k < computed.size(); ++k)
        compare(id, fmt::format("{}[{}]", path, k), recorded[k], computed[k], values);
      return;
    }
    std::string why;
    if (values && (computed.is_string() || is_interval(computed)))
      why = contradiction(recorded, computed);
    else if (values)
      why = recorded == computed ? "" : "it is wrong";
    else if (!recorded.is_number())
      why = "it is not a number";
    else if (!near(recorded.get<double>(), computed.get<double>()))
      why = "it is not the proved bound";
    if (!why.empty())
      problem(id, fmt::format("{} is {}; {}, expected {}", path, shown(recorded), why,
                              shown(computed)));
  }

  /// Bounds are computed in double and written with three digits, rounded up.
  static bool near(double recorded, double computed) {
    return std::fabs(recorded - computed) <= 0.011 * computed;
  }

  /// An id keeps its meaning for ever, and no vector gets lost.
  void compare_with_published() {
    const Json published = generate_vectors();
    for (const Json& group : published.at("groups")) {
      const auto id = group.at("id").get<std::string>();
      if (!groups_.contains(id)) {
        problem("", fmt::format("group \"{}\" is missing", id));
        continue;
      }
      for (const Json& vector : group.at("vectors")) {
        const auto name = vector.at("id").get<std::string>();
        const auto found = vectors_.find(name);
        if (found == vectors_.end())
          problem("", fmt::format("vector \"{}\" is missing", name));
        else if (found->second->contains("input") &&
                 found->second->at("input") != vector.at("input"))
          problem(name, "the input is not the one that this id stands for");
      }
    }
  }

  const Digits digits_{30};
  const reference::PrecisionScope scope_{Digits{30}.working()};
  std::vector<std::string> problems_;
  std::map<std::string, bool> flags_;  // defined, and whether used
  std::set<std::string> groups_;
  std::map<std::string, const Json*> vectors_;
};

}  // namespace
}  // namespace vectors

std::vector<std::string> verify_vectors(const VectorDocument& document) {
  return vectors::Verification().run(document);
}

}  // namespace plsh::properties
