#include <fmt/format.h>

#include "operations.hpp"
#include "server.hpp"

namespace plsh::properties {

std::string to_string(VectorResult::Status status) {
  switch (status) {
    case VectorResult::Status::passed:
      return "passed";
    case VectorResult::Status::failed:
      return "failed";
    case VectorResult::Status::refused:
      return "refused";
    case VectorResult::Status::not_offered:
      return "not offered";
    case VectorResult::Status::unsuitable:
      return "unsuitable";
  }
  return "?";
}

VectorResult run_vector(const Implementation& implementation, const std::string& operation,
                        const VectorDocument& vector) {
  using Status = VectorResult::Status;
  // Expected values are read with more digits than they are written with.
  const reference::PrecisionScope scope(vectors::Digits{}.working());
  const vectors::VectorOperation& entry = vectors::vector_operation(operation);
  VectorResult result{vectors::read_text(vector, "id"), Status::passed, ""};
  if (entry.run == nullptr) {
    result.status = Status::not_offered;
    result.message = "no operation of the interface returns this";
    return result;
  }
  for (const Operation needed : entry.needs)
    if (!implementation.offers(needed)) {
      result.status = Status::not_offered;
      result.message = to_string(needed) + " is not offered";
      return result;
    }
  try {
    const vectors::Run run = entry.run(implementation, vector);
    result.status = run.status;
    result.message = run.message;
  } catch (const Refused& refusal) {
    result.status = Status::refused;
    result.message = refusal.what();
  } catch (const Violation& violation) {
    result.status = Status::failed;
    result.message = violation.what();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: {}", result.id, error.what()));
  }
  return result;
}

namespace {

std::vector<vectors::Chosen> choose(const VectorDocument& document, const std::string& filter) {
  using vectors::member;
  if (!document.is_object() || !document.contains("format") ||
      document["format"] != "plsh-vectors" || !document.contains("version") ||
      document["version"] != 1)
    throw std::invalid_argument("this is not a document of test vectors, version 1");
  std::vector<vectors::Chosen> chosen;
  if (!member(document, "groups").is_array())
    throw std::invalid_argument("\"groups\" is not a list");
  for (const VectorDocument& group : document["groups"]) {
    const std::string operation = vectors::read_text(group, "operation");
    vectors::vector_operation(operation);
    if (!member(group, "vectors").is_array())
      throw std::invalid_argument("\"vectors\" is not a list");
    for (const VectorDocument& vector : group["vectors"])
      if (vectors::read_text(vector, "id").find(filter) != std::string::npos)
        chosen.push_back({operation, &vector});
  }
  if (chosen.empty())
    throw std::invalid_argument(fmt::format("no vector has \"{}\" in its id", filter));
  return chosen;
}

}  // namespace

std::vector<VectorResult> run_vectors(const Source& source, const VectorDocument& document,
                                      const std::string& filter, double seconds_per_vector,
                                      const std::function<void(int done, int all)>& progress) {
  const std::vector<vectors::Chosen> chosen = choose(document, filter);
  std::vector<VectorResult> results;
  while (results.size() < chosen.size()) {
    vectors::Server server(source, chosen, results.size());
    server.wait_until_loaded(seconds_per_vector);
    while (results.size() < chosen.size()) {
      results.push_back(server.next(seconds_per_vector));
      if (progress) progress(static_cast<int>(results.size()), static_cast<int>(chosen.size()));
      if (!server.alive()) break;
    }
  }
  return results;
}

}  // namespace plsh::properties
