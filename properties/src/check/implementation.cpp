#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <plsh/properties/implementation.hpp>

namespace plsh::properties {
namespace {

constexpr std::array<const char*, 8> kOperations{
    "slopes",        "bins",           "sample_partitions", "mean_mask",
    "exact_forward", "exact_backward", "sampled_forward",   "sampled_backward"};

// The enumerators of a convention, in order, as describe() and messages name them.
struct Convention {
  const char* name;
  int32_t plsh_conventions::*field;
  std::vector<const char*> values;
};

const std::vector<Convention>& conventions_table() {
  static const std::vector<Convention> table{
      {"slope_rule", &plsh_conventions::slope_rule, {"interleaved", "geometric"}},
      {"bin_rule", &plsh_conventions::bin_rule, {"floor", "floor_plus", "ceil", "round"}},
      {"bin_precision", &plsh_conventions::bin_precision, {"f32", "f64", "exact"}},
      {"causal_alignment", &plsh_conventions::causal_alignment, {"top_left", "bottom_right"}},
      {"empty_row", &plsh_conventions::empty_row, {"zero", "nan", "anything"}},
      {"lse_base", &plsh_conventions::lse_base, {"natural", "2"}},
      {"lse_bias", &plsh_conventions::lse_bias, {"distance", "shifted"}},
      {"lse_weights", &plsh_conventions::lse_weights, {"mean", "count"}},
      {"head_grouping", &plsh_conventions::head_grouping, {"consecutive", "interleaved"}},
      {"batch_samples", &plsh_conventions::batch_samples, {"distinct", "shared"}}};
  return table;
}

struct Promise {
  const char* name;
  plsh_promise bit;
};
constexpr std::array<Promise, 4> kPromises{{{"deterministic_forward", PLSH_DETERMINISTIC_FORWARD},
                                            {"deterministic_backward", PLSH_DETERMINISTIC_BACKWARD},
                                            {"thread_independent", PLSH_THREAD_INDEPENDENT},
                                            {"sample_offsets", PLSH_SAMPLE_OFFSETS}}};

struct PrecisionPart {
  const char* name;
  int32_t plsh_precision::*field;
};
constexpr std::array<PrecisionPart, 4> kPrecisionParts{
    {{"logits", &plsh_precision::logits},
     {"bias", &plsh_precision::bias},
     {"weights", &plsh_precision::weights},
     {"accumulation", &plsh_precision::accumulation}}};

void require_table(bool condition, const std::string& what) {
  if (!condition) throw Violation("the table of plsh_implementation_v1 is not valid: " + what);
}

std::string read_text(const char* text, const char* what) {
  require_table(text != nullptr, fmt::format("{} is null", what));
  const std::size_t length = strnlen(text, 257);
  require_table(length <= 256, fmt::format("{} is longer than 256 bytes", what));
  return std::string(text, length);
}

}  // namespace

std::string to_string(Operation operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}

const std::vector<Operation>& all_operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> result;
    for (std::size_t k = 0; k < kOperations.size(); ++k)
      result.push_back(static_cast<Operation>(k));
    return result;
  }();
  return all;
}

Implementation Implementation::load(const std::string& path) {
  // A name without a slash would be searched in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw std::runtime_error(
        fmt::format("cannot load \"{}\": {}", path, reason ? reason : "unknown reason"));
  }
  void* symbol = dlsym(library, "plsh_implementation_v1");
  if (symbol == nullptr)
    throw std::runtime_error(
        fmt::format("\"{}\" does not export plsh_implementation_v1 (see "
                    "plsh/interface/implementation.h)",
                    path));
  plsh_implementation_function get_table;
  std::memcpy(&get_table, &symbol, sizeof get_table);
  const plsh_implementation* table = nullptr;
  try {
    table = get_table();
  } catch (...) {
    throw Violation("plsh_implementation_v1 threw an exception");
  }
  if (table == nullptr) {
    // Optional, for libraries that have a reason to tell.
    void* reason = dlsym(library, "plsh_implementation_error");
    const char* (*get_reason)(void) = nullptr;
    std::memcpy(&get_reason, &reason, sizeof reason);
    const char* text = get_reason != nullptr ? get_reason() : nullptr;
    if (text != nullptr)
      throw Violation("plsh_implementation_v1 returned null: " +
                      std::string(text, strnlen(text, 2000)));
  }
  // The library is never unloaded: its threads or exit handlers may still run code in it.
  return Implementation(table);
}

Implementation::Implementation(const plsh_implementation* table) : table_(table) {
  require_table(table != nullptr, "it is null");
  require_table(table->interface_version == PLSH_INTERFACE_VERSION,
                fmt::format("interface_version is {}, this program checks {}",
                            table->interface_version, PLSH_INTERFACE_VERSION));
  require_table(table->struct_size == sizeof(plsh_implementation),
                fmt::format("struct_size is {}, must be {}", table->struct_size,
                            sizeof(plsh_implementation)));
  name_ = read_text(table->name, "name");
  require_table(!name_.empty(), "name is empty");
  read_text(table->version, "version");
  for (const Convention& convention : conventions_table()) {
    const int32_t value = table->conventions.*convention.field;
    require_table(value >= 0 && value < static_cast<int32_t>(convention.values.size()),
                  fmt::format("{} is {}, must be 0 to {}", convention.name, value,
                              convention.values.size() - 1));
  }
  for (const plsh_precision& precision : table->conventions.precision)
    for (const PrecisionPart& part : kPrecisionParts)
      require_table(
          precision.*part.field >= 0 && precision.*part.field <= PLSH_BF16,
          fmt::format("a precision's {} is {}, must be 0 to 3", part.name, precision.*part.field));
  require_table(table->device.device_type == kDLCPU || table->memory != nullptr,
                "a device other than the CPU needs `memory`");
  require_table(table->device.device_type == kDLCPU,
                "tensors outside the CPU's memory are not supported yet");
  const bool attention = offers(Operation::exact_forward) || offers(Operation::sampled_forward) ||
                         offers(Operation::exact_backward) || offers(Operation::sampled_backward);
  require_table(!attention || !supported_types().empty(),
                "attention is offered but no type is supported (conventions.precision)");
  for (const auto& [forward, backward] :
       {std::pair{Operation::exact_forward, Operation::exact_backward},
        std::pair{Operation::sampled_forward, Operation::sampled_backward}})
    require_table(!offers(backward) || offers(forward),
                  to_string(backward) + " is offered without " + to_string(forward));
}

bool Implementation::offers(Operation operation) const {
  switch (operation) {
    case Operation::slopes:
      return table_->slopes != nullptr;
    case Operation::bins:
      return table_->bins != nullptr;
    case Operation::sample_partitions:
      return table_->sample_partitions != nullptr;
    case Operation::mean_mask:
      return table_->mean_mask != nullptr;
    case Operation::exact_forward:
      return table_->exact_forward != nullptr;
    case Operation::exact_backward:
      return table_->exact_backward != nullptr;
    case Operation::sampled_forward:
      return table_->sampled_forward != nullptr;
    case Operation::sampled_backward:
      return table_->sampled_backward != nullptr;
  }
  return false;
}

bool Implementation::promises(plsh_promise promise) const {
  return (conventions().promises & static_cast<uint32_t>(promise)) != 0;
}

const plsh_precision& Implementation::precision(Type type) const {
  if (type == Type::i64) throw std::logic_error("integers have no precision");
  return conventions().precision[static_cast<std::size_t>(type)];
}

std::vector<Type> Implementation::supported_types() const {
  std::vector<Type> result;
  for (const Type type : {Type::f32, Type::f64, Type::f16, Type::bf16})
    if (supports(type)) result.push_back(type);
  return result;
}

void Implementation::finish(Operation operation, int status) const {
  if (status == PLSH_OK) {
    ++calls_;
    return;
  }
  std::string reason;
  if (table_->error_message != nullptr) {
    try {
      const char* text = table_->error_message();
      if (text != nullptr) reason = ": " + std::string(text, strnlen(text, 500));
    } catch (...) {
      throw Violation("error_message threw an exception");
    }
  }
  if (status == PLSH_REFUSED) throw Refused(to_string(operation) + " refused" + reason);
  throw Violation(fmt::format("{} failed with status {}{}", to_string(operation), status, reason));
}

namespace {

template <class Call>
int guarded(Operation operation, const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    throw Violation(fmt::format("{} threw an exception: {}", to_string(operation), error.what()));
  } catch (...) {
    throw Violation(to_string(operation) + " threw an exception");
  }
}

}  // namespace

void Implementation::slopes(Tensor& slopes) const {
  finish(Operation::slopes,
         guarded(Operation::slopes, [&] { return table_->slopes(slopes.view()); }));
}

void Implementation::bins(const Tensor& positions, const Tensor& widths, const Tensor& shifts,
                          Tensor& bins) const {
  finish(Operation::bins, guarded(Operation::bins, [&] {
           return table_->bins(positions.view(), widths.view(), shifts.view(), bins.view());
         }));
}

void Implementation::sample_partitions(const plsh_sampling& arguments) const {
  finish(Operation::sample_partitions, guarded(Operation::sample_partitions, [&] {
           return table_->sample_partitions(&arguments);
         }));
}

void Implementation::mean_mask(const Tensor& block_counts, const Tensor& block_starts,
                               Tensor& mask) const {
  finish(Operation::mean_mask, guarded(Operation::mean_mask, [&] {
           return table_->mean_mask(block_counts.view(), block_starts.view(), mask.view());
         }));
}

void Implementation::attention(Operation operation, plsh_attention arguments) const {
  const auto [function, number] = [&]() -> std::pair<int (*)(const plsh_attention*), int> {
    switch (operation) {
      case Operation::exact_forward:
        return {table_->exact_forward, PLSH_EXACT_FORWARD};
      case Operation::exact_backward:
        return {table_->exact_backward, PLSH_EXACT_BACKWARD};
      case Operation::sampled_forward:
        return {table_->sampled_forward, PLSH_SAMPLED_FORWARD};
      case Operation::sampled_backward:
        return {table_->sampled_backward, PLSH_SAMPLED_BACKWARD};
      default:
        throw std::logic_error("not an attention operation");
    }
  }();
  constexpr std::size_t kAlignment = 256;
  std::size_t bytes = 0;
  if (table_->workspace_size != nullptr) {
    try {
      bytes = table_->workspace_size(number, &arguments);
    } catch (...) {
      throw Violation("workspace_size threw an exception");
    }
    if (bytes > (std::size_t{1} << 34))
      throw Violation(fmt::format("workspace_size asks for {} bytes", bytes));
  }
  std::vector<unsigned char> memory(bytes == 0 ? 0 : bytes + 3 * kAlignment, 0xFF);
  unsigned char* workspace = nullptr;
  if (bytes > 0) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) + kAlignment;
    const std::size_t skip = (kAlignment - address % kAlignment) % kAlignment;
    workspace = memory.data() + kAlignment + skip;
  }
  arguments.workspace = workspace;
  arguments.workspace_bytes = bytes;
  const int status = guarded(operation, [&, call = function] { return call(&arguments); });
  for (std::size_t k = 0; k < memory.size(); ++k) {
    const unsigned char* at = memory.data() + k;
    if ((at < workspace || at >= workspace + bytes) && *at != 0xFF)
      throw Violation(to_string(operation) + " wrote outside its workspace");
  }
  finish(operation, status);
}

nlohmann::json Implementation::describe() const {
  nlohmann::json result;
  result["name"] = name_;
  result["version"] = table_->version;
  for (const Operation operation : all_operations())
    if (offers(operation)) result["operations"].push_back(to_string(operation));
  nlohmann::json& declared = result["conventions"];
  for (const Convention& convention : conventions_table())
    declared[convention.name] =
        convention.values[static_cast<std::size_t>(conventions().*convention.field)];
  declared["promises"] = nlohmann::json::array();
  for (const Promise& promise : kPromises)
    if (promises(promise.bit)) declared["promises"].push_back(promise.name);
  for (const Type type : supported_types())
    for (const PrecisionPart& part : kPrecisionParts)
      declared["precision"][to_string(type)][part.name] =
          to_string(static_cast<Type>(precision(type).*part.field));
  if (!result.contains("operations")) result["operations"] = nlohmann::json::array();
  return result;
}

}  // namespace plsh::properties
