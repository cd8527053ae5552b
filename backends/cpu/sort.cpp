// Sorting and top_k by unsigned codes in the order of the numbers. A single array of numbers is sorted as codes alone; several arrays, or
// numbers of which different ones count as equal (-0 and 0, NaNs), are ordered by codes with positions, and then fetched.
#include <algorithm>
#include <atomic>

#include <limits>
#include <type_traits>

#include "weft/backends/common/native_step.h"
#include "weft/backends/cpu/radix_sort.h"
#include "weft/backends/cpu/scratch.h"
#include "weft/backends/cpu/sorting/networks.h"
#include "weft/core/array/storage.h"
#include "weft/core/ops/movement/sort.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kFew = 96;              // so many records are sorted by comparisons
constexpr std::int64_t kMostOfNetwork = 1024;  // longer lines are sorted one by one

template <class T>
using UnsignedOf =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
constexpr UnsignedOf<T> kSign = static_cast<UnsignedOf<T>>(UnsignedOf<T>{1} << (8 * sizeof(T) - 1));
template <class T>
constexpr UnsignedOf<T> kInfinity = 0;
template <>
constexpr std::uint16_t kInfinity<Float16> = 0x7c00;
template <>
constexpr std::uint16_t kInfinity<BFloat16> = 0x7f80;
template <>
constexpr std::uint32_t kInfinity<float> = 0x7f800000;
template <>
constexpr std::uint64_t kInfinity<double> = 0x7ff0000000000000;

/// The code of a number's bits. Floating codes of all NaNs are the greatest, those of -0 and 0 are equal.
template <class T, class U = UnsignedOf<T>>
U code_of(U bits) {
  if constexpr (is_floating_storage<T>) {
    const U magnitude = static_cast<U>(bits & ~kSign<T>);
    if (magnitude > kInfinity<T>) return static_cast<U>(~U{0});
    if (magnitude == 0) return kSign<T>;
    return static_cast<U>(bits & kSign<T> ? ~bits : bits | kSign<T>);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<U>(bits ^ kSign<T>);
  } else {
    return bits;
  }
}
/// Whether the bits can't be had back from the code.
template <class T, class U = UnsignedOf<T>>
bool is_lost(U bits) {
  if constexpr (is_floating_storage<T>) return static_cast<U>(bits & ~kSign<T>) > kInfinity<T> || bits == kSign<T>;
  return false;
}
template <class T, class U = UnsignedOf<T>>
U bits_of(U code) {
  if constexpr (is_floating_storage<T>) return static_cast<U>(code & kSign<T> ? code & ~kSign<T> : ~code);
  if constexpr (std::is_signed_v<T>) return static_cast<U>(code ^ kSign<T>);
  return code;
}

/// The lines of an array along one dimension: element i of line l is at base(l) + i * stride.
struct Lines {
  Lines(const Shape& shape, int dim) : length(shape[dim]) {
    for (int d = dim + 1; d < shape.size(); ++d) stride *= shape[d];
    count = shape.num_elements() / length;
  }
  std::int64_t base(std::int64_t line) const { return line / stride * stride * length + line % stride; }
  std::int64_t length, stride = 1, count = 0;
};

/// Calls f(first, last) for ranges of [0, n) that are cut by the numbers alone, each of about the given cost in elements.
template <class F>
void in_ranges(std::int64_t n, std::int64_t elements_each, F&& f) {
  const std::int64_t step = std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(elements_each, 1));
  const std::int64_t tasks = (n + step - 1) / step;
  if (tasks <= 1) return f(std::int64_t{0}, n);
  parallel_for(tasks, [&](std::int64_t i) { f(i * step, std::min(n, (i + 1) * step)); });
}

using Record = std::uint64_t;  // a code of 32 bits over a position
struct WideRecord {
  std::uint64_t code;
  std::uint32_t position;
};
std::uint64_t key_of(const WideRecord& r) { return r.code; }
std::uint64_t key_of(Record r) { return r; }
bool is_before(const WideRecord& a, const WideRecord& b) { return a.code != b.code ? a.code < b.code : a.position < b.position; }
bool is_before(Record a, Record b) { return a < b; }

template <class R>
R* sort_records(R* a, R* spare, std::int64_t n, int first_bit, int bits) {
  return radix_sort(a, spare, n, first_bit, bits, [](const R& r) { return key_of(r); });
}

/// One part of a key: a number in each element.
struct KeyPart {
  std::size_t operand = 0;
  DType dtype = float32;              ///< a real one
  std::int64_t step = 1, offset = 0;  ///< 2 and 0 or 1: the parts of complex numbers
};
template <class F>
decltype(auto) with_key_type(DType dtype, F&& f) {
  return with_storage(dtype, [&]<class T>() {
    if constexpr (is_complex_storage<T>)
      return f.template operator()<float>();  // not reached: keys are real
    else
      return f.template operator()<T>();
  });
}

class SortStep final : public NativeStep {
 public:
  SortStep(const Sort::Params& p, std::span<const Aval> operands) : lines_(operands[0].shape, p.dimension) {
    for (const Aval& a : operands) sizes_.push_back(a.dtype.itemsize());
    for (std::size_t k = 0; k < static_cast<std::size_t>(p.num_keys); ++k) {
      const DType t = operands[k].dtype;
      if (t.is_complex()) {
        const DType part = t == complex64 ? float32 : float64;
        keys_.push_back({k, part, 2, 0});
        keys_.push_back({k, part, 2, 1});
      } else {
        keys_.push_back({k, t, 1, 0});
      }
    }
    alone_ = operands.size() == 1 && !operands[0].dtype.is_complex();
    if (keys_.size() != 1 || lines_.length < 2 || lines_.length > kMostOfNetwork) return;
    if (!alone_ && keys_[0].dtype.itemsize() > 4) return;
    side_by_side_ = with_column_sorter([&](const auto& sorter) { return 2 * lines_.count >= sorter.lanes ? sorter.lanes : 0; });
    if (side_by_side_ > 0) network_ = sorting_network(lines_.length);
  }

  void run(std::span<void* const> addresses) const override {
    if (side_by_side_ > 0) {
      const std::int64_t blocks = (lines_.count + side_by_side_ - 1) / side_by_side_;
      return in_ranges(blocks, side_by_side_ * lines_.length, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t b = first; b < last; ++b)
          sort_block(addresses, b * side_by_side_, std::min(side_by_side_, lines_.count - b * side_by_side_));
      });
    }
    run_singly(addresses, 0, lines_.count);
  }

 private:
  void run_singly(std::span<void* const> addresses, std::int64_t from, std::int64_t to) const {
    in_ranges(to - from, lines_.length, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t line = from + first; line < from + last; ++line) {
        const std::int64_t base = lines_.base(line);
        const bool done = alone_ && with_key_type(keys_[0].dtype, [&]<class T>() {
                            return sort_codes<T>(static_cast<const UnsignedOf<T>*>(addresses[0]) + base,
                                                 static_cast<UnsignedOf<T>*>(addresses[1]) + base);
                          });
        if (!done) sort_by_records(addresses, base);
      }
    });
  }

  /// f of the processor's sorter for the codes of this array's elements; 0 where it has none.
  template <class F>
  std::int64_t with_column_sorter(F&& f) const {
    const auto of = [&](const auto* sorter) { return sorter ? f(*sorter) : std::int64_t{0}; };
    if (!alone_) return of(column_sorter<Record>());
    return with_key_type(keys_[0].dtype, [&]<class T>() { return of(column_sorter<UnsignedOf<T>>()); });
  }

  /// Calls f(line, element) for the elements of `count` lines from `first` on, in the order in which they are in memory.
  template <class F>
  void for_elements(std::int64_t count, F&& f) const {
    if (lines_.stride == 1) {
      for (std::int64_t line = 0; line < count; ++line)
        for (std::int64_t i = 0; i < lines_.length; ++i) f(line, i);
    } else {
      for (std::int64_t i = 0; i < lines_.length; ++i)
        for (std::int64_t line = 0; line < count; ++line) f(line, i);
    }
  }

  /// Lines that are sorted side by side, each in one lane.
  void sort_block(std::span<void* const> addresses, std::int64_t first, std::int64_t count) const {
    const Scratch<std::int64_t> bases(side_by_side_);
    for (std::int64_t line = 0; line < count; ++line) bases[line] = lines_.base(first + line);
    const auto place = [&](std::int64_t line, std::int64_t i) { return bases[line] + i * lines_.stride; };
    with_key_type(keys_[0].dtype, [&]<class T>() {
      using U = UnsignedOf<T>;
      const U* in = static_cast<const U*>(addresses[keys_[0].operand]);
      if (!alone_) {
        const Scratch<Record> columns(lines_.length * side_by_side_);
        sort_columns(columns, count, [&](std::int64_t line, std::int64_t i) {
          return Record{code_of<T>(in[place(line, i)])} << 32 | static_cast<Record>(i);
        });
        return fetch_all(addresses, [&](const auto* from, auto* to) {
          for_elements(count, [&](std::int64_t line, std::int64_t i) {
            to[place(line, i)] = from[place(line, position(columns[i * side_by_side_ + line]))];
          });
        });
      }
      const Scratch<U> columns(lines_.length * side_by_side_);
      bool lost = false;
      sort_columns(columns, count, [&](std::int64_t line, std::int64_t i) {
        const U bits = in[place(line, i)];
        lost |= is_lost<T>(bits);
        return code_of<T>(bits);
      });
      if (lost) return run_singly(addresses, first, first + count);
      U* out = static_cast<U*>(addresses[1]);
      for_elements(count, [&](std::int64_t line, std::int64_t i) { out[place(line, i)] = bits_of<T>(columns[i * side_by_side_ + line]); });
    });
  }
  template <class U, class F>
  void sort_columns(const Scratch<U>& columns, std::int64_t count, F&& number) const {
    // Lanes without a line.
    if (count < side_by_side_) std::fill_n(columns.get(), lines_.length * side_by_side_, U{0});
    for_elements(count, [&](std::int64_t line, std::int64_t i) { columns[i * side_by_side_ + line] = number(line, i); });
    column_sorter<U>()->sort(columns.get(), network_.data(), static_cast<std::int64_t>(network_.size()));
  }

  /// False where the numbers can't be recovered from the codes.
  template <class T, class U = UnsignedOf<T>>
  bool sort_codes(const U* in, U* out) const {
    const std::int64_t n = lines_.length, stride = lines_.stride;
    const Scratch<U> memory(2 * n);
    U *codes = memory.get(), *spare = codes + n;
    std::atomic<bool> lost{false};
    in_ranges(n, 1, [&](std::int64_t first, std::int64_t last) {
      bool any = false;
      for (std::int64_t i = first; i < last; ++i) {
        const U bits = in[i * stride];
        any |= is_lost<T>(bits);
        codes[i] = code_of<T>(bits);
      }
      if (any) lost.store(true, std::memory_order_relaxed);
    });
    if (lost.load()) return false;
    if (n <= kFew)
      std::sort(codes, codes + n);
    else
      codes = radix_sort(codes, spare, n, 0, 8 * static_cast<int>(sizeof(U)), [](U u) { return u; });
    in_ranges(n, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) out[i * stride] = bits_of<T>(codes[i]);
    });
    return true;
  }

  void sort_by_records(std::span<void* const> addresses, std::int64_t base) const {
    if (keys_.size() == 1 && keys_[0].dtype.itemsize() <= 4)
      order_line<Record>(addresses, base);
    else
      order_line<WideRecord>(addresses, base);
  }

  template <class R>
  void order_line(std::span<void* const> addresses, std::int64_t base) const {
    const std::int64_t n = lines_.length, stride = lines_.stride;
    const Scratch<R> memory(2 * n);
    R *records = memory.get(), *spare = records + n;
    // The last key first: each pass keeps the order of those behind it.
    for (std::size_t k = keys_.size(); k-- > 0;) {
      const KeyPart& key = keys_[k];
      const bool ordered = k + 1 < keys_.size();
      with_key_type(key.dtype, [&]<class T>() {
        const auto* in = static_cast<const UnsignedOf<T>*>(addresses[key.operand]) + base * key.step + key.offset;
        in_ranges(n, 1, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) {
            if constexpr (std::is_same_v<R, Record>) {
              records[i] = Record{code_of<T>(in[i * stride])} << 32 | static_cast<Record>(i);
            } else {
              const std::uint32_t at = ordered ? records[i].position : static_cast<std::uint32_t>(i);
              records[i] = {code_of<T>(in[at * stride * key.step]), at};
            }
          }
        });
      });
      const int bits = 8 * key.dtype.itemsize();
      if (n <= kFew && keys_.size() == 1) {
        std::sort(records, records + n, [](const R& a, const R& b) { return is_before(a, b); });
      } else if (R* sorted = sort_records(records, spare, n, std::is_same_v<R, Record> ? 32 : 0, bits); sorted != records) {
        std::swap(records, spare);
      }
    }
    fetch_all(addresses, [&](const auto* all_from, auto* all_to) {
      const auto* from = all_from + base;
      auto* to = all_to + base;
      in_ranges(n, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) to[i * stride] = from[position(records[i]) * stride];
      });
    });
  }
  /// Calls copy(from, to) for each operand and its result, as elements of its size.
  template <class F>
  void fetch_all(std::span<void* const> addresses, F&& copy) const {
    for (std::size_t k = 0; k < sizes_.size(); ++k) {
      const auto fetch = [&]<class E>() { copy(static_cast<const E*>(addresses[k]), static_cast<E*>(addresses[sizes_.size() + k])); };
      switch (sizes_[k]) {
        case 1: fetch.template operator()<std::uint8_t>(); break;
        case 2: fetch.template operator()<std::uint16_t>(); break;
        case 4: fetch.template operator()<std::uint32_t>(); break;
        case 8: fetch.template operator()<std::uint64_t>(); break;
        default: fetch.template operator()<std::complex<double>>();
      }
    }
  }
  static std::int64_t position(Record r) { return static_cast<std::int64_t>(r & 0xffffffff); }
  static std::int64_t position(const WideRecord& r) { return r.position; }

  Lines lines_;
  std::vector<int> sizes_;  // in bytes, of each operand's elements
  std::vector<KeyPart> keys_;
  bool alone_ = false;
  std::int64_t side_by_side_ = 0;  // lines that are sorted at a time by the network; 0: each by itself
  std::vector<Comparators> network_;
};

/// Records in the opposite order of their codes, the first of equal ones first.
class TopKStep final : public NativeStep {
 public:
  TopKStep(const TopKLargest::Params& p, const Aval& x)
      : dtype_(x.dtype), k_(p.k), lines_(x.shape, p.axis), out_(x.shape.with(p.axis, p.k), p.axis) {}

  void run(std::span<void* const> addresses) const override {
    with_key_type(dtype_, [&]<class T>() {
      using R = std::conditional_t<(sizeof(T) < 8), Record, WideRecord>;
      const auto* in = static_cast<const UnsignedOf<T>*>(addresses[0]);
      in_ranges(lines_.count, lines_.length, [&](std::int64_t first, std::int64_t last) {
        const Scratch<R> memory(2 * lines_.length);
        for (std::int64_t line = first; line < last; ++line) {
          const auto* from = in + lines_.base(line);
          const R* sorted = choose<T>(from, memory.get());
          auto* values = static_cast<UnsignedOf<T>*>(addresses[1]) + out_.base(line);
          auto* positions = static_cast<std::int32_t*>(addresses[2]) + out_.base(line);
          for (std::int64_t i = 0; i < k_; ++i) {
            std::uint32_t at = 0;
            if constexpr (std::is_same_v<R, Record>)
              at = static_cast<std::uint32_t>(sorted[i]);
            else
              at = sorted[i].position;
            values[i * out_.stride] = from[at * lines_.stride];
            positions[i * out_.stride] = static_cast<std::int32_t>(at);
          }
        }
      });
    });
  }

 private:
  /// The records of the largest, in their order, in front of what `records` points to, which has room for two of each element.
  template <class T, class R>
  const R* choose(const UnsignedOf<T>* from, R* records) const {
    using U = UnsignedOf<T>;
    const std::int64_t n = lines_.length, stride = lines_.stride;
    const auto record = [&](std::int64_t i, U code) {
      if constexpr (std::is_same_v<R, Record>)
        return Record{code} << 32 | static_cast<Record>(i);
      else
        return R{code, static_cast<std::uint32_t>(i)};
    };
    const auto code = [&](std::int64_t i) { return static_cast<U>(~code_of<T>(from[i * stride])); };
    const auto less = [](const R& a, const R& b) { return is_before(a, b); };
    if (k_ == 0) return records;
    if (8 * k_ > n || n <= kShort) {
      for (std::int64_t i = 0; i < n; ++i) records[i] = record(i, code(i));
      if (n > kFew) return sort_records(records, records + n, n, std::is_same_v<R, Record> ? 32 : 0, 8 * static_cast<int>(sizeof(T)));
      if (k_ < n) std::nth_element(records, records + k_, records + n, less);
      std::sort(records, records + k_, less);
      return records;
    }
    // In most pieces of the line no element is larger than the least of those that were chosen before, which is seen by one comparison
    // each. Few are kept in order, so that the least is always known; of many it is found again whenever as many more have come.
    const bool few = k_ <= kFewKept;
    const std::int64_t room = std::min(n, k_ + std::max<std::int64_t>(k_, kRoom));
    std::int64_t kept = 0, at = 0;
    for (; at < std::min(n, 2 * k_ + kPart); ++at) records[kept++] = record(at, code(at));
    const auto keep_best = [&] {
      std::nth_element(records, records + k_ - 1, records + kept, less);
      kept = k_;
    };
    const auto last_code = [&] {
      const auto key = key_of(records[k_ - 1]);
      return static_cast<U>(~static_cast<U>(std::is_same_v<R, Record> ? key >> 32 : key));
    };
    keep_best();
    if (few) std::sort(records, records + k_, less);
    U least = last_code();
    const auto look_at = [&](std::int64_t end) {
      for (; at < end; ++at) {
        if (code_of<T>(from[at * stride]) <= least) continue;
        const R r = record(at, code(at));
        if (few) {
          std::int64_t place = k_ - 1;
          for (; place > 0 && less(r, records[place - 1]); --place) records[place] = records[place - 1];
          records[place] = r;
          least = last_code();
        } else {
          records[kept++] = r;
          if (kept == room) keep_best(), least = last_code();
        }
      }
    };
    while (at < n) {
      const std::int64_t end = std::min(n, at + kPiece);
      if (end - at < kPiece || stride != 1) {
        look_at(end);
      } else if (!any_above<T, kPiece>(from + at, least)) {
        at = end;
      } else {
        while (at < end)
          if (any_above<T, kPart>(from + at, least))
            look_at(at + kPart);
          else
            at += kPart;
      }
    }
    if (kept > k_) keep_best();
    std::sort(records, records + k_, less);
    return records;
  }

  /// Whether some of the next `count` elements may have a greater code: by signed numbers in the order of the codes, but for NaNs.
  template <class T, std::int64_t count, class U = UnsignedOf<T>>
  static bool any_above(const U* from, U code) {
    using S = std::make_signed_t<U>;
    const auto least = static_cast<S>(code ^ kSign<T>);
    U any = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const U bits = from[i];
      if constexpr (is_floating_storage<T>) {
        const auto magnitude = static_cast<S>(bits & static_cast<U>(~kSign<T>));
        const auto ordered = static_cast<S>(bits) < 0 ? static_cast<S>(bits ^ static_cast<U>(~kSign<T>)) : static_cast<S>(bits);
        any |= static_cast<U>((ordered > least) | (magnitude > static_cast<S>(kInfinity<T>)));
      } else {
        const auto ordered = static_cast<S>(std::is_signed_v<T> ? bits : static_cast<U>(bits ^ kSign<T>));
        any |= static_cast<U>(ordered > least);
      }
    }
    return any != 0;
  }

  static constexpr std::int64_t kPiece = 64, kPart = 16, kRoom = 512, kFewKept = 32, kShort = 32;

  DType dtype_;
  std::int64_t k_;
  Lines lines_, out_;
};

bool fits(const Aval& x, int dim) { return x.shape[dim] < std::numeric_limits<std::int32_t>::max(); }

const Rule<NativeStepRules, Sort> sort_step([](const ParamsBase& params, std::span<const Aval> operands,
                                               std::span<const Aval>) -> std::unique_ptr<NativeStep> {
  const auto& p = params_as<Sort::Params>(params);
  if (!fits(operands[0], p.dimension)) return nullptr;
  return std::make_unique<SortStep>(p, operands);
});
const Rule<NativeStepRules, TopKLargest> top_k_step([](const ParamsBase& params, std::span<const Aval> operands,
                                                       std::span<const Aval>) -> std::unique_ptr<NativeStep> {
  const auto& p = params_as<TopKLargest::Params>(params);
  if (!fits(operands[0], p.axis)) return nullptr;
  return std::make_unique<TopKStep>(p, operands[0]);
});

}  // namespace

}  // namespace weft::detail
