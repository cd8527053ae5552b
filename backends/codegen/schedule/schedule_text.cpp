#include "weft/backends/codegen/schedule/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <optional>

#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

std::string loop_names(const std::vector<int>& dims) {
  std::string s;
  for (int d : dims) s += fmt::format(" i{}", d);
  return s;
}

/// The step's words and numbers.
struct Statement {
  std::string_view text, name;
  std::vector<std::string_view> operands;
  std::map<std::string_view, std::int64_t> numbers;  ///< by the word in front of each
};

class Parser {
 public:
  Parser(const Kernel& k, int vector_bytes) : k_(k), vector_bytes_(vector_bytes) {
    for (int d : k.outer) s_.outer.push_back({d});
    for (const Nest& t : k.nests) {
      NestSchedule n;
      for (int d : t.parallel) n.parallel.push_back({d});
      for (int d : t.reduce) n.reduce.push_back({d});
      s_.nests.push_back(std::move(n));
    }
    blocks_.resize(k.dag.dims.size());
  }

  Schedule run(std::string_view steps) {
    for (std::size_t at = 0; at < steps.size();) {
      const std::size_t end = std::min(steps.find('\n', at), steps.size());
      const std::string_view line = steps.substr(at, end - at);
      at = end + 1;
      if (Statement st = words(line); !st.name.empty()) apply(st);
    }
    finish();
    s_.slack = expected_slack(k_, s_);
    check_schedule(s_, k_, vector_bytes_);
    return std::move(s_);
  }

 private:
  [[noreturn]] void wrong(const Statement& st, const std::string& why) const {
    throw CompileError(fmt::format("schedule: {}: step `{}`: {}", k_.name, st.text, why));
  }

  Statement words(std::string_view line) const {
    line = line.substr(0, line.find('#'));
    Statement st;
    std::vector<std::string_view> all;
    for (std::size_t at = line.find_first_not_of(" \t\r"); at != std::string_view::npos; at = line.find_first_not_of(" \t\r", at)) {
      const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
      all.push_back(line.substr(at, end - at));
      at = end;
    }
    if (all.empty()) return st;
    st.text = std::string_view(all.front().data(), static_cast<std::size_t>(all.back().data() + all.back().size() - all.front().data()));
    st.name = all[0];
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i] != "by" && all[i] != "into" && all[i] != "beyond") {
        st.operands.push_back(all[i]);
        continue;
      }
      std::int64_t n = 0;
      if (i + 1 == all.size() || !number(all[i + 1], n) || n < 1)
        wrong(st, fmt::format("`{}` must be followed by a number of at least 1", all[i]));
      if (!st.numbers.emplace(all[i], n).second) wrong(st, fmt::format("`{}` is given twice", all[i]));
      ++i;
    }
    return st;
  }

  static bool number(std::string_view word, std::int64_t& n) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
    return error == std::errc() && end == word.data() + word.size() && n < std::int64_t{1} << 40;
  }
  /// The number behind a letter or sign, below `limit`.
  int numbered(const Statement& st, std::string_view word, char letter, std::size_t limit, std::string_view what) const {
    std::int64_t n = -1;
    if (word.size() < 2 || word[0] != letter || !number(word.substr(1), n) || n < 0 || n >= static_cast<std::int64_t>(limit))
      wrong(st, fmt::format("`{}` is not {} of the kernel", word, what));
    return static_cast<int>(n);
  }

  std::vector<std::vector<LoopPlan>*> lists() {
    std::vector<std::vector<LoopPlan>*> all{&s_.outer};
    for (NestSchedule& n : s_.nests) all.push_back(&n.parallel), all.push_back(&n.reduce);
    return all;
  }
  std::vector<LoopPlan>& list_of(const Statement& st, std::string_view word) {
    const int dim = numbered(st, word, 'i', k_.dag.dims.size(), "a loop");
    for (std::vector<LoopPlan>* list : lists())
      for (const LoopPlan& l : *list)
        if (l.dim == dim) return *list;
    wrong(st, fmt::format("{} runs within a point, in order; its iterations can't be scheduled", word));
  }
  bool is_reducing(const std::vector<LoopPlan>& list) const {
    return std::any_of(s_.nests.begin(), s_.nests.end(), [&](const NestSchedule& n) { return &n.reduce == &list; });
  }
  LoopPlan& loop(const Statement& st, std::string_view word) {
    const int dim = numbered(st, word, 'i', k_.dag.dims.size(), "a loop");
    return *std::find_if(list_of(st, word).begin(), list_of(st, word).end(), [&](const LoopPlan& l) { return l.dim == dim; });
  }
  int argument(const Statement& st, std::string_view word) const { return numbered(st, word, 'a', k_.args.size(), "an argument"); }

  std::int64_t take(const Statement& st, std::string_view word, std::int64_t most) const {
    const auto found = st.numbers.find(word);
    if (found == st.numbers.end()) wrong(st, fmt::format("`{}` and a number are missing", word));
    if (found->second > most) wrong(st, fmt::format("{} is more than {}", found->second, most));
    return found->second;
  }
  void shape(const Statement& st, bool has_operands, std::initializer_list<std::string_view> numbers) const {
    if (has_operands && st.operands.empty()) wrong(st, "it does not say what it applies to");
    if (!has_operands && !st.operands.empty()) wrong(st, fmt::format("`{}` is not allowed here", st.operands[0]));
    for (const auto& [word, _] : st.numbers)
      if (std::find(numbers.begin(), numbers.end(), word) == numbers.end()) wrong(st, fmt::format("`{}` is not allowed here", word));
  }
  template <class T>
  void insert(const Statement& st, std::vector<T>& list, T what) const {
    const auto at = std::lower_bound(list.begin(), list.end(), what);
    if (at != list.end() && *at == what) wrong(st, "the schedule has this step already");
    list.insert(at, what);
  }

  void apply(const Statement& st) {
    struct Meaning {
      std::string_view name;
      void (Parser::*apply)(const Statement&);
    };
    static constexpr Meaning kMeanings[] = {
        {"reorder", &Parser::reorder},
        {"vectorize", &Parser::vectorize},
        {"unroll", &Parser::unroll},
        {"reduce_by_rows", &Parser::rows},
        {"peel", &Parser::peel},
        {"split", &Parser::split},
        {"partition_rows", &Parser::partition_rows},
        {"parallel", &Parser::parallel},
        {"transpose", &Parser::transpose},
        {"transpose_records", &Parser::records},
        {"stream", &Parser::stream},
        {"prefetch", &Parser::prefetch},
        {"prefetch_steps", &Parser::prefetch_steps},
        {"prefetch_gathered", &Parser::prefetch_gathered},
        {"prefetch_stored", &Parser::prefetch_stored},
        {"interleave", &Parser::interleave},
        {"call", &Parser::call},
        {"by_inverse", &Parser::by_inverse},
        {"join_records", &Parser::join},
        {"flatten_records", &Parser::flatten},
    };
    for (const Meaning& m : kMeanings)
      if (m.name == st.name) return (this->*m.apply)(st);
    std::string known;
    for (const Meaning& m : kMeanings) known += fmt::format("{}`{}`", known.empty() ? "" : ", ", m.name);
    wrong(st, "there is no such step; available: " + known);
  }

  void reorder(const Statement& st) {
    shape(st, true, {});
    std::vector<LoopPlan>& list = list_of(st, st.operands[0]);
    std::vector<LoopPlan> ordered;
    for (std::string_view word : st.operands) ordered.push_back(loop(st, word));
    const auto dims = [](const std::vector<LoopPlan>& loops) {
      std::vector<int> d;
      for (const LoopPlan& l : loops) d.push_back(l.dim);
      return d;
    };
    std::vector<int> given = dims(ordered), there = dims(list);
    const std::string names = loop_names(there);
    std::sort(given.begin(), given.end()), std::sort(there.begin(), there.end());
    if (given != there) wrong(st, fmt::format("it must name each of the loops{} once", names));
    list = std::move(ordered);
  }
  void vectorize(const Statement& st) {
    shape(st, true, {"by"});
    const auto lanes = static_cast<int>(take(st, "by", 64));
    if (s_.lanes != 1 && s_.lanes != lanes)
      wrong(st, fmt::format("other vectors of the kernel have {} lanes; all must have as many", s_.lanes));
    s_.lanes = lanes;
    for (std::string_view word : st.operands) {
      LoopPlan& l = loop(st, word);
      if (l.vector) wrong(st, "the schedule has this step already");
      l.vector = true;
      if (&list_of(st, word) == &s_.outer) {
        if (s_.vector_dim >= 0) wrong(st, fmt::format("i{} is run by vectors; one of the outer loops can be", s_.vector_dim));
        s_.vector_dim = l.dim;
      }
    }
  }
  void unroll(const Statement& st) {
    shape(st, true, {"by"});
    for (std::string_view word : st.operands) loop(st, word).unroll = static_cast<int>(take(st, "by", 4096));
  }
  void join(const Statement& st) {
    shape(st, true, {});
    for (std::string_view word : st.operands) {
      const LoopPlan& l = loop(st, word);
      if (l.vector || is_reducing(list_of(st, word))) wrong(st, fmt::format("{} is not a parallel loop over single elements", word));
      if (l.unroll != k_.dag.dims[static_cast<std::size_t>(l.dim)])
        wrong(st, fmt::format("i{} must be unrolled by {}, all of its iterations", l.dim, k_.dag.dims[static_cast<std::size_t>(l.dim)]));
      if (contains(s_.record_dims, l.dim)) wrong(st, "the schedule has this step already");
      s_.record_dims.push_back(l.dim);
    }
  }
  void flatten(const Statement& st) {
    shape(st, false, {});
    s_.flat_records = true;
  }
  void rows(const Statement& st) {
    shape(st, true, {});
    for (std::string_view word : st.operands) {
      const std::vector<LoopPlan>& list = list_of(st, word);
      const auto nest = std::find_if(s_.nests.begin(), s_.nests.end(), [&](const NestSchedule& n) { return &n.reduce == &list; });
      if (nest == s_.nests.end()) wrong(st, fmt::format("{} is not a reducing loop", word));
      nest->by_rows = true;
    }
  }
  void peel(const Statement& st) {
    shape(st, true, {});
    for (std::string_view word : st.operands) loop(st, word).peeled = true;
  }
  void split(const Statement& st) {
    shape(st, true, {"by"});
    for (std::string_view word : st.operands) {
      if (&list_of(st, word) != &s_.outer) wrong(st, fmt::format("{} is not an outer loop, which tasks are blocks of", word));
      blocks_[static_cast<std::size_t>(loop(st, word).dim)] = take(st, "by", std::int64_t{1} << 40);
    }
  }
  void partition_rows(const Statement& st) {
    shape(st, false, {"by", "into"});
    const std::int64_t rows = take(st, "by", 1 << 30), blocks = take(st, "into", 1 << 16);
    if (!std::has_single_bit(static_cast<std::uint64_t>(rows)) || !std::has_single_bit(static_cast<std::uint64_t>(blocks)))
      wrong(st, "both numbers must be powers of two");
    s_.row_bits = std::countr_zero(static_cast<std::uint64_t>(rows)), s_.num_blocks = blocks;
  }
  void parallel(const Statement& st) {
    shape(st, false, {"by"});
    s_.grain = take(st, "by", std::int64_t{1} << 40);
  }
  void transpose(const Statement& st) {
    shape(st, true, {});
    for (std::string_view word : st.operands) insert(st, s_.transposed, argument(st, word));
  }
  void records(const Statement& st) {
    shape(st, true, {"by"});
    s_.shuffled_record = static_cast<int>(take(st, "by", 64));
    for (std::string_view word : st.operands) insert(st, s_.records, argument(st, word));
  }
  void stream(const Statement& st) {
    shape(st, true, {});
    for (std::string_view word : st.operands) insert(st, s_.streamed, argument(st, word));
  }
  void prefetch(const Statement& st) {
    shape(st, false, {"by", "beyond"});
    s_.rows_ahead = static_cast<int>(take(st, "by", 1024)), s_.row_bytes = take(st, "beyond", std::int64_t{1} << 40);
  }
  void prefetch_steps(const Statement& st) {
    shape(st, false, {"by"});
    s_.steps_ahead = static_cast<int>(take(st, "by", 64));
  }
  void prefetch_gathered(const Statement& st) {
    shape(st, true, {"by"});
    s_.gathered_ahead = static_cast<int>(take(st, "by", 1024));
    for (std::string_view word : st.operands) insert(st, s_.gathered, argument(st, word));
  }
  void prefetch_stored(const Statement& st) {
    shape(st, true, {"by"});
    s_.stored_ahead = static_cast<int>(take(st, "by", 1 << 20));
    for (std::string_view word : st.operands) insert(st, s_.prepared, argument(st, word));
  }
  void interleave(const Statement& st) {
    shape(st, false, {"by"});
    s_.at_once = static_cast<int>(take(st, "by", 64));
  }
  void call(const Statement& st) {
    shape(st, true, {});
    for (std::string_view word : st.operands) {
      const auto node = std::find_if(k_.dag.nodes.begin(), k_.dag.nodes.end(),
                                     [&](const Node& n) { return n.kind == NodeKind::math && name_of(n.function) == word; });
      if (node == k_.dag.nodes.end()) wrong(st, fmt::format("the kernel has no function `{}`", word));
      insert(st, s_.called, node->function);
    }
  }
  void by_inverse(const Statement& st) {
    shape(st, true, {});
    for (std::string_view word : st.operands) insert(st, s_.by_inverse, numbered(st, word, '%', k_.dag.nodes.size(), "a value"));
  }

  void finish() {
    for (const LoopPlan& l : s_.outer) {
      const auto d = static_cast<std::size_t>(l.dim);
      if (!blocks_[d]) break;
      const std::int64_t block = *std::exchange(blocks_[d], std::nullopt);
      ++s_.task_loops;
      s_.block.push_back(block), s_.blocks.push_back((k_.dag.dims[d] + block - 1) / block);
      s_.num_blocks *= s_.blocks.back();
    }
    for (std::size_t d = 0; d < blocks_.size(); ++d)
      if (blocks_[d])
        throw CompileError(
            fmt::format("schedule: {}: step `split i{} by {}`: the loops outside of it must be split, too", k_.name, d, *blocks_[d]));
    if (s_.row_bits >= 0) s_.grain = -s_.grain;
  }

  const Kernel& k_;
  const int vector_bytes_;
  Schedule s_;
  std::vector<std::optional<std::int64_t>> blocks_;  // by loop
};

}  // namespace

std::string to_string(const Schedule& s, const Kernel& k) {
  std::string text;
  const auto line = [&](const std::string& step) { text += "  " + step + "\n"; };
  const auto order = [&](const std::vector<int>& dims, const std::vector<LoopPlan>& loops) {
    std::vector<int> ordered;
    for (const LoopPlan& l : loops) ordered.push_back(l.dim);
    if (ordered != dims) line("reorder" + loop_names(ordered));
  };
  std::vector<LoopPlan> all = s.outer;
  order(k.outer, s.outer);
  for (std::size_t i = 0; i < s.nests.size(); ++i) {
    order(k.nests[i].parallel, s.nests[i].parallel), order(k.nests[i].reduce, s.nests[i].reduce);
    all.insert(all.end(), s.nests[i].parallel.begin(), s.nests[i].parallel.end());
    all.insert(all.end(), s.nests[i].reduce.begin(), s.nests[i].reduce.end());
  }
  for (const LoopPlan& l : all)
    if (l.vector) line(fmt::format("vectorize i{} by {}", l.dim, s.lanes));
  for (const LoopPlan& l : all)
    if (l.unroll > 1) line(fmt::format("unroll i{} by {}", l.dim, l.unroll));
  if (!s.record_dims.empty()) line("join_records" + loop_names(s.record_dims));
  if (s.flat_records) line("flatten_records");
  for (const NestSchedule& n : s.nests)
    if (n.by_rows) line(fmt::format("reduce_by_rows i{}", n.reduce[0].dim));
  for (const LoopPlan& l : all)
    if (l.peeled) line(fmt::format("peel i{}", l.dim));
  for (std::size_t i = 0; i < s.block.size(); ++i) line(fmt::format("split i{} by {}", s.outer[i].dim, s.block[i]));
  if (s.row_bits >= 0) line(fmt::format("partition_rows by {} into {}", std::int64_t{1} << s.row_bits, s.num_blocks));
  if (s.grain != 0) line(fmt::format("parallel by {}", s.grain < 0 ? -s.grain : s.grain));
  const auto arguments = [&](std::string_view name, const std::vector<int>& list, const std::string& behind) {
    std::string words;
    for (int a : list) words += fmt::format(" a{}", a);
    if (!list.empty()) line(std::string(name) + words + behind);
  };
  arguments("transpose", s.transposed, "");
  arguments("transpose_records", s.records, fmt::format(" by {}", s.shuffled_record));
  arguments("stream", s.streamed, "");
  arguments("prefetch_gathered", s.gathered, fmt::format(" by {}", s.gathered_ahead));
  arguments("prefetch_stored", s.prepared, fmt::format(" by {}", s.stored_ahead));
  if (s.rows_ahead > 0) line(fmt::format("prefetch by {} beyond {}", s.rows_ahead, s.row_bytes));
  if (s.steps_ahead > 0) line(fmt::format("prefetch_steps by {}", s.steps_ahead));
  if (s.at_once > 0) line(fmt::format("interleave by {}", s.at_once));
  for (const MathFunction f : s.called) line(fmt::format("call {}", name_of(f)));
  for (const NodeId n : s.by_inverse) line(fmt::format("by_inverse %{}", n));
  return text;
}

Schedule parse_schedule(std::string_view steps, const Kernel& k, int vector_bytes) { return Parser(k, vector_bytes).run(steps); }

std::string schedules_text(const std::vector<Kernel>& kernels, const std::vector<Schedule>& schedules) {
  std::string text;
  for (std::size_t i = 0; i < kernels.size(); ++i) text += kernels[i].name + ":\n" + to_string(schedules[i], kernels[i]);
  return text;
}

void state_schedules(std::string_view text, const std::vector<Kernel>& kernels, int vector_bytes, std::vector<Schedule>& schedules) {
  std::vector<std::string> steps(kernels.size());
  std::vector<char> named(kernels.size());
  std::size_t open = kernels.size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view whole = text.substr(at, end - at);
    at = end + 1;
    const std::string_view line = whole.substr(0, whole.find('#'));
    const std::size_t first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r");
    if (first == std::string_view::npos) continue;
    if (line[last] != ':') {
      if (open == kernels.size())
        throw CompileError(
            fmt::format("schedule: `{}` comes before the name of a kernel (`kernel0:`)", line.substr(first, last - first + 1)));
      steps[open].append(line).append("\n");
      continue;
    }
    const std::string_view name = line.substr(first, last - first);
    const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == name; });
    if (found == kernels.end()) {
      std::string known;
      for (const Kernel& k : kernels) known += fmt::format("{}`{}`", known.empty() ? "" : ", ", k.name);
      throw CompileError(
          fmt::format("schedule: the program has no kernel `{}`; {}", name, known.empty() ? "it has none" : "available: " + known));
    }
    open = static_cast<std::size_t>(found - kernels.begin());
    if (std::exchange(named[open], 1)) throw CompileError(fmt::format("schedule: {} has two lists of steps", name));
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!named[i]) continue;
    schedules[i] = parse_schedule(steps[i], kernels[i], vector_bytes);
    check_bounds(kernels[i]);
  }
}

}  // namespace weft::detail
