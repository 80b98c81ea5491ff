/// \file
/// Python objects as implementations: a library with the table of plsh/interface/implementation.h
/// whose operations are methods of a Python object.
///
/// The environment variable PLSH_PYTHON names a function, "module:function", that returns the
/// object. What it may have is described in examples/README.md. Tensors go over without a copy, as
/// objects with `__dlpack__` and `__array_interface__`. When there is no object, the table is null
/// and `plsh_implementation_error` gives the reason, which also goes to stderr.
#include <dlfcn.h>
#include <plsh/interface/implementation.h>
#include <pybind11/embed.h>
#include <pybind11/stl.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace py = pybind11;
using std::string_literals::operator""s;

// ---- tensors ------------------------------------------------------------------------------------

/// What Python sees of a tensor. It ends with the call that it is an argument of.
class Tensor {
 public:
  Tensor(const DLTensor* tensor, bool writable) : tensor_(tensor), writable_(writable) {}
  void expire() { tensor_ = nullptr; }

  py::capsule dlpack(const py::object& stream) const;
  py::dict array_interface() const;
  std::pair<int, int> dlpack_device() const {
    return {static_cast<int>(alive().device.device_type), alive().device.device_id};
  }
  std::vector<std::int64_t> shape() const { return {alive().shape, alive().shape + alive().ndim}; }
  std::vector<std::int64_t> strides() const {
    return {alive().strides, alive().strides + alive().ndim};
  }
  std::string dtype() const;
  std::string repr() const;

 private:
  const DLTensor& alive() const {
    if (tensor_ == nullptr)
      throw std::runtime_error("this tensor belonged to a call that has returned");
    return *tensor_;
  }
  const DLTensor* tensor_;
  bool writable_;
};

std::string Tensor::dtype() const {
  const DLDataType type = alive().dtype;
  const std::string bits = std::to_string(type.bits);
  switch (type.code) {
    case kDLInt:
      return "int" + bits;
    case kDLFloat:
      return "float" + bits;
    case kDLBfloat:
      return "bfloat" + bits;
    default:
      return "type " + std::to_string(type.code) + " of " + bits + " bits";
  }
}

std::string Tensor::repr() const {
  if (tensor_ == nullptr) return "<tensor of a call that has returned>";
  return "<" + dtype() + (writable_ ? " output" : " input") + " tensor, shape " +
         py::repr(py::cast(shape())).cast<std::string>() + ", strides " +
         py::repr(py::cast(strides())).cast<std::string>() + ">";
}

/// A DLPack tensor with a shape and strides of its own, as the consumer decides when it ends. The
/// data stay the caller's.
struct Managed {
  explicit Managed(const DLTensor& tensor)
      : shape(tensor.shape, tensor.shape + tensor.ndim),
        strides(tensor.strides, tensor.strides + tensor.ndim) {
    dlpack.dl_tensor = tensor;
    dlpack.dl_tensor.shape = shape.data();
    dlpack.dl_tensor.strides = strides.data();
    dlpack.manager_ctx = this;
    dlpack.deleter = [](DLManagedTensor* self) { delete static_cast<Managed*>(self->manager_ctx); };
  }
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  DLManagedTensor dlpack = {};
};

py::capsule Tensor::dlpack(const py::object& stream) const {
  // Consumers pass None or, for tensors on the CPU, nothing.
  if (!stream.is_none()) throw py::value_error("the stream of a tensor on the CPU is None");
  auto managed = std::make_unique<Managed>(alive());
  // The consumer renames the capsule and calls the deleter. If none came, it is for us to do.
  PyObject* capsule = PyCapsule_New(&managed->dlpack, "dltensor", [](PyObject* self) {
    if (PyCapsule_IsValid(self, "dltensor") == 0) return;
    auto* dlpack = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(self, "dltensor"));
    dlpack->deleter(dlpack);
  });
  if (capsule == nullptr) throw py::error_already_set();
  managed.release();  // NOLINT(bugprone-unused-return-value): the capsule owns it
  return py::reinterpret_steal<py::capsule>(capsule);
}

/// numpy.asarray uses this. numpy.from_dlpack gives arrays that cannot be written to.
py::dict Tensor::array_interface() const {
  const DLTensor& tensor = alive();
  if (tensor.dtype.code != kDLFloat && tensor.dtype.code != kDLInt)
    throw py::attribute_error("NumPy has no " + dtype());
  const int bytes = tensor.dtype.bits / 8;
  py::tuple shape(tensor.ndim);
  py::tuple strides(tensor.ndim);
  for (int axis = 0; axis < tensor.ndim; ++axis) {
    shape[static_cast<std::size_t>(axis)] = tensor.shape[axis];
    strides[static_cast<std::size_t>(axis)] = tensor.strides[axis] * bytes;
  }
  static char nothing = 0;  // a tensor without elements may have no memory, but NumPy wants some
  void* data = tensor.data != nullptr ? tensor.data : &nothing;
  py::dict result;
  result["version"] = 3;
  result["shape"] = shape;
  result["strides"] = strides;
  result["typestr"] = (tensor.dtype.code == kDLInt ? "<i" : "<f") + std::to_string(bytes);
  result["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(data), !writable_);
  return result;
}

/// Collects the fields of an argument object; the tensors end with it.
class Arguments {
 public:
  Arguments() : object_(py::module_::import("types").attr("SimpleNamespace")()) {}
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    for (const auto& tensor : tensors_) tensor->expire();
  }

  Arguments& input(const char* name, const DLTensor* tensor) { return add(name, tensor, false); }
  Arguments& output(const char* name, const DLTensor* tensor) { return add(name, tensor, true); }
  template <class T>
  Arguments& scalar(const char* name, T value) {
    object_.attr(name) = value;
    return *this;
  }
  const py::object& object() const { return object_; }

 private:
  Arguments& add(const char* name, const DLTensor* tensor, bool writable) {
    if (tensor == nullptr) {
      object_.attr(name) = py::none();
    } else {
      tensors_.push_back(std::make_shared<Tensor>(tensor, writable));
      object_.attr(name) = tensors_.back();
    }
    return *this;
  }
  py::object object_;
  std::vector<std::shared_ptr<Tensor>> tensors_;
};

// ---- conventions --------------------------------------------------------------------------------

using Names = std::vector<std::string>;  // of enumerators, in the order of their values

std::string list(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The value of a name. \param what is named, for the error.
std::int32_t value_of(const py::handle& name, const Names& names, const std::string& what) {
  if (py::isinstance<py::str>(name)) {
    const auto found = std::ranges::find(names, name.cast<std::string>());
    if (found != names.end()) return static_cast<std::int32_t>(found - names.begin());
  }
  throw std::runtime_error(what + " is " + py::repr(name).cast<std::string>() +
                           "; allowed are: " + list(names));
}

py::dict as_dict(const py::handle& object, const std::string& what) {
  if (!py::isinstance<py::dict>(object))
    throw std::runtime_error(what + " is " + py::repr(object).cast<std::string>() + ", not a dict");
  return py::reinterpret_borrow<py::dict>(object);
}

const Names type_names = {"f32", "f64", "f16", "bf16"};
const Names promise_names = {"deterministic_forward", "deterministic_backward",
                             "thread_independent", "sample_offsets"};

struct Choice {
  std::string key;
  Names values;
  std::int32_t plsh_conventions::*field;
};
const std::vector<Choice> choices = {
    {"slope_rule", {"interleaved", "geometric"}, &plsh_conventions::slope_rule},
    {"bin_rule", {"floor", "floor_plus", "ceil", "round"}, &plsh_conventions::bin_rule},
    {"bin_precision", {"f32", "f64", "exact"}, &plsh_conventions::bin_precision},
    {"causal_alignment", {"top_left", "bottom_right"}, &plsh_conventions::causal_alignment},
    {"empty_row", {"zero", "nan", "anything"}, &plsh_conventions::empty_row},
    {"lse_base", {"natural", "base_2"}, &plsh_conventions::lse_base},
    {"lse_bias", {"distance", "shifted"}, &plsh_conventions::lse_bias},
    {"lse_weights", {"mean", "count"}, &plsh_conventions::lse_weights},
    {"head_grouping", {"consecutive", "interleaved"}, &plsh_conventions::head_grouping},
    {"batch_samples", {"distinct", "shared"}, &plsh_conventions::batch_samples},
};

plsh_precision read_precision(const py::handle& object, const std::string& what) {
  const std::array<std::pair<std::string, std::int32_t plsh_precision::*>, 4> fields = {
      {{"logits", &plsh_precision::logits},
       {"bias", &plsh_precision::bias},
       {"weights", &plsh_precision::weights},
       {"accumulation", &plsh_precision::accumulation}}};
  Names keys;
  for (const auto& field : fields) keys.push_back(field.first);
  const py::dict dict = as_dict(object, what);
  for (const auto& [key, type] : dict) value_of(key, keys, "a key of " + what);
  plsh_precision precision = {};
  precision.supported = 1;
  for (const auto& [key, field] : fields) {
    // The first enumerator would be a poor guess of a precision.
    if (!dict.contains(key))
      throw std::runtime_error(what + " must name all of: " + list(keys) + "; it lacks " + key);
    precision.*field = value_of(dict[key.c_str()], type_names, what + "['" + key + "']");
  }
  return precision;
}

/// \param object a dict; what it leaves out has the first of the allowed values.
plsh_conventions read_conventions(const py::handle& object) {
  plsh_conventions conventions = {};
  Names keys = {"promises", "precision"};
  for (const Choice& choice : choices) keys.push_back(choice.key);
  for (const auto& [key, value] : as_dict(object, "conventions")) {
    value_of(key, keys, "a key of conventions");
    const auto name = key.cast<std::string>();
    const std::string what = "conventions['" + name + "']";
    if (name == "promises") {
      if (py::isinstance<py::str>(value) || !py::isinstance<py::iterable>(value))
        throw std::runtime_error(what +
                                 " is not a list; allowed in it are: " + list(promise_names));
      for (const py::handle promise : value)
        conventions.promises |= 1U << value_of(promise, promise_names, "an entry of " + what);
    } else if (name == "precision") {
      for (const auto& [type, precision] : as_dict(value, what)) {
        const std::int32_t index = value_of(type, type_names, "a key of " + what);
        conventions.precision[index] =
            read_precision(precision, what + "['" + type.cast<std::string>() + "']");
      }
    } else {
      const auto choice = std::ranges::find(choices, name, &Choice::key);
      conventions.*(choice->field) = value_of(value, choice->values, what);
    }
  }
  return conventions;
}

// ---- calls --------------------------------------------------------------------------------------

/// Everything that lives as long as the process.
struct State {
  py::object module;  ///< holds the type Tensor
  py::object implementation;
  std::string name;
  std::string version;
  std::string reason;  ///< of the last refusal or failure
  plsh_implementation table = {};
};
State* state = nullptr;
std::string problem;  ///< why there is none

/// The last line of the traceback and, as that line alone says little, where it comes from.
std::string describe(const py::error_already_set& error) {
  const py::module_ traceback = py::module_::import("traceback");
  std::string text =
      py::str("")
          .attr("join")(traceback.attr("format_exception_only")(error.type(), error.value()))
          .attr("strip")()
          .cast<std::string>();
  if (error.trace()) {
    const py::list frames = traceback.attr("extract_tb")(error.trace());
    const py::object last = frames[frames.size() - 1];
    text += " (" + last.attr("filename").cast<std::string>() + ", line " +
            py::str(last.attr("lineno")).cast<std::string>() + ", in " +
            last.attr("name").cast<std::string>() + ")";
  }
  return text;
}

/// Calls a method with the arguments that `fill` puts together.
template <class Fill>
int call(const char* method, Fill fill) {
  const py::gil_scoped_acquire gil;
  try {
    Arguments arguments;
    fill(arguments);
    const py::object result = state->implementation.attr(method)(arguments.object());
    if (result.is_none()) return PLSH_OK;
    state->reason = method + " returned "s + py::repr(result).cast<std::string>() +
                    "; it must write to the output tensors and return None";
  } catch (py::error_already_set& error) {
    try {
      if (error.matches(PyExc_NotImplementedError)) {
        state->reason = py::str(error.value()).cast<std::string>();
        if (state->reason.empty()) state->reason = method + " raised NotImplementedError"s;
        return PLSH_REFUSED;
      }
      state->reason = method + ": "s + describe(error);
    } catch (const std::exception&) {
      state->reason = method + " raised an exception that cannot be printed"s;
    }
  } catch (const std::exception& error) {
    state->reason = method + ": "s + error.what();
  }
  return PLSH_FAILED;
}

int slopes(DLTensor* slopes) {
  return call("slopes", [&](Arguments& arguments) { arguments.output("slopes", slopes); });
}

int bins(const DLTensor* positions, const DLTensor* widths, const DLTensor* shifts,
         DLTensor* bins) {
  return call("bins", [&](Arguments& arguments) {
    arguments.input("positions", positions).input("widths", widths).input("shifts", shifts);
    arguments.output("bins", bins);
  });
}

int sample_partitions(const plsh_sampling* x) {
  return call("sample_partitions", [&](Arguments& arguments) {
    arguments.scalar("seed", x->seed).scalar("first_sample", x->first_sample);
    arguments.scalar("length", x->length).scalar("threads", x->threads).input("sigma", x->sigma);
    arguments.output("block_counts", x->block_counts).output("block_starts", x->block_starts);
  });
}

int mean_mask(const DLTensor* block_counts, const DLTensor* block_starts, DLTensor* mask) {
  return call("mean_mask", [&](Arguments& arguments) {
    arguments.input("block_counts", block_counts).input("block_starts", block_starts);
    arguments.output("mask", mask);
  });
}

int attention(const char* method, bool backward, const plsh_attention* x) {
  return call(method, [&](Arguments& arguments) {
    arguments.input("query", x->query).input("key", x->key).input("value", x->value);
    arguments.scalar("scale", x->scale).scalar("causal", x->causal != 0);
    arguments.scalar("threads", x->threads).input("slopes", x->slopes);
    arguments.input("block_counts", x->block_counts).input("block_starts", x->block_starts);
    arguments.input("query_starts", x->query_starts).input("key_starts", x->key_starts);
    if (backward) {
      arguments.input("output", x->output).input("log_sum_exp", x->log_sum_exp);
    } else {
      arguments.output("output", x->output).output("log_sum_exp", x->log_sum_exp);
    }
    arguments.input("output_gradient", x->output_gradient);
    arguments.output("query_gradient", x->query_gradient);
    arguments.output("key_gradient", x->key_gradient);
    arguments.output("value_gradient", x->value_gradient);
  });
}

// ---- the start ----------------------------------------------------------------------------------

void start_interpreter() {
  // Extension modules find the symbols of libpython among the global ones, but this library may
  // have been loaded without making its dependencies global.
  Dl_info libpython = {};
  if (dladdr(reinterpret_cast<void*>(&Py_IsInitialized), &libpython) != 0)
    dlopen(libpython.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  if (Py_IsInitialized() != 0) return;

  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  config.parse_argv = 0;
  config.buffered_stdio = 0;  // the interpreter is never finalised: nobody would flush
  // The interpreter whose packages are used: that of an active virtual environment, if it is of
  // this version of Python, otherwise the one found by the build.
  const char* environment = std::getenv("VIRTUAL_ENV");
  const std::string version =
      "python" + std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
  std::string program = PLSH_PYTHON_EXECUTABLE;
  if (environment != nullptr &&
      std::filesystem::exists(environment + "/lib/"s + version + "/site-packages"))
    program = environment + "/bin/python3"s;
  // Ctrl-C is the program's business. The module _signal takes it over when it is imported first,
  // whatever the configuration says.
  struct sigaction interrupt = {};
  sigaction(SIGINT, nullptr, &interrupt);
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, program.c_str());
  if (PyStatus_Exception(status) == 0) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status) != 0)
    throw std::runtime_error("Python does not start: "s +
                             (status.err_msg != nullptr ? status.err_msg : "unknown reason"));
  py::module_::import("_signal");
  sigaction(SIGINT, &interrupt, nullptr);
  PyEval_SaveThread();  // whoever calls takes the lock: operations may come from any thread
}

py::object load_implementation(const std::string& specification) {
  const std::size_t colon = specification.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == specification.size())
    throw std::runtime_error("PLSH_PYTHON is \"" + specification +
                             "\"; it must be \"module:function\"");
  const std::string module_name = specification.substr(0, colon);
  const std::string function_name = specification.substr(colon + 1);
  // Modules in the current directory come first, as for `python3 -m`.
  py::module_::import("sys").attr("path").attr("insert")(0,
                                                         std::filesystem::current_path().string());
  const py::module_ module = py::module_::import(module_name.c_str());
  if (!py::hasattr(module, function_name.c_str()))
    throw std::runtime_error("the Python module " + module_name + " has no " + function_name);
  return module.attr(function_name.c_str())();
}

py::object module_with_tensor() {
  py::object module = py::module_::import("types").attr("ModuleType")("plsh");
  py::class_<Tensor, std::shared_ptr<Tensor>>(module, "Tensor")
      .def("__dlpack__", &Tensor::dlpack, py::arg("stream") = py::none())
      .def("__dlpack_device__", &Tensor::dlpack_device)
      .def("__repr__", &Tensor::repr)
      .def_property_readonly("__array_interface__", &Tensor::array_interface)
      .def_property_readonly(
          "shape", [](const Tensor& tensor) { return py::tuple(py::cast(tensor.shape())); })
      .def_property_readonly(
          "strides", [](const Tensor& tensor) { return py::tuple(py::cast(tensor.strides())); })
      .def_property_readonly("dtype", &Tensor::dtype);
  return module;
}

/// The text of an attribute, or what stands for it.
std::string text_attribute(const py::object& object, const char* name, const std::string& absent) {
  const py::object value = py::getattr(object, name, py::none());
  return value.is_none() ? absent : py::str(value).cast<std::string>();
}

void fill_table(const std::string& specification) {
  const py::object& object = state->implementation;
  plsh_implementation& table = state->table;
  state->name = text_attribute(object, "name", specification);
  state->version = text_attribute(object, "version", "");
  table.interface_version = PLSH_INTERFACE_VERSION;
  table.struct_size = sizeof(plsh_implementation);
  table.name = state->name.c_str();
  table.version = state->version.c_str();
  table.conventions = read_conventions(py::getattr(object, "conventions", py::dict()));
  table.device = {kDLCPU, 0};
  table.error_message = [] { return state->reason.c_str(); };

  Names names;
  bool any = false;
  const auto offer = [&](const char* name, auto& operation, auto function) {
    names.emplace_back(name);
    const py::object method = py::getattr(object, name, py::none());
    if (method.is_none()) return;
    if (PyCallable_Check(method.ptr()) == 0)
      throw std::runtime_error("the attribute "s + name + " is not a method");
    operation = function;
    any = true;
  };
  offer("slopes", table.slopes, slopes);
  offer("bins", table.bins, bins);
  offer("sample_partitions", table.sample_partitions, sample_partitions);
  offer("mean_mask", table.mean_mask, mean_mask);
  offer("exact_forward", table.exact_forward,
        [](const plsh_attention* x) { return attention("exact_forward", false, x); });
  offer("exact_backward", table.exact_backward,
        [](const plsh_attention* x) { return attention("exact_backward", true, x); });
  offer("sampled_forward", table.sampled_forward,
        [](const plsh_attention* x) { return attention("sampled_forward", false, x); });
  offer("sampled_backward", table.sampled_backward,
        [](const plsh_attention* x) { return attention("sampled_backward", true, x); });
  if (!any)
    throw std::runtime_error("the object of " + specification +
                             " has no operation; it may have the methods " + list(names));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* plsh_implementation_error() {
  return problem.c_str();
}

extern "C" __attribute__((visibility("default"))) const plsh_implementation*
plsh_implementation_v1() {
  if (state != nullptr) return &state->table;
  // The state and the interpreter are leaked on purpose: at exit the order in which libraries,
  // their threads and the interpreter end is nobody's to choose, and destroying a Python object
  // after its interpreter crashes.
  try {
    const char* specification = std::getenv("PLSH_PYTHON");
    if (specification == nullptr)
      throw std::runtime_error("the environment variable PLSH_PYTHON must be \"module:function\"");
    start_interpreter();
    const py::gil_scoped_acquire gil;
    try {
      state = new State;
      state->module = module_with_tensor();
      state->implementation = load_implementation(specification);
      fill_table(specification);
      return &state->table;
    } catch (const py::error_already_set& error) {
      problem = specification + ": "s + describe(error);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    delete std::exchange(state, nullptr);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  std::fprintf(stderr, "plsh_python: %s\n", problem.c_str());
  return nullptr;
}
