/// \file
/// Test vectors as JSON, for implementers without C++: generated, verified, and run.
///
/// The document and its members are described in docs/vectors.md and schema/vectors.schema.json.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <plsh/properties/check.hpp>
#include <string>
#include <vector>

namespace plsh::properties {

/// Members keep their order: the documents are read by people too.
using VectorDocument = nlohmann::ordered_json;

/// All vectors of this version of the format: a pure function.
VectorDocument generate_vectors();

/// The text of a document as it is published: short values in one line.
std::string vectors_text(const VectorDocument& document);

/// \throws std::invalid_argument when the text is not JSON, or nested deeper than a document is.
VectorDocument parse_vectors(const std::string& text);

/// What is wrong with a document, one sentence each; empty when it is sound. Looks at its form and
/// its flags, at the vectors that this version must have, and computes every expected value and
/// tolerance anew, with more digits.
std::vector<std::string> verify_vectors(const VectorDocument& document);

struct VectorResult {
  enum class Status {
    passed,
    failed,
    refused,      ///< the implementation does not support the arguments
    not_offered,  ///< the implementation lacks the operation, or its interface cannot tell
    unsuitable,   ///< another convention was declared
  };
  std::string id;
  Status status = Status::passed;
  std::string message;  ///< why not passed
};
std::string to_string(VectorResult::Status status);

/// Runs one vector in this process. \throws std::invalid_argument for a damaged vector.
VectorResult run_vector(const Implementation& implementation, const std::string& operation,
                        const VectorDocument& vector);

/// Runs the vectors whose id contains `filter`, in the order of the document, in a child process
/// that loads the library. A vector that ends the process, or takes longer than the limit, has
/// failed; the next gets a new process. It forks: use it from a process with one thread.
/// \param progress called after each vector.
/// \throws std::runtime_error when the library cannot be loaded; Violation when its table is not
/// valid; std::invalid_argument for a document without such vectors, or damaged.
std::vector<VectorResult> run_vectors(
    const Source& source, const VectorDocument& document, const std::string& filter,
    double seconds_per_vector, const std::function<void(int done, int all)>& progress = nullptr);

}  // namespace plsh::properties
