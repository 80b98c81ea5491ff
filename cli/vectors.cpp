#include <fmt/format.h>

#include <map>
#include <memory>
#include <plsh/properties/vectors.hpp>

#include "command.hpp"
#include "implementation_source.hpp"
#include "output.hpp"

namespace plsh::cli {
namespace {

using properties::VectorDocument;
using properties::VectorResult;

struct Arguments {
  std::string out;
  std::string file;
  SourceArguments source;
  std::string filter;
  double limit = 20;
};

int generate(const Arguments& arguments) {
  const VectorDocument document = properties::generate_vectors();
  const std::string text = properties::vectors_text(document);
  if (arguments.out.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write to standard output");
    return ok;
  }
  write_whole(arguments.out, text);
  std::size_t count = 0;
  for (const auto& group : document.at("groups")) count += group.at("vectors").size();
  fmt::print("{}: {} vectors in {} groups, {} kB\n", arguments.out, count,
             document.at("groups").size(), text.size() / 1000);
  return ok;
}

VectorDocument read_document(const std::string& file) {
  try {
    return properties::parse_vectors(read_whole(file));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(file + ": " + error.what());
  }
}

int verify(const Arguments& arguments) {
  // A file that is not JSON is damaged, as is one with a wrong digit.
  VectorDocument document;
  std::vector<std::string> problems;
  const std::string text = read_whole(arguments.file);
  try {
    document = properties::parse_vectors(text);
    problems = properties::verify_vectors(document);
  } catch (const std::invalid_argument& error) {
    problems = {error.what()};
  }
  constexpr std::size_t kShown = 50;
  for (std::size_t k = 0; k < std::min(problems.size(), kShown); ++k)
    fmt::print("{}: {}\n", arguments.file, problems[k]);
  if (problems.size() > kShown) fmt::print("... and {} more\n", problems.size() - kShown);
  if (!problems.empty()) {
    fmt::print("FAIL: {} problem{}\n", problems.size(), problems.size() == 1 ? "" : "s");
    return failed;
  }
  std::size_t count = 0;
  for (const auto& group : document.at("groups")) count += group.at("vectors").size();
  fmt::print("ok: {} vectors, every value and tolerance computed anew\n", count);
  return ok;
}

int run(const Arguments& arguments) {
  const properties::Source source = find_source(arguments.source);
  const VectorDocument document =
      arguments.file.empty() ? properties::generate_vectors() : read_document(arguments.file);
  std::vector<VectorResult> results;
  try {
    ProgressLine progress;
    results = properties::run_vectors(
        source, document, arguments.filter, arguments.limit, [&](int done, int all) {
          progress.show(fmt::format("{} of {} vectors", done, all),
                        static_cast<double>(done) / static_cast<double>(all));
        });
  } catch (const properties::Violation& violation) {
    fmt::print("FAIL: {}\n", violation.what());
    return failed;
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(arguments.file.empty() ? error.what()
                                                    : arguments.file + ": " + error.what());
  }
  std::map<VectorResult::Status, int> counts;
  std::map<std::string, int> reasons;
  for (const VectorResult& result : results) {
    ++counts[result.status];
    if (result.status == VectorResult::Status::failed)
      fmt::print("FAIL {}\n  {}\n", result.id, result.message);
    else if (result.status != VectorResult::Status::passed)
      ++reasons[fmt::format("{}: {}", to_string(result.status), result.message)];
  }
  for (const auto& [reason, count] : reasons) fmt::print("{:>5} {}\n", count, reason);
  using Status = VectorResult::Status;
  fmt::print("{} passed, {} failed, {} refused, {} not offered, {} unsuitable\n",
             counts[Status::passed], counts[Status::failed], counts[Status::refused],
             counts[Status::not_offered], counts[Status::unsuitable]);
  if (counts[Status::failed] > 0) return failed;
  return counts[Status::passed] > 0 ? ok : undecided;
}

}  // namespace

void add_vectors(CLI::App& app, int& status) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "vectors", "Test vectors as JSON, for implementations in any language (docs/vectors.md).");
  command->require_subcommand(1);

  CLI::App* generating = command->add_subcommand("generate", "Write all vectors.");
  generating->add_option("--out", arguments->out, "File to write (default: standard output)");
  generating->footer(
      "Examples:\n"
      "  plsh vectors generate --out vectors.json\n"
      "  plsh vectors generate | python3 -m json.tool\n\n"
      "The same version always writes the same bytes.");
  generating->callback([arguments, &status] { status = generate(*arguments); });

  CLI::App* verifying = command->add_subcommand(
      "verify", "Check a file of vectors: its form, and every expected value computed anew.");
  verifying->add_option("FILE", arguments->file, "File of vectors")->required();
  verifying->footer(
      "Example:\n"
      "  plsh vectors verify vectors.json\n\n"
      "Exit status: 0 sound, 1 something in the file is wrong, 2 wrong use.");
  verifying->callback([arguments, &status] { status = verify(*arguments); });

  CLI::App* running = command->add_subcommand("run", "Run the vectors against an implementation.");
  running->add_option("FILE", arguments->file, "File of vectors (default: those of this version)");
  add_source_options(*running, arguments->source);
  running->add_option("--filter", arguments->filter, "Only vectors with this text in their id");
  running
      ->add_option("--case-limit", arguments->limit,
                   "Seconds after which a vector counts as hung, 0.1 to 3600")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  running->footer(
      "Examples:\n"
      "  plsh vectors run --impl ./libmine.so\n"
      "  plsh vectors run --impl ./libmine.so --filter sampled-forward/causal\n"
      "  plsh vectors run --python mine:implementation vectors.json\n\n"
      "Vectors run in a process of their own: a crash or a hang is a finding.\n"
      "Exit status: 0 none failed, 1 a vector failed, 2 wrong use, 3 no vector applies.");
  running->callback([arguments, &status] { status = run(*arguments); });

  command->footer(
      "Examples:\n"
      "  plsh vectors generate --out vectors.json\n"
      "  plsh vectors verify vectors.json\n"
      "  plsh vectors run --impl ./libmine.so\n\n"
      "Run \"plsh vectors COMMAND --help\" for more.");
}

}  // namespace plsh::cli
