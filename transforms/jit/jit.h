// jit, and scopes without it.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/transforms/flat.h"
#include "weft/transforms/jit/jit_options.h"
#include "weft/transforms/jit/stages.h"

namespace weft {

namespace detail {

/// Counters of this process, for tests: functions traced, programs compiled, calls served from the cache.
struct JitCounters {
  std::uint64_t traces = 0, compiles = 0, hits = 0;
};
JitCounters jit_counters();

/// Whether a disable_jit scope is active on this thread.
bool jit_is_disabled();

/// One call of a jitted function, as the cache sees it: the arguments' types, static values and leaves.
class JitCall {
 public:
  JitCall(const void* type, SourceLoc where) : type_tag(type), loc(where) {}
  virtual bool same_arguments(const Structure& kept) const = 0;
  virtual Ref<const Structure> keep_arguments() const = 0;
  /// The flattened function, for tracing; keep_result() then returns the structure of its result.
  virtual FlatFunction& function() = 0;
  virtual Ref<const Structure> keep_result() const = 0;

  const void* const type_tag;  ///< of the arguments' types
  const SourceLoc loc;
  Leaves leaves;

 protected:
  ~JitCall() = default;
};
struct JitResult {
  std::vector<Array> values;
  Ref<const Structure> structure;
};

/// Makes the program of a call where that is more than the traced function: the maps over devices.
class ProgramMaker : public RefCounted {
 public:
  virtual Jaxpr make(FlatFunction& f) const = 0;
  /// Whether sharded arguments must have exactly the sharding that the program's map takes; otherwise they must only be on its devices.
  virtual bool is_one_map() const { return false; }
  /// Whether it leaves axes of its mesh to the partitioner, which follows the arguments' shardings over them.
  virtual bool follows_shardings() const { return false; }
};

/// The programs of one jitted function by the types, structures and static values of its arguments; shared by its copies.
class JitCache : public RefCounted {
 public:
  static Ref<JitCache> make(JitOptions options, std::string function, Ref<const ProgramMaker> maker = {});
  JitResult call(JitCall& c);
  /// The traced program, without running it.
  std::pair<Ref<Program>, Ref<const Structure>> program(JitCall& c);
};

template <class F, class... A>
class JitCallOf final : public JitCall {
 public:
  using Params = params_t<F, A...>;
  using Kept = kept_args_t<Params>;

  JitCallOf(F& f, SourceLoc where, const A&... args) : JitCallOf(f, where, std::index_sequence_for<A...>(), args...) {}
  bool same_arguments(const Structure& kept) const override {
    return detail::same_arguments(static_cast<const StructureOf<Kept>&>(kept).value, passed_);
  }
  Ref<const Structure> keep_arguments() const override { return new StructureOf<Kept>(detail::keep_arguments<Kept>(passed_)); }
  FlatFunction& function() override {
    std::apply([&](const A&... args) { flat_.emplace(f_, loc, args...); }, args_);
    return *flat_;
  }
  Ref<const Structure> keep_result() const override { return keep_structure(*flat_->out); }

 private:
  template <std::size_t... I>
  JitCallOf(F& f, SourceLoc where, std::index_sequence<I...>, const A&... args)
      : JitCall(&detail::type_tag<Params>, where), f_(f), args_(args...), passed_(pass_as<std::tuple_element_t<I, Params>>(args)...) {
    (for_each_leaf(std::get<I>(passed_), [&](const Array& x) { leaves.push_back(x); }), ...);
  }
  template <class... P>
  static std::tuple<decltype(pass_as<P>(std::declval<const A&>()))...> passed_types(const std::tuple<P...>*);

  F& f_;
  std::tuple<const A&...> args_;
  decltype(passed_types(static_cast<const Params*>(nullptr))) passed_;  // references, or what numbers were converted to
  std::optional<FlatCall<F, A...>> flat_;
};

template <class F>
class Jit : public Callable<Jit<F>> {
 public:
  using weft_inner = F;
  Jit(F f, JitOptions options) : f_(std::move(f)), cache_(JitCache::make(std::move(options), name_of_function<F>())) {}
  Jit(F f, Ref<JitCache> cache) : f_(std::move(f)), cache_(std::move(cache)) {}
  template <class... A>
  out_t<F, A...> call(SourceLoc loc, const A&... args) const {
    if (jit_is_disabled()) {
      FlatCall<F, A...> flat(f_, loc, args...);
      const std::vector<Array> results = flat.run(flat.args);
      return flat.make_result(results);
    }
    return call_compiled(loc, args...);
  }
  /// Runs the compiled program, also in a disable_jit scope.
  template <class... A>
  out_t<F, A...> call_compiled(SourceLoc loc, const A&... args) const {
    using Out = out_t<F, A...>;
    JitCallOf<F, A...> c(f_, loc, args...);
    JitResult r = cache_->call(c);
    if constexpr (std::is_same_v<Out, Array>)
      return std::move(r.values[0]);
    else
      return with_leaves(static_cast<const StructureOf<Out>&>(*r.structure).value, std::span<const Array>(r.values));
  }
  /// Traces for arguments of these types; arrays may be ShapeDtypeStructs (jax.jit(f).trace).
  template <class... A>
  auto trace(const A&... args) const {
    return typename StageOf<Traced, out_t<F, A...>, params_t<F, A...>>::type(stage(args...));
  }
  /// Traces and lowers (jax.jit(f).lower).
  template <class... A>
  auto lower(const A&... args) const {
    return typename StageOf<Lowered, out_t<F, A...>, params_t<F, A...>>::type(stage(args...));
  }

 private:
  template <class... A>
  auto stage(const A&... args) const {
    using Out = out_t<F, A...>;
    using Params = params_t<F, A...>;
    JitCallOf<F, A...> c(f_, {}, args...);
    auto [program, result] = cache_->program(c);
    using Arguments = StructureOf<kept_args_t<Params>>;
    return
        typename StageOf<Stage, Out, Params>::type{program, Ref<const Arguments>(static_cast<const Arguments*>(c.keep_arguments().get())),
                                                   Ref<const StructureOf<Out>>(static_cast<const StructureOf<Out>*>(result.get()))};
  }
  mutable F f_;
  KeptRef<JitCache> cache_;
};

}  // namespace detail

/// The function compiled as a whole, once for each combination of shapes, dtypes, tree structures and static values (jax.jit). What it
/// captures is read when it is traced. Copies share what is compiled.
template <class F = UnaryFunction>
detail::Jit<F> jit(F f, JitOptions options = {}) {
  return detail::Jit<F>(std::move(f), std::move(options));
}
template <std::same_as<BinaryFunction> F = BinaryFunction>
detail::Jit<F> jit(F f, JitOptions options = {}) {
  return detail::Jit<F>(f, std::move(options));
}

/// As long as the variable lives, jitted functions called on this thread are not compiled but run step by step (jax.disable_jit).
Scope disable_jit();

WEFT_GIVES_A_FUNCTION(jit)

}  // namespace weft
