// The stages of compilation: traced, lowered, compiled.
#pragma once
#include "weft/core/base/function_ref.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/runtime/host/executable.h"
#include "weft/transforms/call_types.h"

namespace weft {

template <class Out, class... P>
class Lowered;
template <class Out, class... P>
class Compiled;

namespace detail {

/// A traced function, which is compiled when its code is first needed. Defined in transforms/jit/compiled_function.h.
struct Program : RefCounted {};
const Jaxpr& jaxpr_of(const Program& p);
std::string text_of(Program& p, std::string_view form);
void compile(Program& p);
/// Runs the program on arrays of its input types, or stages it into the current trace. `paths` describes the arguments.
std::vector<Array> run_program(Program& p, std::vector<Array> args, FunctionRef<Skeleton()> paths, SourceLoc loc);

/// What all stages of one function share.
template <class Out, class... P>
struct Stage {
  KeptRef<Program> program;
  KeptRef<const StructureOf<kept_args_t<std::tuple<P...>>>> arguments;
  KeptRef<const StructureOf<Out>> result;
};

/// Code, cost and memory of a compiled function, whatever its type.
class CompiledBase {
 public:
  explicit CompiledBase(Ref<Program> p) : program_(std::move(p)) {}
  virtual ~CompiledBase() = default;
  /// "jaxpr" (after simplification), "kernels", "schedule", "llvm", "asm"; "ptx" for GPUs; "tiers": the tier of each step's current code.
  /// Throws CompileError for a form that the backend doesn't have.
  std::string as_text(std::string_view form = "kernels") const { return text_of(*program_, form); }
  CostAnalysis cost_analysis() const;
  MemoryAnalysis memory_analysis() const;
  Program& program() const { return *program_; }
  /// The structure of the arguments, and that of the result, for messages and headers.
  virtual Skeleton argument_paths() const = 0;
  virtual Skeleton result_paths() const = 0;

 private:
  KeptRef<Program> program_;
};

}  // namespace detail

/// A compiled function (jax.stages.Compiled): called with arguments of the types it was compiled for, numbers included.
template <class Out, class... P>
class Compiled : public detail::CompiledBase {
 public:
  explicit Compiled(detail::Stage<Out, P...> stage) : CompiledBase(stage.program), stage_(std::move(stage)) {}
  /// Throws PytreeError, ShapeError or DTypeError for arguments of other structure, static values, shapes or dtypes.
  Out operator()(const P&... args, SourceLoc loc = SourceLoc::here()) const {
    const std::tuple<P...> given(detail::as_copy(args)...);
    auto paths = [&] { return detail::skeleton_of_args(given); };
    if (!detail::same_arguments(stage_.arguments->value, given))
      detail::throw_structure_mismatch("compiled function", detail::skeleton_of_args(stage_.arguments->value), paths(), loc);
    return detail::with_leaves(stage_.result->value,
                               std::span<const Array>(run_program(*stage_.program, detail::leaves_of(given), paths, loc)));
  }
  detail::Skeleton argument_paths() const override { return detail::skeleton_of_args(stage_.arguments->value); }
  detail::Skeleton result_paths() const override { return detail::skeleton_of(stage_.result->value); }

 private:
  detail::Stage<Out, P...> stage_;
};

/// A function lowered for the default backend (jax.stages.Lowered).
template <class Out, class... P>
class Lowered {
 public:
  explicit Lowered(detail::Stage<Out, P...> stage) : stage_(std::move(stage)) {}
  /// "jaxpr", "kernels", "schedule", "llvm", "asm"; "ptx" for GPUs.
  std::string as_text(std::string_view form = "kernels") const { return detail::text_of(*stage_.program, form); }
  Compiled<Out, P...> compile() const {
    detail::compile(*stage_.program);
    return Compiled<Out, P...>(stage_);
  }

 private:
  detail::Stage<Out, P...> stage_;
};

/// A traced function (jax.stages.Traced).
template <class Out, class... P>
class Traced {
 public:
  explicit Traced(detail::Stage<Out, P...> stage) : stage_(std::move(stage)) {}
  Jaxpr jaxpr() const { return detail::jaxpr_of(*stage_.program); }
  Lowered<Out, P...> lower() const { return Lowered<Out, P...>(stage_); }

 private:
  detail::Stage<Out, P...> stage_;
};

/// Options of export_object.
struct ExportOptions {
  /// The processors that the code is for: "native", this machine's; or one or more of "x86-64", "x86-64-v2", "x86-64-v3" and "x86-64-v4",
  /// among which each call chooses the best that the processor supports; or "aarch64".
  std::vector<std::string> targets = {"native"};
  /// Writes a function for the derivative too: name_grad if the only result is a floating-point number, else name_vjp.
  bool gradient = false;
  /// The names of the arguments and results in the header; by default they are made of the paths of their arrays.
  std::vector<std::string> input_names = {}, output_names = {};
};
/// Writes name.o and name.h: a C function `int name(const void* const* inputs, void* const* outputs)` that links and runs without weft,
/// with the archive libweft_aot.a where it sorts, transforms, factors matrices, convolves or chooses between processors. The header states
/// the arrays' types, and has wrappers for C and C++. `name` may begin with the path of a folder. Throws CompileError for a program that
/// can't be exported (one with a callback or a collective) and for an unknown processor, IoError if a file can't be written.
void export_object(const detail::CompiledBase& compiled, const std::string& name, const ExportOptions& options = {},
                   SourceLoc loc = SourceLoc::here());

}  // namespace weft
