/// \file
/// Running the catalogue against an implementation: `plsh check` as a library.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <plsh/properties/property.hpp>

namespace plsh::properties {

/// Where an implementation comes from.
struct Source {
  std::string library;  ///< path of a shared library
  std::string python;   ///< "module:function" for the Python bridge, else empty; not loaded
                        ///< directly: `library` is the bridge then
};

/// Runs cases, in this process or in another.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual Outcome run(const Property& property, const Case& parameters, const Budget& budget) = 0;
};

/// Runs cases in this process.
class DirectExecutor : public Executor {
 public:
  explicit DirectExecutor(const Implementation& implementation) : implementation_(implementation) {}
  Outcome run(const Property& property, const Case& parameters, const Budget& budget) override;

 private:
  const Implementation& implementation_;
};

class Child;

/// Runs cases in a child process that loads the library. A case that ends the process, or takes
/// longer than the limit, has failed; the next case gets a new process.
///
/// It forks: use it from a process with one thread.
class ChildExecutor : public Executor {
 public:
  /// \param seconds_per_case beyond what a statistical budget asks for, above 0.
  ChildExecutor(Source source, double seconds_per_case);
  ~ChildExecutor() override;
  ChildExecutor(const ChildExecutor&) = delete;
  ChildExecutor& operator=(const ChildExecutor&) = delete;

  Outcome run(const Property& property, const Case& parameters, const Budget& budget) override;
  /// Implementation::describe(). \throws std::runtime_error when the library cannot be loaded or
  /// lacks the symbol; Violation when its table is bad or reading it ends or stops the process.
  nlohmann::json describe();

 private:
  nlohmann::json ask(const nlohmann::json& request, double seconds);
  Source source_;
  double seconds_per_case_;
  std::unique_ptr<Child> child_;
};

/// How much a run looks at.
struct CheckEffort {
  double case_factor = 1;  ///< times Family::cases, at least one case each
  /// At most this for each statistical case; it ends as soon as it is decided.
  double statistical_seconds = 40;
  double scale_error = 0.01;  ///< Budget::scale_error
  double seconds = 0;         ///< for each property, repeating its families; 0: no repeats
  Index samples = 0;          ///< Budget::samples
  /// At most this for making a failing case smaller; 0: it stays as it was found.
  double shrink_seconds = 10;
  static CheckEffort quick() { return {0.5, 30, 0.03}; }
  static CheckEffort standard() { return {}; }
};

enum class CheckVerdict { pass, fail, not_offered, not_enough_evidence };
std::string to_string(CheckVerdict verdict);

/// A failing case, shrunk.
struct Counterexample {
  std::string family;
  Case parameters;
  std::string message;
  int shrinks = 0;  ///< steps from the case that was found first
};

struct PropertyResult {
  std::string id;
  CheckVerdict verdict = CheckVerdict::not_offered;
  int cases = 0;       ///< cases that passed or failed
  int refused = 0;     ///< cases the implementation does not support
  int unsuitable = 0;  ///< cases without meaning under the declared conventions
  double seconds = 0;
  double log_e_value = 0;  ///< statistical: the largest over the cases
  Index observations = 0;
  double error_ratio = 0;
  double plain_ratio = 0;
  std::string message;  ///< why not pass
  std::optional<Counterexample> counterexample;
};

/// Generates cases from a seed, runs them, and shrinks the first that fails.
PropertyResult check_property(const Property& property, Executor& executor,
                              const nlohmann::json& description, std::uint64_t seed,
                              const CheckEffort& effort, double log_threshold);

struct CheckOptions {
  Source source;
  std::vector<std::string> properties;  ///< ids, or areas such as "sampler"; empty: all
  CheckEffort effort;
  std::uint64_t seed = 1;
  int jobs = 1;
  double seconds_per_case = 20;
  double alpha = 1e-9;     ///< probability that a correct sampler fails the run
  bool fail_fast = false;  ///< stop at the first property that fails
  /// Called after each property, from the calling thread: its result, how many are done, of how
  /// many.
  std::function<void(const PropertyResult&, int done, int all)> progress;
};

struct CheckReport {
  CheckOptions options;
  nlohmann::json implementation;        ///< Implementation::describe()
  std::vector<PropertyResult> results;  ///< in the order of the catalogue; fail_fast: those done
  double seconds = 0;
  bool any(CheckVerdict verdict) const;
};

/// The properties that the names select, in the order of the catalogue.
/// \throws std::invalid_argument for a name that selects none.
std::vector<const Property*> select_properties(const std::vector<std::string>& names);

/// Runs the selected properties in `jobs` processes. It forks: use it from a process with one
/// thread. A table that is not valid is a failing result of the id "interface.table".
/// \throws std::runtime_error when the library cannot be loaded; std::invalid_argument for unknown
/// properties.
CheckReport run_check(const CheckOptions& options);

/// The report as JSON (schema/check.schema.json).
nlohmann::json to_json(const CheckReport& report);

/// A counterexample as the JSON document that `plsh replay` reads
/// (schema/counterexample.schema.json).
nlohmann::json counterexample_document(const PropertyResult& result, const CheckOptions& options);

/// A counterexample document, read and validated.
struct Replay {
  const Property* property;
  Source source;
  std::string family;
  Case parameters;
  std::string message;  ///< what was seen when it was written
};
/// \throws std::invalid_argument naming what is wrong with the document.
Replay read_counterexample(const nlohmann::json& document);

}  // namespace plsh::properties
