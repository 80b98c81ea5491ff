// The reference as an implementation under test: every operation of the interface by its
// definition. It computes in double whatever the type of the tensors.
#include <plsh/interface/implementation.h>

#include <Eigen/Core>
#include <cstring>
#include <exception>
#include <plsh/reference/gradients.hpp>
#include <plsh/reference/kernel.hpp>
#include <plsh/reference/sampling.hpp>
#include <plsh/reference/slopes.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using plsh::reference::HeadGradients;
using plsh::reference::HeadInput;
using plsh::reference::HeadOutput;
using plsh::reference::Index;
using plsh::reference::Partition;
using Matrix = plsh::reference::Matrix<double>;

thread_local std::string error_text;

/// Arguments that ask for more than this slow code should do.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ---- elements --------------------------------------------------------------------------------

template <class... Axes>
void* element(const DLTensor& tensor, Axes... axes) {
  Index offset = 0;
  std::size_t axis = 0;
  ((offset += static_cast<Index>(axes) * tensor.strides[axis++]), ...);
  return static_cast<char*>(tensor.data) + offset * (tensor.dtype.bits / 8);
}

template <class T, class... Axes>
T& at(const DLTensor& tensor, Axes... axes) {
  return *static_cast<T*>(element(tensor, axes...));
}

template <class... Axes>
double get(const DLTensor& tensor, Axes... axes) {
  if (tensor.dtype.code == kDLBfloat)
    return static_cast<double>(at<Eigen::bfloat16>(tensor, axes...));
  if (tensor.dtype.bits == 16) return static_cast<double>(at<Eigen::half>(tensor, axes...));
  if (tensor.dtype.bits == 32) return static_cast<double>(at<float>(tensor, axes...));
  return at<double>(tensor, axes...);
}

template <class... Axes>
void set(const DLTensor& tensor, double value, Axes... axes) {
  if (tensor.dtype.code == kDLBfloat)
    at<Eigen::bfloat16>(tensor, axes...) = Eigen::bfloat16(static_cast<float>(value));
  else if (tensor.dtype.bits == 16)
    at<Eigen::half>(tensor, axes...) = Eigen::half(static_cast<float>(value));
  else if (tensor.dtype.bits == 32)
    at<float>(tensor, axes...) = static_cast<float>(value);
  else
    at<double>(tensor, axes...) = value;
}

std::vector<Partition> read_partitions(const DLTensor& counts, const DLTensor& starts, Index batch,
                                       Index head, Index length) {
  std::vector<Partition> result;
  for (Index s = 0; s < counts.shape[2]; ++s) {
    std::vector<Index> blocks;
    for (Index b = 0; b < at<Index>(counts, batch, head, s); ++b)
      blocks.push_back(at<Index>(starts, batch, head, s, b));
    result.emplace_back(length, std::move(blocks));
  }
  return result;
}

// ---- attention -------------------------------------------------------------------------------

/// One head of one sequence.
struct Problem {
  Index batch = 0;  // along the batch axis of the tensors
  Index sequence = 0;
  Index head = 0;
  Index kv_head = 0;
  Index query_begin = 0;
  Index key_begin = 0;
  HeadInput<double> input;
  Matrix weights;  // [n_q, n_k]
  std::vector<double> log_scale;  // [n_q]: what the weights of a row were multiplied by, as a log
};

Matrix read_rows(const DLTensor& tensor, Index batch, Index begin, Index rows, Index head) {
  Matrix result(rows, tensor.shape[3]);
  for (Index i = 0; i < rows; ++i)
    for (Index c = 0; c < result.cols(); ++c) result(i, c) = get(tensor, batch, begin + i, head, c);
  return result;
}

/// M~, or L* with the nearest key's weight brought to 1, so that no row underflows as a whole. A
/// sampled query outside the positions of the keys shares a block with none.
void fill_weights(const plsh_attention& a, Problem& p) {
  const Index queries = p.input.query.rows();
  const Index keys = p.input.key.rows();
  p.weights = Matrix::Zero(queries, keys);
  p.log_scale.assign(static_cast<std::size_t>(queries), 0);
  if (keys == 0) return;
  if (a.slopes != nullptr) {
    const double slope = get(*a.slopes, p.sequence, p.head);
    for (Index i = 0; i < queries; ++i) {
      const Index nearest = std::max<Index>(0, i - (keys - 1));
      p.log_scale[static_cast<std::size_t>(i)] = slope * static_cast<double>(nearest);
      for (Index j = 0; j < keys; ++j)
        p.weights(i, j) = std::exp(-slope * static_cast<double>(std::abs(i - j) - nearest));
    }
    return;
  }
  for (const Partition& partition :
       read_partitions(*a.block_counts, *a.block_starts, p.sequence, p.head, keys))
    for (Index i = 0; i < std::min(queries, keys); ++i) {
      const plsh::reference::Block block = partition.block(partition.block_of(i));
      p.weights.row(i).segment(block.begin, block.size()).array() += 1;
    }
  p.weights /= static_cast<double>(a.block_counts->shape[2]);
}

template <class Visit>
void for_each_head(const plsh_attention& a, const Visit& visit) {
  const bool variable = a.query_starts != nullptr;
  const Index sequences = variable ? a.query_starts->shape[0] - 1 : a.query->shape[0];
  const Index heads = a.query->shape[2];
  const Index group = heads / a.key->shape[2];
  for (Index b = 0; b < sequences; ++b)
    for (Index h = 0; h < heads; ++h) {
      Problem p;
      p.batch = variable ? 0 : b;
      p.sequence = b;
      p.head = h;
      p.kv_head = h / group;
      Index queries = a.query->shape[1];
      Index keys = a.key->shape[1];
      if (variable) {
        p.query_begin = at<Index>(*a.query_starts, b);
        p.key_begin = at<Index>(*a.key_starts, b);
        queries = at<Index>(*a.query_starts, b + 1) - p.query_begin;
        keys = at<Index>(*a.key_starts, b + 1) - p.key_begin;
      }
      if (queries * keys > (Index{1} << 24))
        throw Refusal("more than 2^24 pairs of a query and a key: the weights are a full matrix");
      p.input.query = read_rows(*a.query, p.batch, p.query_begin, queries, h);
      p.input.key = read_rows(*a.key, p.batch, p.key_begin, keys, p.kv_head);
      p.input.value = read_rows(*a.value, p.batch, p.key_begin, keys, p.kv_head);
      p.input.logit_scale = a.scale;
      p.input.causal = a.causal != 0;
      fill_weights(a, p);
      visit(p);
    }
}

void forward(const plsh_attention& a) {
  for_each_head(a, [&](const Problem& p) {
    const HeadOutput<double> result = plsh::reference::weighted_attention(p.input, p.weights);
    for (Index i = 0; i < result.output.rows(); ++i) {
      for (Index c = 0; c < result.output.cols(); ++c)
        set(*a.output, result.output(i, c), p.batch, p.query_begin + i, p.head, c);
      if (a.log_sum_exp != nullptr)
        set(*a.log_sum_exp, result.log_sum_exp[i] - p.log_scale[static_cast<std::size_t>(i)],
            p.batch, p.head, p.query_begin + i);
    }
  });
}

void backward(const plsh_attention& a) {
  // The gradients of keys and values are sums over a group's heads, rounded once.
  const Index rows = a.key->shape[0] * a.key->shape[1] * a.key->shape[2];
  Matrix key_gradient = Matrix::Zero(rows, a.key->shape[3]);
  Matrix value_gradient = Matrix::Zero(rows, a.value->shape[3]);
  const auto row = [&](const Problem& p, Index j) {
    return ((p.batch * a.key->shape[1]) + p.key_begin + j) * a.key->shape[2] + p.kv_head;
  };
  for_each_head(a, [&](const Problem& p) {
    const Matrix output_gradient =
        read_rows(*a.output_gradient, p.batch, p.query_begin, p.input.query.rows(), p.head);
    const HeadGradients<double> result =
        plsh::reference::weighted_attention_gradients(p.input, p.weights, output_gradient);
    for (Index i = 0; i < result.query.rows(); ++i)
      for (Index c = 0; c < result.query.cols(); ++c)
        set(*a.query_gradient, result.query(i, c), p.batch, p.query_begin + i, p.head, c);
    for (Index j = 0; j < result.key.rows(); ++j) {
      key_gradient.row(row(p, j)) += result.key.row(j);
      value_gradient.row(row(p, j)) += result.value.row(j);
    }
  });
  Index r = 0;
  for (Index b = 0; b < a.key->shape[0]; ++b)
    for (Index j = 0; j < a.key->shape[1]; ++j)
      for (Index h = 0; h < a.key->shape[2]; ++h, ++r) {
        for (Index c = 0; c < key_gradient.cols(); ++c)
          set(*a.key_gradient, key_gradient(r, c), b, j, h, c);
        for (Index c = 0; c < value_gradient.cols(); ++c)
          set(*a.value_gradient, value_gradient(r, c), b, j, h, c);
      }
}

// ---- the other operations --------------------------------------------------------------------

void fill_slopes(DLTensor& slopes) {
  const std::vector<double> values =
      plsh::reference::alibi_slopes(static_cast<int>(slopes.shape[0]));
  for (Index h = 0; h < slopes.shape[0]; ++h) set(slopes, values[static_cast<std::size_t>(h)], h);
}

void fill_bins(const DLTensor& positions, const DLTensor& widths, const DLTensor& shifts,
               DLTensor& bins) {
  for (Index s = 0; s < widths.shape[0]; ++s) {
    // Labels count the bins in order, so that they fit whatever the quotient is.
    plsh::reference::Integer previous = 0;
    Index label = -1;
    for (Index k = 0; k < positions.shape[0]; ++k) {
      const auto bin = plsh::reference::bin_of(at<Index>(positions, k),
                                               {get(widths, s), get(shifts, s)});
      if (label < 0 || bin != previous) ++label;
      previous = bin;
      at<Index>(bins, s, k) = label;
    }
  }
}

void sample(const plsh_sampling& a) {
  const DLTensor& counts = *a.block_counts;
  const Index heads = counts.shape[1];
  for (Index b = 0; b < counts.shape[0]; ++b)
    for (Index h = 0; h < heads; ++h)
      for (Index s = 0; s < counts.shape[2]; ++s) {
        const plsh::reference::SampleId id{a.seed, static_cast<std::uint32_t>(b * heads + h),
                                           static_cast<std::uint64_t>(a.first_sample + s)};
        const Partition partition = plsh::reference::partition_of(
            a.length, plsh::reference::draw_binning(id, get(*a.sigma, h)));
        at<Index>(counts, b, h, s) = partition.block_count();
        for (Index c = 0; c < partition.block_count(); ++c)
          at<Index>(*a.block_starts, b, h, s, c) = partition.starts()[static_cast<std::size_t>(c)];
      }
}

void fill_mask(const DLTensor& counts, const DLTensor& starts, DLTensor& mask) {
  for (Index b = 0; b < mask.shape[0]; ++b)
    for (Index h = 0; h < mask.shape[1]; ++h) {
      const Matrix mean = plsh::reference::mean_mask<double>(
          read_partitions(counts, starts, b, h, mask.shape[2]));
      for (Index i = 0; i < mean.rows(); ++i)
        for (Index j = 0; j < mean.cols(); ++j) set(mask, mean(i, j), b, h, i, j);
    }
}

// ---- the table -------------------------------------------------------------------------------

template <class Call>
int run(const Call& call) {
  try {
    call();
    return PLSH_OK;
  } catch (const Refusal& refusal) {
    error_text = refusal.what();
    return PLSH_REFUSED;
  } catch (const std::exception& error) {
    error_text = error.what();
    return PLSH_FAILED;
  }
}

plsh_implementation make_table() {
  plsh_implementation table{};
  table.interface_version = PLSH_INTERFACE_VERSION;
  table.struct_size = sizeof table;
  table.name = "plsh reference";
  table.version = "1";
  table.conventions.bin_precision = PLSH_BINS_EXACT;
  table.conventions.promises = PLSH_DETERMINISTIC_FORWARD | PLSH_DETERMINISTIC_BACKWARD |
                               PLSH_THREAD_INDEPENDENT | PLSH_SAMPLE_OFFSETS;
  for (plsh_precision& precision : table.conventions.precision)
    precision = {1, PLSH_F64, PLSH_F64, PLSH_F64, PLSH_F64};
  table.device = {kDLCPU, 0};
  table.error_message = [] { return error_text.c_str(); };
  table.slopes = [](DLTensor* slopes) { return run([&] { fill_slopes(*slopes); }); };
  table.bins = [](const DLTensor* positions, const DLTensor* widths, const DLTensor* shifts,
                  DLTensor* bins) {
    return run([&] { fill_bins(*positions, *widths, *shifts, *bins); });
  };
  table.sample_partitions = [](const plsh_sampling* a) { return run([&] { sample(*a); }); };
  table.mean_mask = [](const DLTensor* counts, const DLTensor* starts, DLTensor* mask) {
    return run([&] { fill_mask(*counts, *starts, *mask); });
  };
  table.exact_forward = table.sampled_forward = [](const plsh_attention* a) {
    return run([&] { forward(*a); });
  };
  table.exact_backward = table.sampled_backward = [](const plsh_attention* a) {
    return run([&] { backward(*a); });
  };
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const plsh_implementation*
plsh_implementation_v1(void) {
  static const plsh_implementation table = make_table();
  return &table;
}
