#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <plsh/properties/tensor.hpp>
#include <utility>

namespace plsh::properties {
namespace {

constexpr std::size_t kGuardBytes = 256;
// What unwritten memory holds, two bytes at a time: a NaN in every floating type, negative as an
// integer, and not the NaN of all ones that vector code and conversions produce.
constexpr std::array<unsigned char, 2> kUnwritten{0xFD, 0xFF};

std::size_t bytes_of(Type type) {
  switch (type) {
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::f32:
      return 4;
    default:
      return 8;
  }
}

DLDataType dlpack_type(Type type) {
  const auto bits = static_cast<std::uint8_t>(8 * bytes_of(type));
  switch (type) {
    case Type::bf16:
      return {kDLBfloat, bits, 1};
    case Type::i64:
      return {kDLInt, bits, 1};
    default:
      return {kDLFloat, bits, 1};
  }
}

template <class T>
T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store(unsigned char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

struct Plan {
  std::vector<Index> strides;
  Index span;  // elements from the first to one past the last
};

Plan plan_layout(const std::vector<Index>& shape, Layout layout) {
  const std::size_t axes = shape.size();
  std::vector<std::size_t> order(axes);  // from slowest to fastest
  for (std::size_t a = 0; a < axes; ++a) order[a] = a;
  if (layout == Layout::transposed && axes >= 3) std::swap(order[1], order[2]);
  if (layout == Layout::reversed) std::reverse(order.begin(), order.end());
  Plan plan{std::vector<Index>(axes), 1};
  for (std::size_t k = axes; k-- > 0;) {
    const std::size_t a = order[k];
    plan.strides[a] = plan.span;
    plan.span *= std::max<Index>(shape[a], 1);
    if (k + 1 == axes && layout == Layout::padded) plan.span += 3;
    // Between the rows of one position lie those of two other tensors.
    if (k == std::min<std::size_t>(2, axes - 1) && layout == Layout::fused) plan.span *= 3;
  }
  if (layout == Layout::huge && axes >= 2) {
    plan.strides[1] = (Index{1} << 30) + 8;
    // The slowest axis after the huge one: beside it, not between.
    Index inner = 1;
    for (std::size_t a = axes; a-- > 0;) {
      if (a == 1) continue;
      plan.strides[a] = inner;
      inner *= std::max<Index>(shape[a], 1);
    }
  }
  if (axes == 1 && layout != Layout::packed) plan.strides[0] = 3;
  plan.span = 1;
  for (std::size_t a = 0; a < axes; ++a)
    plan.span += std::max<Index>(shape[a] - 1, 0) * plan.strides[a];
  for (const Index extent : shape)
    if (extent == 0) plan.span = 0;
  return plan;
}

constexpr std::array<std::pair<Type, const char*>, 5> kTypes{{{Type::f32, "f32"},
                                                              {Type::f64, "f64"},
                                                              {Type::f16, "f16"},
                                                              {Type::bf16, "bf16"},
                                                              {Type::i64, "i64"}}};
constexpr std::array<std::pair<Layout, const char*>, 6> kLayouts{
    {{Layout::packed, "packed"},
     {Layout::transposed, "transposed"},
     {Layout::reversed, "reversed"},
     {Layout::padded, "padded"},
     {Layout::fused, "fused"},
     {Layout::huge, "huge"}}};

template <class Names>
auto from_name(const Names& names, const std::string& name, const char* what) {
  std::vector<std::string> known;
  for (const auto& [value, text] : names) {
    if (name == text) return value;
    known.emplace_back(text);
  }
  throw std::invalid_argument(
      fmt::format("unknown {} \"{}\"; known are {}", what, name, fmt::join(known, ", ")));
}

template <class Names, class Value>
std::string to_name(const Names& names, Value value) {
  for (const auto& [known, text] : names)
    if (known == value) return text;
  return "?";
}

}  // namespace

std::string to_string(Type type) { return to_name(kTypes, type); }
Type type_from_string(const std::string& name) { return from_name(kTypes, name, "type"); }
std::string to_string(Layout layout) { return to_name(kLayouts, layout); }
Layout layout_from_string(const std::string& name) { return from_name(kLayouts, name, "layout"); }

double unit_roundoff(Type type) {
  switch (type) {
    case Type::f16:
      return 0x1p-11;
    case Type::bf16:
      return 0x1p-8;
    case Type::f32:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

double smallest_positive(Type type) {
  switch (type) {
    case Type::f16:
      return 0x1p-24;
    case Type::bf16:
      return 0x1p-133;
    case Type::f32:
      return 0x1p-149;
    default:
      return 0x1p-1074;
  }
}

double largest_finite(Type type) {
  switch (type) {
    case Type::f16:
      return 65504;
    case Type::bf16:
      return 0x1.FEp127;
    case Type::f32:
      return static_cast<double>(std::numeric_limits<float>::max());
    default:
      return std::numeric_limits<double>::max();
  }
}

double round_to(Type type, double value) {
  switch (type) {
    case Type::f16:
      return static_cast<double>(static_cast<float>(Eigen::half(static_cast<float>(value))));
    case Type::bf16:
      return static_cast<double>(static_cast<float>(Eigen::bfloat16(static_cast<float>(value))));
    case Type::f32:
      return static_cast<double>(static_cast<float>(value));
    default:
      return value;
  }
}

struct Tensor::Memory {
  Memory(Type element, std::vector<Index> lengths, Layout layout)
      : type(element), shape(std::move(lengths)), width(bytes_of(element)) {
    double elements = 1;
    for (const Index extent : shape) {
      if (extent < 0) throw std::invalid_argument("a tensor length is negative");
      elements *= static_cast<double>(extent);
    }
    if (elements > 0x1p31) throw std::invalid_argument("a tensor has more than 2^31 elements");
    Plan plan = plan_layout(shape, layout);
    strides = std::move(plan.strides);
    bytes = static_cast<std::size_t>(plan.span) * width;
    count = 1;
    for (const Index extent : shape) count *= extent;
    // Mapped rather than allocated: tensors with huge strides touch a few pages of a wide range,
    // and the page after the upper guard is not ours, so a write far beyond it ends the process.
    page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    mapped = (bytes + 2 * kGuardBytes + page - 1) / page * page;
    void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      throw std::runtime_error(fmt::format("cannot map {} bytes for a tensor", mapped));
    base = static_cast<unsigned char*>(memory);
    data = base + kGuardBytes;
    find_regions();
    fill();
    view.data = data;
    view.device = {kDLCPU, 0};
    view.ndim = static_cast<decltype(view.ndim)>(shape.size());
    view.dtype = dlpack_type(type);
    view.shape = shape.data();
    view.strides = strides.data();
    view.byte_offset = 0;
  }
  ~Memory() { munmap(base, mapped); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Every element once, with its index.
  template <class Visit>
  void for_each(const Visit& visit) const {
    if (count == 0) return;
    std::vector<Index> index(shape.size(), 0);
    unsigned char* at = data;
    const auto byte_width = static_cast<Index>(width);
    for (;;) {
      visit(at, index);
      std::size_t a = shape.size();
      while (a > 0) {
        --a;
        at += strides[a] * byte_width;
        if (++index[a] < shape[a]) break;
        at -= shape[a] * strides[a] * byte_width;
        index[a] = 0;
        if (a == 0) return;
      }
      if (shape.empty()) return;
    }
  }

  // The parts that are filled and watched: everything, or the pages of the elements when those are
  // few in a wide range.
  void find_regions() {
    if (mapped <= (std::size_t{64} << 20)) {
      regions.emplace_back(0, mapped);
      return;
    }
    if (static_cast<std::size_t>(count) * page >= mapped / 2) {
      regions.emplace_back(0, mapped);
      return;
    }
    std::vector<std::size_t> pages{0, (mapped - 1) / page};
    for_each([&](const unsigned char* at, const std::vector<Index>&) {
      const auto offset = static_cast<std::size_t>(at - base);
      for (const std::size_t edge : {offset - kGuardBytes, offset + kGuardBytes})
        pages.push_back(std::min(edge, mapped - 1) / page);
    });
    std::sort(pages.begin(), pages.end());
    pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
    for (const std::size_t p : pages) regions.emplace_back(p * page, page);
  }

  void fill() {
    for (const auto& [begin, size] : regions)
      for (std::size_t k = 0; k < size; ++k) base[begin + k] = kUnwritten[k % 2];
  }

  std::vector<unsigned char> snapshot() const {
    std::vector<unsigned char> copy;
    for (const auto& [begin, size] : regions)
      copy.insert(copy.end(), base + begin, base + begin + size);
    return copy;
  }

  // Where in the snapshot a byte of the memory lies.
  std::size_t position_in_snapshot(const unsigned char* at) const {
    const auto offset = static_cast<std::size_t>(at - base);
    if (regions.size() == 1) return offset;
    const auto after = std::upper_bound(
        regions.begin(), regions.end(), offset,
        [](std::size_t value, const auto& region) { return value < region.first; });
    const auto k = static_cast<std::size_t>(after - regions.begin()) - 1;
    return k * page + (offset - regions[k].first);
  }

  unsigned char* element(std::span<const Index> index) const {
    if (index.size() != shape.size()) throw std::logic_error("a tensor index has the wrong rank");
    unsigned char* at = data;
    for (std::size_t a = 0; a < index.size(); ++a) {
      if (index[a] < 0 || index[a] >= shape[a])
        throw std::logic_error(
            fmt::format("tensor index {} outside 0..{}", index[a], shape[a] - 1));
      at += index[a] * strides[a] * static_cast<Index>(width);
    }
    return at;
  }

  double value(const unsigned char* at) const {
    switch (type) {
      case Type::f32:
        return static_cast<double>(load<float>(at));
      case Type::f64:
        return load<double>(at);
      case Type::f16:
        return static_cast<double>(static_cast<float>(load<Eigen::half>(at)));
      case Type::bf16:
        return static_cast<double>(static_cast<float>(load<Eigen::bfloat16>(at)));
      default:
        return static_cast<double>(load<std::int64_t>(at));
    }
  }

  std::uint64_t bits(const unsigned char* at) const {
    std::uint64_t result = 0;
    std::memcpy(&result, at, width);
    return result;
  }

  bool written(const unsigned char* at) const {
    for (std::size_t k = 0; k < width; ++k)
      if (at[k] != kUnwritten[k % 2]) return true;
    return false;
  }

  Type type;
  std::vector<Index> shape;
  std::vector<Index> strides;
  std::size_t width;
  std::size_t bytes = 0;
  Index count = 0;
  std::size_t page = 0;
  std::size_t mapped = 0;
  unsigned char* base = nullptr;
  unsigned char* data = nullptr;
  std::vector<std::pair<std::size_t, std::size_t>> regions;  // offset, size
  std::vector<unsigned char> sealed;                         // empty: an output
  DLTensor view{};
};

Tensor::Tensor(Type type, std::vector<Index> shape, Layout layout)
    : memory_(std::make_unique<Memory>(type, std::move(shape), layout)) {}
Tensor::~Tensor() = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;

Type Tensor::type() const { return memory_->type; }
const std::vector<Index>& Tensor::shape() const { return memory_->shape; }
Index Tensor::size() const { return memory_->count; }

double Tensor::get(std::initializer_list<Index> index) const {
  return memory_->value(memory_->element(std::span(index.begin(), index.size())));
}

void Tensor::set(std::initializer_list<Index> index, double value) {
  unsigned char* at = memory_->element(std::span(index.begin(), index.size()));
  switch (memory_->type) {
    case Type::f32:
      return store(at, static_cast<float>(value));
    case Type::f64:
      return store(at, value);
    case Type::f16:
      return store(at, Eigen::half(static_cast<float>(value)));
    case Type::bf16:
      return store(at, Eigen::bfloat16(static_cast<float>(value)));
    case Type::i64:
      throw std::logic_error("set() on an integer tensor");
  }
}

std::int64_t Tensor::get_integer(std::initializer_list<Index> index) const {
  return load<std::int64_t>(memory_->element(std::span(index.begin(), index.size())));
}

void Tensor::set_integer(std::initializer_list<Index> index, std::int64_t value) {
  store(memory_->element(std::span(index.begin(), index.size())), value);
}

std::uint64_t Tensor::bits(std::initializer_list<Index> index) const {
  return memory_->bits(memory_->element(std::span(index.begin(), index.size())));
}

bool Tensor::written(std::initializer_list<Index> index) const {
  return memory_->written(memory_->element(std::span(index.begin(), index.size())));
}

std::vector<double> Tensor::values() const {
  std::vector<double> result;
  memory_->for_each([&](const unsigned char* at, const std::vector<Index>&) {
    result.push_back(memory_->value(at));
  });
  return result;
}

std::vector<std::uint64_t> Tensor::all_bits() const {
  std::vector<std::uint64_t> result;
  memory_->for_each([&](const unsigned char* at, const std::vector<Index>&) {
    result.push_back(memory_->bits(at));
  });
  return result;
}

void Tensor::seal() { memory_->sealed = memory_->snapshot(); }

void Tensor::clear() {
  memory_->sealed.clear();
  memory_->fill();
}

std::optional<std::string> Tensor::damage(const std::string& name) const {
  std::vector<unsigned char> now = memory_->snapshot();
  const bool input = !memory_->sealed.empty();
  if (input) {
    if (now == memory_->sealed) return std::nullopt;
    std::optional<std::string> element;
    memory_->for_each([&](const unsigned char* at, const std::vector<Index>& index) {
      const std::size_t k = memory_->position_in_snapshot(at);
      if (!element && !std::equal(at, at + memory_->width,
                                  memory_->sealed.begin() + static_cast<std::ptrdiff_t>(k)))
        element = fmt::format("the input {} was changed at [{}]", name, fmt::join(index, ", "));
    });
    return element ? element : fmt::format("memory beside the input {} was written", name);
  }
  memory_->for_each([&](const unsigned char* at, const std::vector<Index>&) {
    const std::size_t k = memory_->position_in_snapshot(at);
    for (std::size_t b = 0; b < memory_->width; ++b) now[k + b] = kUnwritten[b % 2];
  });
  std::size_t wrong = 0;
  while (wrong < now.size() && now[wrong] == kUnwritten[wrong % 2]) ++wrong;
  if (wrong == now.size()) return std::nullopt;
  if (memory_->regions.size() > 1)
    return fmt::format("memory beside the output {} was written", name);
  const auto offset = static_cast<std::ptrdiff_t>(wrong) - static_cast<std::ptrdiff_t>(kGuardBytes);
  const auto size = static_cast<std::ptrdiff_t>(memory_->bytes);
  if (offset < 0) return fmt::format("{} bytes before the output {} were written", -offset, name);
  if (offset >= size)
    return fmt::format("memory {} bytes after the end of the output {} was written", offset - size,
                       name);
  return fmt::format(
      "a gap between the elements of the output {} was written, {} bytes from its start", name,
      offset);
}

std::optional<std::string> Tensor::first_unwritten() const {
  std::optional<std::string> result;
  memory_->for_each([&](const unsigned char* at, const std::vector<Index>& index) {
    if (!result && !memory_->written(at)) result = fmt::format("[{}]", fmt::join(index, ", "));
  });
  return result;
}

DLTensor* Tensor::view() { return &memory_->view; }
const DLTensor* Tensor::view() const { return &memory_->view; }

}  // namespace plsh::properties
