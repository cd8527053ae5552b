#include "weft/frontends/stablehlo/gspmd/to_shardy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/core/errors/error.h"
#include "weft/frontends/stablehlo/gspmd/axes.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

constexpr std::int64_t kMostDevices = 1 << 20;
constexpr std::string_view kCall = "func.call", kCustomCall = "stablehlo.custom_call";
constexpr const char* kMesh = "gspmd";  // the name of the mesh that the module then has

void add(Attribute& to, const char* key, Attribute value) {
  to.keys.emplace_back(key);
  to.items.push_back(std::move(value));
}
Attribute list_of(const std::vector<std::string>& names, Place place) {
  Attribute list(Kind::list, place);
  for (const std::string& name : names) list.items.emplace_back(Kind::string, place, name);
  return list;
}
Attribute list_of(const std::vector<std::int64_t>& numbers, Place place) {
  Attribute list(Kind::list, place);
  for (const std::int64_t n : numbers) {
    Attribute a(Kind::integer, place);
    a.integer = n, a.real = static_cast<double>(n);
    list.items.push_back(std::move(a));
  }
  return list;
}

const Attribute* hlo_sharding_of(const Attribute& attributes) {
  const Attribute* a = attributes.find("mhlo.sharding");
  return a && a->kind == Kind::string ? a : nullptr;
}

std::string_view target_of(const Operation& op) {
  if (op.name != kCustomCall) return {};
  const Attribute* a = op.attributes.find("call_target_name");
  for (const Attribute& w : op.words)
    if (!a && w.kind == Kind::symbol) a = &w;
  return a ? std::string_view(a->text) : std::string_view();
}

/// What a sharding says, along the axes of the module's mesh.
struct Axes {
  std::vector<std::vector<std::string>> dims;
  std::vector<std::string> manual, unreduced;
};

class Pass {
 public:
  Pass(Module& module, const std::string& file, SourceLoc loc) : module_(module), file_(file), loc_(loc) {}

  void run() {
    if (!module_.meshes.empty()) return;
    for (const Function& f : module_.functions) {
      for (const Attribute& a : f.argument_attributes) note(a);
      for (const Attribute& a : f.result_attributes) note(a);
      note_block(f.body);
    }
    if (read_.empty() && unreadable_.empty()) return;
    find_axes();
    for (Function& f : module_.functions) {
      for (std::size_t i = 0; i < f.argument_attributes.size() && i < f.body.types.size(); ++i)
        state(f.argument_attributes[i], f.body.types[i]);
      for (std::size_t i = 0; i < f.result_attributes.size() && i < f.results.size(); ++i) state(f.result_attributes[i], f.results[i]);
      rewrite(f.body);
    }
    if (axes_) declare_mesh();
  }

 private:
  [[noreturn]] void fail(Place place, const std::string& problem) const {
    throw Error(fmt::format("{}: {}", place_text(file_, place), problem), loc_);
  }

  // The shardings that the module holds.

  void note(const Attribute& attributes) {
    const Attribute* a = hlo_sharding_of(attributes);
    if (!a || read_.count(a->text) || unreadable_.count(a->text)) return;
    std::string problem;
    HloSharding s = read_hlo_sharding(a->text, problem);
    if (problem.empty())
      read_.emplace(a->text, std::move(s));
    else
      unreadable_.emplace(a->text, fmt::format("the sharding `{}` can't be read: {}", a->text, problem));
  }
  void note_block(const Block& block) {
    for (const Operation& op : block.operations) {
      note(op.attributes);
      for (const Block& region : op.regions) note_block(region);
    }
  }

  /// Axes that all shardings in tiles are along: of devices in order, or in the order in which the first of them lists its own.
  void find_axes() {
    problem_ = try_axes({});
    const auto tiled = std::find_if(read_.begin(), read_.end(), [](const auto& s) { return s.second.kind == HloSharding::Kind::tiled; });
    if (problem_.empty() || tiled == read_.end()) return;
    const std::string in_order = std::exchange(problem_, {});
    if (!try_axes(tiled->second.devices).empty()) problem_ = in_order, axes_.reset(), order_.clear();
  }

  /// What is wrong with devices in that order; if nothing, the axes and the digits of each sharding are known.
  std::string try_axes(const std::vector<std::int64_t>& order) {
    axes_.reset(), digits_.clear();
    order_ = order;
    // Where nothing is in tiles, the devices are along one axis.
    const Attribute* partitions = module_.attributes.find("mhlo.num_partitions");
    if (partitions && partitions->kind == Kind::integer && partitions->integer > 1 && partitions->integer <= kMostDevices)
      axes_.emplace(partitions->integer);
    std::vector<std::int64_t> position(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) position[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    for (const auto& [text, read] : read_) {
      const auto count = static_cast<std::int64_t>(read.devices.size());
      if (read.kind != HloSharding::Kind::tiled || count == 1) continue;
      if (!axes_) axes_.emplace(count);
      if (axes_->num_devices() != count)
        return fmt::format("the sharding `{}` is over {} devices, the module is over {}", text, count, axes_->num_devices());
      HloSharding s = read;
      for (std::int64_t& device : s.devices)
        if (!position.empty()) device = position[static_cast<std::size_t>(device)];
      const auto digits = digits_of(s);
      if (!digits || !axes_->add(*digits)) return fmt::format("no axes of a mesh state the sharding `{}` beside the others", text);
      digits_.emplace(text, *digits);
    }
    return {};
  }

  /// Why a sharding is not restated, or empty.
  std::string problem_with(const Attribute& sharding) const {
    const auto found = unreadable_.find(sharding.text);
    return found != unreadable_.end() ? found->second : problem_;
  }

  Axes axes_of(const Attribute& sharding, std::size_t num_dimensions) const {
    const HloSharding& s = read_.at(sharding.text);
    Axes out;
    out.dims.resize(num_dimensions);
    if (s.kind == HloSharding::Kind::manual && axes_) out.manual = axes_->names();
    if (s.kind == HloSharding::Kind::unreduced && axes_) out.unreduced = axes_->names();
    if (s.kind != HloSharding::Kind::tiled) return out;
    if (s.num_dimensions() != num_dimensions)
      fail(sharding.place,
           fmt::format("the sharding `{}` is of {} dimensions, its array has {}", sharding.text, s.num_dimensions(), num_dimensions));
    const auto found = digits_.find(sharding.text);
    if (found == digits_.end()) return out;
    for (std::size_t t = 0; t < s.tiles.size(); ++t) {
      std::vector<std::string> names = axes_->names_of(found->second[t]);
      if (t < num_dimensions) {
        out.dims[t] = std::move(names);
        continue;
      }
      const HloSharding::Rest rest = s.rest[t - num_dimensions];
      std::vector<std::string>* const to = rest == HloSharding::Rest::manual      ? &out.manual
                                           : rest == HloSharding::Rest::unreduced ? &out.unreduced
                                                                                  : nullptr;
      if (to) to->insert(to->end(), names.begin(), names.end());
    }
    return out;
  }

  /// The sharding in Shardy's form; none where it says nothing of the value.
  std::optional<Attribute> shardy_of(const Attribute& sharding, const Type& type, const std::vector<std::int64_t>& open = {}) const {
    const HloSharding& s = read_.at(sharding.text);
    if (s.kind == HloSharding::Kind::unknown || type.kind == Type::Kind::token) return {};
    const std::size_t ndim = type.kind == Type::Kind::open_tensor ? type.sizes.size() : static_cast<std::size_t>(type.tensor.shape.size());
    Attribute out(Kind::dictionary, sharding.place, "sdy.sharding");
    if (s.kind == HloSharding::Kind::maximal) {
      Attribute mesh(Kind::dictionary, sharding.place, "sdy.mesh");
      add(mesh, "names", list_of(std::vector<std::string>(), sharding.place));
      add(mesh, "sizes", list_of(std::vector<std::int64_t>(), sharding.place));
      add(mesh, "device_ids", list_of(std::vector<std::int64_t>{s.device}, sharding.place));
      add(out, "mesh", std::move(mesh));
      add(out, "dims", Attribute(Kind::list, sharding.place));
      return out;
    }
    if (!axes_) return {};
    const Axes axes = axes_of(sharding, ndim);
    add(out, "mesh", {Kind::symbol, sharding.place, kMesh});
    Attribute dims(Kind::list, sharding.place);
    for (std::size_t d = 0; d < ndim; ++d) {
      dims.items.push_back(list_of(axes.dims[d], sharding.place));
      if (std::find(open.begin(), open.end(), static_cast<std::int64_t>(d)) != open.end())
        dims.items.back().items.emplace_back(Kind::word, sharding.place, "?");
    }
    add(out, "dims", std::move(dims));
    if (!axes.unreduced.empty()) add(out, "unreduced", list_of(axes.unreduced, sharding.place));
    return out;
  }

  void state(Attribute& attributes, const Type& type) const {
    const Attribute* a = hlo_sharding_of(attributes);
    if (!a || attributes.find("sdy.sharding") || !problem_with(*a).empty()) return;
    const HloSharding& s = read_.at(a->text);
    if (s.kind == HloSharding::Kind::manual || std::count(s.rest.begin(), s.rest.end(), HloSharding::Rest::manual) > 0)
      fail(a->place, fmt::format("an argument or a result of a function has the sharding `{}`, of one device", a->text));
    if (std::optional<Attribute> stated = shardy_of(*a, type)) add(attributes, "sdy.sharding", std::move(*stated));
  }

  void declare_mesh() {
    NamedMesh mesh{kMesh, Attribute(Kind::dictionary, {}, "sdy.mesh")};
    add(mesh.mesh, "names", list_of(axes_->names(), {}));
    add(mesh.mesh, "sizes", list_of(axes_->sizes(), {}));
    add(mesh.mesh, "device_ids", list_of(order_, {}));
    module_.meshes.push_back(std::move(mesh));
  }

  // The calls that state shardings.

  /// Dimensions whose sharding a call of @Sharding leaves open: `unspecified_dims=[0,1]`.
  static std::vector<std::int64_t> open_dimensions(const Operation& op) {
    std::vector<std::int64_t> out;
    const Attribute* config = op.attributes.find("backend_config");
    if (!config || !config->text.starts_with("unspecified_dims=[")) return out;
    std::int64_t n = -1;
    for (const char c : config->text) {
      if (c >= '0' && c <= '9')
        n = std::max<std::int64_t>(n, 0) * 10 + (c - '0');
      else if (n >= 0)
        out.push_back(n), n = -1;
    }
    return out;
  }

  void rewrite(Block& block) {
    std::map<ValueId, std::size_t> made_by;
    std::multimap<ValueId, std::size_t> used_by;
    for (std::size_t i = 0; i < block.operations.size(); ++i) {
      for (const ValueId v : block.operations[i].results) made_by[v] = i;
      for (const ValueId v : block.operations[i].operands) used_by.emplace(v, i);
    }
    std::vector<bool> dropped(block.operations.size());
    for (Operation& op : block.operations) {
      for (Block& region : op.regions) rewrite(region);
      if (op.name == kCall) make_manual(block, op, made_by, used_by, dropped);
    }
    std::vector<Operation> kept;
    for (std::size_t i = 0; i < block.operations.size(); ++i) {
      if (dropped[i]) continue;
      Operation& op = block.operations[i];
      const std::string_view target = target_of(op);
      if (target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape")
        fail(op.place, fmt::format("@{} is supported around the call of a function, as JAX writes it", target));
      if (target == "Sharding") make_constraint(op);
      kept.push_back(std::move(op));
    }
    block.operations = std::move(kept);
  }

  void make_constraint(Operation& op) const {
    const Attribute* a = hlo_sharding_of(op.attributes);
    if (!a || op.result_types.size() != 1 || !problem_with(*a).empty()) return;
    std::optional<Attribute> sharding = shardy_of(*a, op.result_types[0], open_dimensions(op));
    if (!sharding) return;
    op.name = "sdy.sharding_constraint";
    op.words.clear();
    op.attributes = Attribute(Kind::dictionary, op.place);
    add(op.attributes, "sharding", std::move(*sharding));
  }

  /// The operation that a value goes to in @SPMDShardToFullShape, past the @Sharding that says that it is one device's.
  std::optional<std::size_t> unsharded_by(const Block& block, ValueId v, const std::multimap<ValueId, std::size_t>& used_by,
                                          std::vector<bool>& dropped) const {
    const auto [begin, end] = used_by.equal_range(v);
    for (auto use = begin; use != end; ++use) {
      const Operation& op = block.operations[use->second];
      const std::string_view target = target_of(op);
      if (target == "SPMDShardToFullShape") return use->second;
      if (target != "Sharding" || op.results.size() != 1) continue;
      if (const std::optional<std::size_t> next = unsharded_by(block, op.results[0], used_by, dropped)) {
        dropped[use->second] = true;
        return next;
      }
    }
    return {};
  }

  void make_manual(Block& block, Operation& call, const std::map<ValueId, std::size_t>& made_by,
                   const std::multimap<ValueId, std::size_t>& used_by, std::vector<bool>& dropped) const {
    Operation manual;
    manual.name = "sdy.manual_computation", manual.place = call.place;
    Attribute ins(Kind::list, call.place), outs(Kind::list, call.place);
    std::optional<std::vector<std::string>> axes;
    Block body;
    Operation end;
    end.name = "sdy.return", end.place = call.place;
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      const auto maker = made_by.find(call.operands[i]);
      if (maker == made_by.end() || target_of(block.operations[maker->second]) != "SPMDFullToShardShape") continue;
      if (std::find(body.arguments.begin(), body.arguments.end(), call.operands[i]) != body.arguments.end()) continue;
      Operation& to_shard = block.operations[maker->second];
      const auto constraint = made_by.find(to_shard.operands.at(0));
      const Attribute* own = hlo_sharding_of(to_shard.attributes);
      const Attribute* whole = constraint == made_by.end() ? nullptr : hlo_sharding_of(block.operations[constraint->second].attributes);
      if (!own || !whole) fail(to_shard.place, "@SPMDFullToShardShape follows no @Sharding");
      add_sharding(ins, *whole, block.operations[constraint->second].result_types.at(0));
      axes = new_manual_axes(*own, to_shard.result_types.at(0), *whole, block.operations[constraint->second].result_types.at(0));
      manual.operands.push_back(to_shard.operands[0]);
      body.arguments.push_back(call.operands[i]);
      body.types.push_back(to_shard.result_types.at(0));
      dropped[maker->second] = true;
    }
    for (std::size_t i = 0; i < call.results.size(); ++i) {
      const std::optional<std::size_t> at = unsharded_by(block, call.results[i], used_by, dropped);
      if (!at) continue;
      const Operation& to_full = block.operations[*at];
      const Attribute* whole = hlo_sharding_of(to_full.attributes);
      if (!whole || to_full.results.size() != 1) fail(to_full.place, "@SPMDShardToFullShape states no sharding of its result");
      add_sharding(outs, *whole, to_full.result_types.at(0));
      if (!axes) axes = manual_axes_of_result(block, to_full, made_by, *whole);
      manual.results.push_back(to_full.results[0]);
      manual.result_types.push_back(to_full.result_types[0]);
      end.operands.push_back(call.results[i]);
      dropped[*at] = true;
    }
    if (!axes || !axes_) return;
    add(manual.attributes, "in_shardings", std::move(ins));
    add(manual.attributes, "out_shardings", std::move(outs));
    add(manual.attributes, "manual_axes", list_of(*axes, call.place));
    body.operations.push_back(std::move(call));
    body.operations.push_back(std::move(end));
    manual.regions.push_back(std::move(body));
    call = std::move(manual);
  }

  void add_sharding(Attribute& list, const Attribute& sharding, const Type& type) const {
    if (const std::string problem = problem_with(sharding); !problem.empty()) fail(sharding.place, problem);
    std::optional<Attribute> s = shardy_of(sharding, type);
    if (!s) fail(sharding.place, fmt::format("the sharding `{}` doesn't say how a device has the array", sharding.text));
    list.items.push_back(std::move(*s));
  }

  /// Axes along which a value is one device's that it wasn't along before.
  std::vector<std::string> new_manual_axes(const Attribute& now, const Type& type, const Attribute& before, const Type& whole) const {
    if (const std::string problem = problem_with(now); !problem.empty()) fail(now.place, problem);
    std::vector<std::string> out = axes_of(now, static_cast<std::size_t>(type.tensor.shape.size())).manual;
    const std::vector<std::string> already = axes_of(before, static_cast<std::size_t>(whole.tensor.shape.size())).manual;
    std::erase_if(out, [&](const std::string& a) { return std::find(already.begin(), already.end(), a) != already.end(); });
    return out;
  }

  /// The same, of a computation without operands, from what its result is said to be before it is whole.
  std::vector<std::string> manual_axes_of_result(const Block& block, const Operation& to_full,
                                                 const std::map<ValueId, std::size_t>& made_by, const Attribute& whole) const {
    const auto maker = made_by.find(to_full.operands.at(0));
    const Attribute* own = maker == made_by.end() ? nullptr : hlo_sharding_of(block.operations[maker->second].attributes);
    if (!own) fail(to_full.place, "@SPMDShardToFullShape follows no @Sharding");
    return new_manual_axes(*own, block.operations[maker->second].result_types.at(0), whole, to_full.result_types.at(0));
  }

  Module& module_;
  const std::string& file_;
  const SourceLoc loc_;
  std::map<std::string, HloSharding> read_;  // by text
  std::map<std::string, std::string> unreadable_;
  std::string problem_;              // of the shardings in tiles, with each other
  std::vector<std::int64_t> order_;  // of the devices along the axes; empty: as they are numbered
  std::map<std::string, std::vector<std::vector<Digit>>> digits_;
  std::optional<DeviceAxes> axes_;
};

}  // namespace

void to_shardy(Module& module, const std::string& file, SourceLoc loc) { Pass(module, file, loc).run(); }

}  // namespace weft::detail::mlir
