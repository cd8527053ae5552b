// Progress bars for loops: those of the host, and those of compiled programs.
#pragma once
#include <string>

#include "weft/runtime/host/progress_bars.h"
#include "weft/transforms/flat.h"

namespace weft {

/// Options of progress.
struct ProgressOptions {
  std::optional<Int> total = {};  ///< steps of the loop; absent: as many as the range has, or as the loop is traced with
};

namespace detail {

/// The range of the whole numbers from 0 up.
struct Counting {
  std::int64_t count;
  struct Iterator {
    std::int64_t at;
    std::int64_t operator*() const { return at; }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    friend bool operator==(Iterator, Iterator) = default;
  };
  Iterator begin() const { return {0}; }
  Iterator end() const { return {count}; }
  std::int64_t size() const { return count; }
};

/// The range that `for (auto x : progress(range, "name"))` iterates over. Its destructor ends the bar.
template <class R>
class ProgressRange {
 public:
  template <class It, class End>
  class Iterator {
   public:
    Iterator(It at, End end, ProgressRange& range) : at_(std::move(at)), end_(std::move(end)), range_(range) {}
    decltype(auto) operator*() { return *at_; }
    Iterator& operator++() {
      ++at_;
      if (range_.bar_) advance_progress(*range_.bar_);
      return *this;
    }
    struct Sentinel {};
    bool is_at_end() const {
      if (!(at_ == end_)) return false;
      range_.complete_ = true;
      return true;
    }
    friend bool operator==(const Iterator& a, Sentinel) { return a.is_at_end(); }

   private:
    It at_;
    End end_;
    ProgressRange& range_;
  };

  ProgressRange(R range, const std::string& name, std::int64_t total)
      : range_(static_cast<R&&>(range)), bar_(begin_progress(name, total)) {}
  ProgressRange(const ProgressRange&) = delete;
  ProgressRange& operator=(const ProgressRange&) = delete;
  ~ProgressRange() {
    if (bar_) end_progress(*bar_, complete_);
  }
  auto begin() { return make(); }
  auto end() { return typename decltype(make())::Sentinel{}; }

 private:
  auto make() {
    using std::begin, std::end;
    return Iterator<decltype(begin(range_)), decltype(end(range_))>(begin(range_), end(range_), *this);
  }
  R range_;
  KeptRef<ProgressBar> bar_;
  bool complete_ = false;
};

namespace ranges {
using std::begin;
/// The view over which a loop iterates; arrays are iterated by rows.
template <class R>
concept Loop = requires(R& r) { begin(r); };
}  // namespace ranges
template <class R>
concept LoopRange = ranges::Loop<R>;
template <class R>
std::int64_t steps_of(const R& range, const ProgressOptions& options) {
  if (options.total) return *options.total;
  if constexpr (std::is_same_v<R, Array>)
    return range.ndim() > 0 ? range.shape()[0] : -1;
  else if constexpr (requires { std::size(range); })
    return static_cast<std::int64_t>(std::size(range));
  else
    return -1;
}

/// The bars of one loop's body: one for each device that runs it.
struct LoopProgress : RefCounted {
  static Ref<LoopProgress> make(const std::string& name, const ProgressOptions& options);
  /// Traces an operation that counts a step each time that the program reaches it; none where progress is switched off.
  void trace_step(SourceLoc loc);
};

template <class F>
class ProgressBody : public Callable<ProgressBody<F>> {
 public:
  using weft_inner = F;
  ProgressBody(F f, const std::string& name, const ProgressOptions& options)
      : f_(std::move(f)), progress_(LoopProgress::make(name, options)) {}
  template <class... A>
  auto call(SourceLoc loc, const A&... args) const {
    progress_->trace_step(loc);
    return calling_user([&] { return f_(args...); });
  }

 private:
  mutable F f_;
  KeptRef<LoopProgress> progress_;
};

}  // namespace detail

/// `for (auto x : progress(batches, "training"))`: the same loop, with its progress, rate and remaining time on stderr: a bar on a
/// terminal, elsewhere a line from time to time and at the end. A loop that is left by break or an exception shows where. Any number of
/// loops in any threads may be shown at a time. WEFT_PROGRESS=0 switches it off; `lines` and `bars` choose the form.
template <class R>
  requires(detail::LoopRange<R> && !std::is_integral_v<std::remove_cvref_t<R>>)
detail::ProgressRange<R> progress(R&& range, const std::string& name, const ProgressOptions& options = {}) {
  const std::int64_t total = detail::steps_of(range, options);
  return {static_cast<R&&>(range), name, total};
}
/// `for (auto i : progress(1000, "training"))`: i from 0 to 999.
template <detail::WholeNumber T>
detail::ProgressRange<detail::Counting> progress(T count, const std::string& name, const ProgressOptions& options = {}) {
  const detail::Counting range{std::max<std::int64_t>(Int(count), 0)};
  return {range, name, detail::steps_of(range, options)};
}
/// A loop's body that reports each of its steps when the program runs: `scan(progress(step, "training"), state, batches)`, and the same for
/// fori_loop, while_loop's body and map. The number of steps is the loop's where that is known when it is traced, else `{.total = n}`;
/// without either, only the count and the rate are shown. Under pmap and shard_map each device has a bar of its own; under vmap a step of
/// all lanes counts once, and of derivatives the forward pass counts. Where WEFT_PROGRESS is 0 when it is traced, nothing is added to the
/// body.
template <class F>
  requires(!detail::LoopRange<F> && !std::is_integral_v<F>)
detail::ProgressBody<F> progress(F body, const std::string& name, const ProgressOptions& options = {}) {
  return {std::move(body), name, options};
}

}  // namespace weft
