// The C interface: handles around C++ values, and errors as codes and text.
#include "weft/c.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/array/format.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/errors/error.h"
#include "weft/core/io/io.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/frontends/stablehlo/stablehlo.h"
#include "weft/library/io/dlpack.h"
#include "weft/library/io/foreign_memory.h"
#include "weft/runtime/host/device.h"
#include "weft/transforms/autodiff/grad.h"
#include "weft/transforms/jaxpr_api.h"
#include "weft/transforms/jit/jit.h"
#include "weft/version.h"

namespace {

/// What a handle begins with while it lives: a pointer to something else, or to a handle that was freed, is found out nearly always.
enum class Mark : std::uint64_t { freed = 0, array = 0x7961727261746677, program = 0x6d6172676f727077 };

}  // namespace

struct weft_array {
  static constexpr Mark kMark = Mark::array;
  static constexpr const char* kName = "an array";
  explicit weft_array(weft::Array x = {}) : value(std::move(x)) {}
  ~weft_array() { mark = Mark::freed; }
  volatile Mark mark = kMark;
  weft::Array value;
};

namespace weft {
namespace {

using Arrays = std::vector<Array>;

/// A program as a function of all its inputs.
struct Evaluate {
  Jaxpr program;
  Arrays operator()(const Arrays& inputs) const { return detail::eval_jaxpr(program, inputs); }
};

}  // namespace
}  // namespace weft

struct weft_program {
  static constexpr Mark kMark = Mark::program;
  static constexpr const char* kName = "a program";
  ~weft_program() { mark = Mark::freed; }
  explicit weft_program(weft::Jaxpr j)
      : jaxpr(std::move(j)),
        inputs(jaxpr.in_avals()),
        outputs(jaxpr.out_avals()),
        compiled(weft::jit(weft::Evaluate{jaxpr}, {.name = "program"})) {}
  volatile Mark mark = kMark;
  weft::Jaxpr jaxpr;
  std::vector<weft::ShapeDtypeStruct> inputs, outputs;
  weft::detail::Jit<weft::Evaluate> compiled;
};

namespace weft {
namespace {

/// What is wrong with a call itself.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

struct LastMessage {
  std::string text;
};
std::string& last_message() { return detail::of_thread<LastMessage>().text; }

weft_status status_of(const Error& e) {
  if (dynamic_cast<const ArgumentError*>(&e)) return WEFT_ERROR_ARGUMENT;
  if (dynamic_cast<const ShapeError*>(&e)) return WEFT_ERROR_SHAPE;
  if (dynamic_cast<const DTypeError*>(&e)) return WEFT_ERROR_DTYPE;
  if (dynamic_cast<const AxisError*>(&e)) return WEFT_ERROR_AXIS;
  if (dynamic_cast<const MemoryError*>(&e)) return WEFT_ERROR_MEMORY;
  if (dynamic_cast<const DeviceError*>(&e)) return WEFT_ERROR_DEVICE;
  if (dynamic_cast<const CompileError*>(&e)) return WEFT_ERROR_COMPILE;
  if (dynamic_cast<const IoError*>(&e)) return WEFT_ERROR_IO;
  if (dynamic_cast<const SystemError*>(&e)) return WEFT_ERROR_SYSTEM;
  if (dynamic_cast<const TracerError*>(&e)) return WEFT_ERROR_TRACER;
  return WEFT_ERROR;
}

/// Runs a call's body; an exception becomes a code and a text.
template <class F>
weft_status guarded(F&& body) noexcept {
  try {
    try {
      body();
      return WEFT_OK;
    } catch (const Error& e) {
      last_message() = e.message();
      return status_of(e);
    } catch (const std::bad_alloc&) {
      last_message() = "the memory is used up";
      return WEFT_ERROR_MEMORY;
    } catch (const std::exception& e) {
      last_message() = e.what();
      return WEFT_ERROR;
    }
  } catch (...) {
    return WEFT_ERROR;
  }
}

template <class T>
T& given(T* pointer, const char* what) {
  if (!pointer) throw ArgumentError(fmt::format("{} is null", what));
  return *pointer;
}
/// A handle of the caller's.
template <class H>
H& handle(H* pointer, const char* what) {
  using Kind = std::remove_const_t<H>;
  if (given(pointer, what).mark != Kind::kMark)
    throw ArgumentError(fmt::format("{} is not a handle of {}: it was freed, or is another thing", what, Kind::kName));
  return *pointer;
}
template <class H>
void free_handle(H* pointer, const char* what) {
  if (pointer) guarded([&] { delete &handle(pointer, what); });
}
/// The caller's memory; null where there is nothing in it.
const void* given_elements(const void* data, const Shape& shape) {
  return shape.num_elements() == 0 ? data : &given(static_cast<const char*>(data), "data");
}
DType dtype_of(weft_dtype dtype) {
  if (static_cast<int>(dtype) < 0 || static_cast<int>(dtype) >= DType::count)
    throw ArgumentError(fmt::format("there is no dtype {} of elements in memory", static_cast<int>(dtype)));
  return DType(static_cast<int>(dtype));
}
Shape shape_of(const std::int64_t* shape, int ndim) {
  if (ndim < 0 || ndim > WEFT_MAX_NDIM)
    throw ArgumentError(fmt::format("{}; there can be 0 to {}", detail::counted(ndim, "dimension"), WEFT_MAX_NDIM));
  if (ndim > 0) given(shape, "shape");
  return Shape(shape, shape + ndim);
}
void write_shape(const Shape& from, int* ndim, std::int64_t* shape) {
  given(ndim, "ndim") = from.size();
  if (shape) std::copy(from.begin(), from.end(), shape);
}
void write_type(const std::vector<ShapeDtypeStruct>& types, int index, weft_dtype* dtype, int* ndim, std::int64_t* shape) {
  if (index < 0 || static_cast<std::size_t>(index) >= types.size())
    throw ArgumentError(fmt::format("index {} is out of range: there are {}", index, types.size()));
  const ShapeDtypeStruct& type = types[static_cast<std::size_t>(index)];
  write_shape(type.shape, ndim, shape);
  given(dtype, "dtype") = static_cast<weft_dtype>(type.dtype.id());
}
char* copied(const std::string& s) {
  char* const out = new char[s.size() + 1];
  std::memcpy(out, s.c_str(), s.size() + 1);
  return out;
}
bool ends_with(const std::string& s, std::string_view end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}
/// Whether a text is a module of StableHLO: a Jaxpr begins with a brace, comments aside.
bool is_stablehlo(std::string_view text) {
  for (;;) {
    while (!text.empty() && std::string_view(" \t\r\n").find(text[0]) != std::string_view::npos) text.remove_prefix(1);
    if (text.substr(0, 2) != "//") return text.substr(0, 1) != "{";
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}
/// The loss and its gradients as functions of all inputs.
Arrays value_and_gradients(const Jaxpr& program, const std::vector<int>& wrt, const Arrays& inputs) {
  Arrays varied;
  for (const int i : wrt) varied.push_back(inputs[static_cast<std::size_t>(i)]);
  const auto loss = [&](const Arrays& at) {
    Arrays all = inputs;
    for (std::size_t k = 0; k < wrt.size(); ++k) all[static_cast<std::size_t>(wrt[k])] = at[k];
    Arrays results = detail::eval_jaxpr(program, all);
    const Array first = results[0];
    return std::pair{first, std::move(results)};
  };
  auto [value, gradients] = value_and_grad(loss, has_aux)(varied);
  Arrays out = std::move(value.second);
  out.insert(out.end(), gradients.begin(), gradients.end());
  return out;
}

}  // namespace
}  // namespace weft

using namespace weft;

int weft_c_version(void) { return 1000 * WEFT_C_VERSION_MAJOR + WEFT_C_VERSION_MINOR; }
const char* weft_version(void) {
  static const std::string& text = *new std::string(version());
  return text.c_str();
}
const char* weft_error_message(void) { return last_message().c_str(); }

size_t weft_dtype_size(weft_dtype dtype) {
  return static_cast<int>(dtype) < 0 || static_cast<int>(dtype) > DType::count
             ? 0
             : static_cast<size_t>(DType(static_cast<int>(dtype)).itemsize());
}

weft_status weft_device_count(int* count) {
  return guarded([&] { given(count, "count") = device_count(); });
}
weft_status weft_device_name(int index, char* name, size_t size) {
  return guarded([&] {
    const std::vector<Device> all = devices();
    if (index < 0 || static_cast<std::size_t>(index) >= all.size())
      throw ArgumentError(fmt::format("there is no device {} of {}", index, all.size()));
    if (size == 0) throw ArgumentError("there is no room for a name");
    const std::string text = fmt::format("{}", all[static_cast<std::size_t>(index)]).substr(0, size - 1);
    std::memcpy(&given(name, "name"), text.c_str(), text.size() + 1);
  });
}

weft_status weft_array_new(const void* data, weft_dtype dtype, const int64_t* shape, int ndim, weft_array** array) {
  return guarded([&] {
    weft_array*& out = given(array, "array");
    const Shape sizes = shape_of(shape, ndim);
    const detail::StridedElements e =
        detail::described_elements(given_elements(data, sizes), sizes, dtype_of(dtype), {}, "weft_array_new", {});
    out = new weft_array{detail::copy_of(e, {})};
  });
}
weft_status weft_array_over(const void* data, weft_dtype dtype, const int64_t* shape, int ndim, const int64_t* strides,
                            void (*release)(void*), void* context, weft_array** array) {
  return guarded([&] {
    weft_array*& out = given(array, "array");
    const Shape sizes = shape_of(shape, ndim);
    std::optional<Shape> steps;
    if (strides) steps = Shape(strides, strides + sizes.size());
    const detail::StridedElements e =
        detail::described_elements(given_elements(data, sizes), sizes, dtype_of(dtype), steps, "weft_array_over", {});
    auto made = std::make_unique<weft_array>();
    made->value = detail::array_over({e, release, context}, "weft_array_over", {});
    out = made.release();
  });
}
void weft_array_free(weft_array* array) { free_handle(array, "array"); }

weft_status weft_array_dtype(const weft_array* array, weft_dtype* dtype) {
  return guarded([&] { given(dtype, "dtype") = static_cast<weft_dtype>(handle(array, "array").value.dtype().id()); });
}
weft_status weft_array_shape(const weft_array* array, int* ndim, int64_t* shape) {
  return guarded([&] { write_shape(handle(array, "array").value.shape(), ndim, shape); });
}
weft_status weft_array_size(const weft_array* array, int64_t* size) {
  return guarded([&] { given(size, "size") = handle(array, "array").value.size(); });
}
weft_status weft_array_read(const weft_array* array, void* data, size_t bytes) {
  return guarded([&] {
    const Array& x = handle(array, "array").value;
    const auto wanted = static_cast<size_t>(x.aval().bytes());
    if (x.dtype().is_key()) throw DTypeError("weft_array_read: keys are not in host memory");
    if (bytes != wanted)
      throw ArgumentError(
          fmt::format("weft_array_read: {} takes {} bytes, there is room for {}", detail::to_string(x.aval()), wanted, bytes));
    if (wanted > 0) detail::read_elements(x, x.dtype(), &given(static_cast<char*>(data), "data"), "weft_array_read", {});
  });
}
weft_status weft_array_data(const weft_array* array, const void** data) {
  return guarded([&] {
    const Array& x = handle(array, "array").value;
    given(data, "data") = detail::host_elements(x, x.dtype(), {});
  });
}
weft_status weft_array_text(const weft_array* array, char** text) {
  return guarded([&] {
    char*& out = given(text, "text");
    out = copied(fmt::format("{}", handle(array, "array").value));
  });
}
void weft_text_free(char* text) { delete[] text; }

weft_status weft_array_from_dlpack(void* managed_tensor, int versioned, weft_array** array) {
  return guarded([&] {
    weft_array*& out = given(array, "array");
    given(static_cast<char*>(managed_tensor), "managed_tensor");
    auto made = std::make_unique<weft_array>();
    made->value = versioned ? from_dlpack_versioned(managed_tensor) : from_dlpack(managed_tensor);
    out = made.release();
  });
}
weft_status weft_array_to_dlpack(const weft_array* array, int versioned, void** managed_tensor) {
  return guarded([&] {
    const Array& x = handle(array, "array").value;
    void*& out = given(managed_tensor, "managed_tensor");
    out = versioned ? to_dlpack_versioned(x) : to_dlpack(x);
  });
}

weft_status weft_program_parse(const char* text, weft_program** program) {
  return guarded([&] {
    const std::string_view source = &given(text, "text");
    weft_program*& out = given(program, "program");
    out = new weft_program(is_stablehlo(source) ? parse_stablehlo(source) : parse(source));
  });
}
weft_status weft_program_load(const char* path, const char* constants, weft_program** program) {
  return guarded([&] {
    const std::string file = &given(path, "path");
    weft_program*& out = given(program, "program");
    const bool stablehlo = ends_with(file, ".mlir") || ends_with(file, ".stablehlo");
    out = new weft_program(stablehlo ? load_stablehlo(file) : load_jaxpr(file, constants ? constants : ""));
  });
}
void weft_program_free(weft_program* program) { free_handle(program, "program"); }

weft_status weft_program_counts(const weft_program* program, int* inputs, int* outputs) {
  return guarded([&] {
    const weft_program& p = handle(program, "program");
    if (inputs) *inputs = static_cast<int>(p.inputs.size());
    if (outputs) *outputs = static_cast<int>(p.outputs.size());
  });
}
weft_status weft_program_input(const weft_program* program, int index, weft_dtype* dtype, int* ndim, int64_t* shape) {
  return guarded([&] { write_type(handle(program, "program").inputs, index, dtype, ndim, shape); });
}
weft_status weft_program_output(const weft_program* program, int index, weft_dtype* dtype, int* ndim, int64_t* shape) {
  return guarded([&] { write_type(handle(program, "program").outputs, index, dtype, ndim, shape); });
}
weft_status weft_program_text(const weft_program* program, char** text) {
  return guarded([&] {
    char*& out = given(text, "text");
    out = copied(handle(program, "program").jaxpr.to_string());
  });
}

weft_status weft_program_run(const weft_program* program, const weft_array* const* inputs, int num_inputs, weft_array** outputs,
                             int num_outputs) {
  return guarded([&] {
    const weft_program& p = handle(program, "program");
    if (num_inputs < 0 || static_cast<std::size_t>(num_inputs) != p.inputs.size() || num_outputs < 0 ||
        static_cast<std::size_t>(num_outputs) != p.outputs.size())
      throw ArgumentError(fmt::format("weft_program_run: the program has {} inputs and {} outputs, not {} and {}", p.inputs.size(),
                                      p.outputs.size(), num_inputs, num_outputs));
    Arrays values;
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
      const Array& x = handle((&given(inputs, "inputs"))[i], "an input").value;
      if (x.shape() != p.inputs[i].shape || x.dtype() != p.inputs[i].dtype) {
        const std::string text = fmt::format("weft_program_run: input {} is {}, the program takes {}", i, detail::to_string(x.aval()),
                                             detail::to_string(detail::Aval{p.inputs[i].shape, p.inputs[i].dtype}));
        if (x.dtype() != p.inputs[i].dtype) throw DTypeError(text);
        throw ShapeError(text);
      }
      values.push_back(x);
    }
    Arrays results = p.compiled(values);
    std::vector<std::unique_ptr<weft_array>> handles;
    for (Array& x : results) handles.push_back(std::make_unique<weft_array>(std::move(x)));
    for (std::size_t i = 0; i < handles.size(); ++i) (&given(outputs, "outputs"))[i] = handles[i].release();
  });
}

weft_status weft_program_value_and_grad(const weft_program* program, const int* inputs, int num_inputs, weft_program** result) {
  return guarded([&] {
    const weft_program& p = handle(program, "program");
    weft_program*& out = given(result, "result");
    if (p.outputs.empty()) throw ShapeError("weft_program_value_and_grad: the program has no outputs");
    if (num_inputs <= 0) throw ArgumentError("weft_program_value_and_grad: no input is named");
    if (static_cast<std::size_t>(num_inputs) > p.inputs.size())
      throw ArgumentError(fmt::format("weft_program_value_and_grad: {} inputs are named; the program has {}", num_inputs, p.inputs.size()));
    const std::vector<int> wrt(&given(inputs, "inputs"), inputs + num_inputs);
    for (std::size_t k = 0; k < wrt.size(); ++k)
      if (wrt[k] < 0 || static_cast<std::size_t>(wrt[k]) >= p.inputs.size() ||
          std::find(wrt.begin(), wrt.begin() + static_cast<std::ptrdiff_t>(k), wrt[k]) != wrt.begin() + static_cast<std::ptrdiff_t>(k))
        throw ArgumentError(fmt::format("weft_program_value_and_grad: input {} of {}; each can be named once", wrt[k], p.inputs.size()));
    out = new weft_program(make_jaxpr([&](const Arrays& all) { return value_and_gradients(p.jaxpr, wrt, all); })(p.inputs));
  });
}
weft_status weft_program_vmap(const weft_program* program, const int* axes, int64_t size, weft_program** result) {
  return guarded([&] {
    const weft_program& p = handle(program, "program");
    weft_program*& out = given(result, "result");
    if (size < 0) throw ArgumentError(fmt::format("weft_program_vmap: the batch has size {}; it must not be negative", size));
    BatchOptions options{.axis_size = size};
    if (axes) {
      std::vector<Axes> each;
      for (std::size_t i = 0; i < p.inputs.size(); ++i) each.push_back(axes[i] == WEFT_NOT_MAPPED ? Axes(none) : Axes(axes[i]));
      options.in_axes = Axes::of(std::move(each));
    }
    out = new weft_program(batch_jaxpr(p.jaxpr, options));
  });
}
