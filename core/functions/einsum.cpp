// Einstein's summation: the equation is read into labels, each operand is brought to distinct labels, then pairs are contracted, in an
// order that costs little.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "weft/core/base/counted.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/contract.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr std::size_t kAllOrders = 5;  // operands of which every order is looked at
constexpr int kEllipsis = 256;  // labels: a letter's code, or kEllipsis + the position from the right of a dimension that `...` stands for

bool contains(const std::vector<int>& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
std::string name_of(int label) {
  return label < kEllipsis ? fmt::format("index '{}'", static_cast<char>(label))
                           : fmt::format("dimension -{} of '...'", label - kEllipsis + 1);
}

class Einsum {
 public:
  Einsum(const TextArg& equation, const std::vector<Arg>& operands)
      : text_(equation.str()), operands_(operands), loc_(effective_loc(equation.where())) {
    read();
  }

  Array run() {
    measure();
    promote();
    std::vector<Labelled> terms;
    for (std::size_t k = 0; k < operands_.size(); ++k) terms.push_back(distinct(k));
    for (std::size_t k = 0; k < terms.size(); ++k) sum_own(terms, k);
    while (terms.size() > 1) contract_cheapest(terms);
    return ordered(terms[0], output_, loc_);
  }

 private:
  template <class E>
  [[noreturn]] void fail(const std::string& problem) const {
    throw E(fmt::format("einsum(\"{}\"): {}", text_, problem), loc_);
  }

  /// Letters, with each `...` as kEllipsis alone.
  std::vector<int> read_term(std::string_view term) const {
    std::vector<int> labels;
    for (std::size_t i = 0; i < term.size(); ++i) {
      const char c = term[i];
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        labels.push_back(c);
      } else if (term.substr(i, 3) == "..." && !contains(labels, kEllipsis)) {
        labels.push_back(kEllipsis);
        i += 2;
      } else {
        fail<Error>(fmt::format("unexpected '{}' in \"{}\"; a term consists of letters and at most one '...'", c, term));
      }
    }
    return labels;
  }

  void read() {
    std::string bare;
    for (char c : text_)
      if (c != ' ') bare += c;
    const std::size_t arrow = bare.find("->");
    const std::string inputs = bare.substr(0, arrow);
    for (std::size_t begin = 0; begin <= inputs.size();) {
      const std::size_t end = std::min(inputs.find(',', begin), inputs.size());
      terms_.push_back(read_term(std::string_view(inputs).substr(begin, end - begin)));
      begin = end + 1;
    }
    if (terms_.size() != operands_.size())
      fail<ShapeError>(fmt::format("the equation has {} for {}; give one operand for each", counted(terms_.size(), "term"),
                                   counted(operands_.size(), "operand")));
    std::map<int, int> times;
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      expand(k);
      for (int label : terms_[k]) ++times[label];
    }
    for (int i = ellipsis_ - 1; i >= 0; --i) ellipsis_labels_.push_back(kEllipsis + i);
    if (arrow == std::string::npos) {
      output_ = ellipsis_labels_;
      for (auto [label, n] : times)
        if (label < kEllipsis && n == 1) output_.push_back(label);
      return;
    }
    for (int label : read_term(std::string_view(bare).substr(arrow + 2))) {
      if (label == kEllipsis) {
        output_.insert(output_.end(), ellipsis_labels_.begin(), ellipsis_labels_.end());
        continue;
      }
      if (times.count(label) == 0) fail<ShapeError>(fmt::format("{} of the result is in no operand", name_of(label)));
      if (contains(output_, label)) fail<ShapeError>(fmt::format("{} occurs twice in the result", name_of(label)));
      output_.push_back(label);
    }
  }

  /// Replaces `...` by labels for its dimensions, and checks the rank.
  void expand(std::size_t k) {
    std::vector<int>& labels = terms_[k];
    const int ndim = operands_[k].array().ndim(),
              letters = static_cast<int>(std::count_if(labels.begin(), labels.end(), [](int l) { return l != kEllipsis; }));
    const auto at = std::find(labels.begin(), labels.end(), kEllipsis);
    if (at == labels.end() ? letters != ndim : letters > ndim)
      fail<ShapeError>(
          fmt::format("operand {} is {}, but its term names {}", k, to_string(operands_[k].aval()), counted(letters, "dimension")));
    if (at == labels.end()) return;
    std::vector<int> spread;
    for (int i = ndim - letters - 1; i >= 0; --i) spread.push_back(kEllipsis + i);
    ellipsis_ = std::max(ellipsis_, ndim - letters);
    labels.insert(labels.erase(at), spread.begin(), spread.end());
  }

  void measure() {
    std::map<int, std::size_t> where_found;
    for (std::size_t k = 0; k < terms_.size(); ++k)
      for (std::size_t i = 0; i < terms_[k].size(); ++i) {
        const int label = terms_[k][i];
        const std::int64_t n = operands_[k].array().shape()[static_cast<int>(i)];
        const auto [at, is_new] = sizes_.emplace(label, n);
        if (is_new || (at->second == 1 && n != 1)) {
          at->second = n;
          where_found[label] = k;
        } else if (n != at->second && n != 1) {
          std::string all;
          for (const Arg& x : operands_) all += (all.empty() ? "" : ", ") + to_string(x.aval());
          fail<ShapeError>(fmt::format("{} has size {} in {} and size {} in {}; they must be equal, or 1{}", name_of(label), at->second,
                                       to_string(operands_[where_found[label]].aval()), n, to_string(operands_[k].aval()),
                                       operands_.size() > 2 ? "; operands: " + all : ""));
        }
      }
  }

  void promote() {
    WeakDType common = operands_[0].aval().weak_dtype();
    for (const Arg& x : operands_) common = promote_types(common, x.aval().weak_dtype());
    dtype_ = common.dtype;
  }

  /// An operand without dimensions of size 1 that broadcast, and with the diagonal in place of a label that occurs twice.
  Labelled distinct(std::size_t k) const {
    Labelled x{as_dtype(operands_[k].array(), dtype_), {}};
    std::vector<int> broadcast;
    for (std::size_t i = 0; i < terms_[k].size(); ++i) {
      if (x.array.shape()[static_cast<int>(i)] != sizes_.at(terms_[k][i]))
        broadcast.push_back(static_cast<int>(i));
      else
        x.labels.push_back(terms_[k][i]);
    }
    x.array = squeeze_axes(x.array, broadcast, loc_);
    for (std::size_t i = 0; i < x.labels.size(); ++i)
      for (std::size_t j = x.labels.size() - 1; j > i; --j)
        if (x.labels[i] == x.labels[j]) {
          x.array = diagonal(x.array, static_cast<int>(i), static_cast<int>(j));
          x.labels.erase(x.labels.begin() + static_cast<std::ptrdiff_t>(j));
        }
    return x;
  }

  /// The elements with equal positions along i and j, along i.
  Array diagonal(const Array& x, int i, int j) const {
    std::vector<std::int64_t> ones(static_cast<std::size_t>(x.ndim()), 1);
    const Shape flat(ones);
    const Array along_i = iota_array(int32, flat.with(i, x.shape()[i]), i, loc_),
                along_j = iota_array(int32, flat.with(j, x.shape()[j]), j, loc_);
    return sum_over(where(along_i == along_j, x, scalar_like(x, 0)), {j});
  }
  Array sum_over(const Array& x, const std::vector<int>& axes) const {
    return axes.empty() ? x : x.dtype().is_bool() ? reduce_or(x, axes, loc_) : reduce_sum(x, axes, loc_);
  }

  /// Labels that the result or a term other than `without` has.
  bool needed(const std::vector<Labelled>& terms, int label, std::size_t without, std::size_t and_without) const {
    if (contains(output_, label)) return true;
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (k != without && k != and_without && contains(terms[k].labels, label)) return true;
    return false;
  }

  void sum_own(std::vector<Labelled>& terms, std::size_t k) const {
    std::vector<int> axes, left;
    for (std::size_t i = 0; i < terms[k].labels.size(); ++i) {
      if (needed(terms, terms[k].labels[i], k, k))
        left.push_back(terms[k].labels[i]);
      else
        axes.push_back(static_cast<int>(i));
    }
    terms[k] = {sum_over(terms[k].array, axes), left};
  }

  /// The cost of contracting a pair, in multiplications at full speed. Sums of elementwise products are bound by memory, which counts for
  /// more than multiplications; matmuls are not.
  double cost(const std::vector<Labelled>& terms, std::size_t i, std::size_t j) const {
    double products = 1, result = 1, sizes[2] = {1, 1}, free[2] = {1, 1};
    for (const bool second : {false, true}) {
      const std::vector<int>&own = terms[second ? j : i].labels, &other = terms[second ? i : j].labels;
      for (int label : own) {
        const auto n = static_cast<double>(sizes_.at(label));
        const bool shared = contains(other, label);
        sizes[second] *= n;
        if (!shared) free[second] *= n;
        if (second && shared) continue;
        products *= n;
        if (needed(terms, label, i, j)) result *= n;
      }
    }
    return products * (1 + 16 / std::max(1.0, std::min(free[0], free[1]))) + 4 * (sizes[0] + sizes[1] + result);
  }

  /// The labels of a pair's product.
  std::vector<int> labels_of_pair(const std::vector<Labelled>& terms, std::size_t i, std::size_t j) const {
    std::vector<int> labels;
    for (const std::size_t k : {i, j})
      for (int label : terms[k].labels)
        if (!contains(labels, label) && needed(terms, label, i, j)) labels.push_back(label);
    return labels;
  }

  /// The cost of all terms in the best order, and the pair with which that order begins.
  double best_order(const std::vector<Labelled>& terms, std::size_t& a, std::size_t& b) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < terms.size(); ++i)
      for (std::size_t j = i + 1; j < terms.size(); ++j) {
        double all = cost(terms, i, j);
        if (terms.size() > 2 && terms.size() <= kAllOrders && all < least) {
          std::vector<Labelled> rest = terms;
          rest[i].labels = labels_of_pair(terms, i, j);
          rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(j));
          std::size_t x = 0, y = 1;
          all += best_order(rest, x, y);
        }
        if (all < least) least = all, a = i, b = j;
      }
    return least;
  }

  void contract_cheapest(std::vector<Labelled>& terms) const {
    std::size_t a = 0, b = 1;
    best_order(terms, a, b);
    std::vector<int> kept;
    bool sums = false;
    for (int label : terms[a].labels) {
      if (needed(terms, label, a, b))
        kept.push_back(label);
      else
        sums = true;  // in both: labels of one term alone are summed over before
    }
    terms[a] = sums ? contract_pair(terms[a], terms[b], kept, loc_) : multiply_pair(terms, a, b);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(b));
  }

  /// Nothing is summed over: an elementwise product, in the order of the result where possible, then in that of the other terms, with which
  /// it is summed over several dimensions at once if they are alike.
  Labelled multiply_pair(const std::vector<Labelled>& terms, std::size_t first, std::size_t second) const {
    const Labelled &a = terms[first], &b = terms[second];
    std::vector<int> labels;
    const auto append = [&](const std::vector<int>& list) {
      for (int label : list)
        if ((contains(a.labels, label) || contains(b.labels, label)) && !contains(labels, label)) labels.push_back(label);
    };
    append(output_);
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (k != first && k != second) append(terms[k].labels);
    append(a.labels), append(b.labels);
    auto aligned = [&](const Labelled& x) {
      std::vector<int> own, missing;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        if (contains(x.labels, labels[i]))
          own.push_back(labels[i]);
        else
          missing.push_back(static_cast<int>(i));
      }
      return own.empty() ? x.array : insert_axes(ordered(x, own, loc_), missing, loc_);
    };
    return {aligned(a) * aligned(b), labels};
  }

  const std::string& text_;
  const std::vector<Arg>& operands_;
  SourceLoc loc_;
  std::vector<std::vector<int>> terms_;
  std::vector<int> output_, ellipsis_labels_;
  int ellipsis_ = 0;
  std::map<int, std::int64_t> sizes_;
  DType dtype_ = float32;
};

}  // namespace

Array einsum_of(const TextArg& equation, const std::vector<Arg>& operands) {
  LocScope scope(equation.where());
  return Einsum(equation, operands).run();
}

}  // namespace weft::detail
