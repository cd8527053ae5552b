// Importing functions, blocks and operations (see importer.h).
#include "weft/frontends/stablehlo/import/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>

#include "weft/core/array/array_lists.h"
#include "weft/core/base/nesting.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/text/text.h"
#include "weft/frontends/stablehlo/import/sharding.h"
#include "weft/frontends/stablehlo/import/ties.h"
#include "weft/frontends/stablehlo/import/untaken.h"

namespace weft::detail::mlir {
namespace {

struct ImportTable {
  std::mutex mutex;
  struct Entry {
    ImportFunction function;
    Elements elements;
    Kinds kinds;
  };
  std::map<std::string, Entry, std::less<>> imports;
};
ImportTable& import_table() {
  static ImportTable& table = process_wide<ImportTable>();
  return table;
}

/// The operations that end a block.
constexpr std::array<std::string_view, 5> kReturns{"func.return", "stablehlo.return", "chlo.return", "mhlo.return", "sdy.return"};

}  // namespace

Import::Import(const char* name, Kinds kinds, ImportFunction function, Elements elements) {
  ImportTable& t = import_table();
  const std::lock_guard lock(t.mutex);
  t.imports.insert_or_assign(name, ImportTable::Entry{function, elements, kinds});
}

ImportFunction find_import(std::string_view name) {
  ImportTable& t = import_table();
  const std::lock_guard lock(t.mutex);
  const auto found = t.imports.find(name);
  return found == t.imports.end() ? nullptr : found->second.function;
}

Elements elements_of(std::string_view name) {
  ImportTable& t = import_table();
  const std::lock_guard lock(t.mutex);
  const auto found = t.imports.find(name);
  return found == t.imports.end() ? Elements::computed : found->second.elements;
}

Kinds kinds_of(std::string_view name) {
  ImportTable& t = import_table();
  const std::lock_guard lock(t.mutex);
  const auto found = t.imports.find(name);
  return found == t.imports.end() ? Kinds::any : found->second.kinds;
}

const char* kept_name(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string>& names = process_wide<std::set<std::string>>();
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

Aval aval_of(const Type& type, const Importer& importer, Place place) {
  if (type.kind == Type::Kind::token) return {{0}, bool_};
  if (type.kind == Type::Kind::open_tensor)
    importer.fail(place,
                  fmt::format("the sizes of {} are open: StablehloOptions::inputs states those of the inputs, and load_exported takes "
                              "those of each call",
                              type.text));
  if (type.kind != Type::Kind::tensor)
    importer.fail(place, fmt::format("the type {} has no array of weft's: sizes must be known, elements bools, integers of 2 to 64 bits, "
                                     "floats of 4, 8 and 16 to 64 bits, or complex numbers",
                                     type.text.empty() ? "of a function" : type.text));
  return {type.tensor.shape, type.tensor.dtype};
}

bool admits(const Type& type, const Aval& aval) {
  if (type.kind == Type::Kind::token) return aval.shape == Shape{0} && aval.dtype.is_bool();
  if (type.kind == Type::Kind::tensor) return aval.shape == type.tensor.shape && aval.dtype == type.tensor.dtype;
  if (type.kind != Type::Kind::open_tensor || aval.dtype != type.tensor.dtype || static_cast<std::size_t>(aval.ndim()) != type.sizes.size())
    return false;
  for (int d = 0; d < aval.ndim(); ++d)
    if (const std::int64_t n = type.sizes[static_cast<std::size_t>(d)]; n >= 0 && n != aval.shape[d]) return false;
  return true;
}

// OpCall

const Value& OpCall::value(std::size_t i) const {
  if (i >= operands_.size()) fail(fmt::format("there are {} operands, operand {} is missing", operands_.size(), i));
  return operands_[i];
}

const Array& OpCall::in(std::size_t i) const {
  const Value& v = value(i);
  if (v.array.is_empty_handle()) fail(fmt::format("operand {} is a tuple, not an array", i));
  return v.array;
}

Arrays OpCall::ins(std::size_t begin, std::size_t end) const {
  Arrays out;
  for (std::size_t i = begin; i < end; ++i) out.push_back(in(i));
  return out;
}

const ShapeDtypeStruct& OpCall::result(std::size_t i) const {
  if (i >= op.result_types.size()) fail(fmt::format("there are {} results, result {} is missing", op.result_types.size(), i));
  const Type& t = op.result_types[i];
  aval_of(t, importer_, op.place);
  return t.tensor;
}

DType OpCall::result_dtype(std::size_t i) const {
  if (i < op.result_types.size() && op.result_types[i].kind == Type::Kind::open_tensor) return op.result_types[i].tensor.dtype;
  return result(i).dtype;
}

Shape OpCall::result_shape(const Array& like) const {
  if (op.result_types.empty() || op.result_types[0].kind != Type::Kind::open_tensor) return result().shape;
  Shape shape;
  for (const std::int64_t n : op.result_types[0].sizes) {
    if (n < 0 && shape.size() >= like.ndim()) fail("a size of its result is not known");
    shape.push_back(n < 0 ? like.shape()[shape.size()] : n);
  }
  return shape;
}

const Attribute* OpCall::find(std::string_view name, std::string_view pretty) const {
  const Attribute* a = op.attributes.find(name);
  return a || pretty.empty() ? a : op.attributes.find(pretty);
}

const Attribute& OpCall::need(std::string_view name, std::string_view pretty) const {
  const Attribute* a = find(name, pretty);
  if (!a) fail(fmt::format("the attribute {} is missing", name));
  return *a;
}

std::vector<std::int64_t> integers_of(const Attribute& a, const OpCall& c) {
  std::vector<std::int64_t> out;
  if (a.kind == Attribute::Kind::list) {
    for (const Attribute& item : a.items) {
      if (item.kind != Attribute::Kind::integer && item.kind != Attribute::Kind::boolean)
        c.fail("a list has entries that are not integers");
      out.push_back(item.integer);
    }
    return out;
  }
  if (a.kind == Attribute::Kind::dense && a.type.kind == Type::Kind::tensor &&
      (a.type.tensor.dtype == int64 || a.type.tensor.dtype.is_bool())) {
    const std::int64_t n = a.type.tensor.shape.num_elements();
    if (n > (1 << 16)) c.fail("a list of more than 65536 integers");
    const auto itemsize = static_cast<std::size_t>(a.type.tensor.dtype.itemsize());
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t v = 0;
      std::memcpy(&v, a.elements().data() + (a.is_splat ? 0 : static_cast<std::size_t>(i) * itemsize), itemsize);
      out.push_back(v);
    }
    return out;
  }
  c.fail("an attribute is not a list of integers");
}

std::int64_t OpCall::integer(std::string_view name, std::string_view pretty) const {
  const Attribute& a = need(name, pretty);
  if (a.kind != Attribute::Kind::integer) fail(fmt::format("the attribute {} is not an integer", name));
  return a.integer;
}
std::int64_t OpCall::integer_or(std::string_view name, std::int64_t otherwise) const { return find(name) ? integer(name) : otherwise; }

bool OpCall::flag(std::string_view name) const {
  const Attribute* a = find(name);
  if (!a) return false;
  if (a->kind != Attribute::Kind::boolean && a->kind != Attribute::Kind::unit) fail(fmt::format("the attribute {} is not a bool", name));
  return a->kind == Attribute::Kind::unit || a->integer != 0;
}

std::vector<std::int64_t> OpCall::integers(std::string_view name, std::string_view pretty) const {
  const Attribute* a = find(name, pretty);
  return a ? integers_of(*a, *this) : std::vector<std::int64_t>();
}

std::vector<int> OpCall::dims(std::string_view name, std::string_view pretty) const {
  std::vector<int> out;
  for (std::int64_t d : integers(name, pretty)) {
    if (d < 0 || d > std::numeric_limits<int>::max()) fail(fmt::format("{} has {}, which is not a dimension", name, d));
    out.push_back(static_cast<int>(d));
  }
  return out;
}

std::vector<std::int64_t> OpCall::integers_or(std::string_view name, std::size_t count, std::int64_t otherwise) const {
  if (!find(name)) return std::vector<std::int64_t>(count, otherwise);
  std::vector<std::int64_t> out = integers(name);
  if (out.size() != count) fail(fmt::format("{} has {} entries for {} dimensions", name, out.size(), count));
  return out;
}

std::vector<std::pair<std::int64_t, std::int64_t>> OpCall::pairs(std::string_view name, std::size_t count, std::string_view pretty) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> out(count, {0, 0});
  const Attribute* a = find(name, pretty);
  if (!a) return out;
  std::vector<std::int64_t> flat;
  if (a->kind == Attribute::Kind::list) {
    for (const Attribute& item : a->items)
      for (std::int64_t v : integers_of(item, *this)) flat.push_back(v);
  } else {
    flat = integers_of(*a, *this);
    if (const Shape& shape = a->type.tensor.shape; a->kind == Attribute::Kind::dense && (shape.size() != 2 || shape[1] != 2))
      fail(fmt::format("{} is {}, it must have two numbers for each dimension", name, a->type.text));
  }
  if (flat.size() != 2 * count) fail(fmt::format("{} has {} entries for {} dimensions", name, flat.size(), count));
  for (std::int64_t v : flat)
    if (v < std::numeric_limits<int>::min() || v > std::numeric_limits<int>::max()) fail(fmt::format("{} is out of range", name));
  for (std::size_t i = 0; i < count; ++i) out[i] = {static_cast<int>(flat[2 * i]), static_cast<int>(flat[2 * i + 1])};
  return out;
}

std::string OpCall::word(std::string_view name, std::size_t position, std::string_view otherwise) const {
  if (const Attribute* a = find(name)) return a->text;
  std::size_t at = 0;
  for (const Attribute& w : op.words)
    if (w.kind == Attribute::Kind::word && at++ == position) return w.text;
  return std::string(otherwise);
}

std::string OpCall::symbol(std::string_view name) const {
  const Attribute* a = find(name);
  for (const Attribute& w : op.words)
    if (!a && w.kind == Attribute::Kind::symbol) a = &w;
  if (!a || (a->kind != Attribute::Kind::symbol && a->kind != Attribute::Kind::string)) fail(fmt::format("the name {} is missing", name));
  return a->text;
}

namespace {
const Block& region_of(const OpCall& c, std::size_t which) {
  if (which >= c.op.regions.size()) c.fail(fmt::format("there are {} regions, region {} is missing", c.op.regions.size(), which));
  return c.op.regions[which];
}
}  // namespace

Jaxpr OpCall::region(std::size_t which, const std::vector<Aval>& inputs) const {
  return importer_.block_program(region_of(*this, which), inputs, op.place);
}
Jaxpr OpCall::region(std::size_t which) const {
  std::vector<Aval> inputs;
  for (const Type& t : region_of(*this, which).types) inputs.push_back(aval_of(t, importer_, op.place));
  return region(which, inputs);
}
Arrays OpCall::run_region(std::size_t which, std::span<const Array> arguments) const {
  return importer_.run_block_of_arrays(region_of(*this, which), arguments, op.place);
}
Values OpCall::call(const std::string& function, const std::optional<CompositeParams>& composite) const {
  const Arrays out = importer_.call(function, ins(), composite, op.place, loc);
  return Values(out.begin(), out.end());
}
void OpCall::fail(const std::string& problem) const { importer_.fail(op.place, fmt::format("{}: {}", op.name, problem)); }

void OpCall::check_kind() const {
  const auto kinds = static_cast<unsigned>(kinds_of(op.name));
  if (operands_.empty() || !operands_[0].elements.empty() || kinds == static_cast<unsigned>(Kinds::any)) return;
  const DType type = in(0).dtype();
  const Kinds kind = type.is_bool()       ? Kinds::bools
                     : type.is_complex()  ? Kinds::complex
                     : type.is_floating() ? Kinds::floats
                     : type.is_signed()   ? Kinds::signed_integers
                                          : Kinds::unsigned_integers;
  if (kinds & static_cast<unsigned>(kind)) return;
  constexpr std::array<const char*, 5> kNames{"bools", "signed integers", "unsigned integers", "floats", "complex numbers"};
  std::vector<std::string> known;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kinds >> i & 1) known.emplace_back(kNames[i]);
  fail(fmt::format("it is defined for {}, its operand is {}: convert it first", fmt::join(known, ", "), to_string(in(0).aval())));
}

// Importer

namespace {
/// A problem with its place in the text and, if known, in the user's program.
std::string located(const Module& module, const std::string& file, Place place, const std::string& problem) {
  const SourceLine& source = module.sources.at(place.source);
  const std::string from = source.file.empty() ? std::string() : fmt::format(" ({}:{}:{})", source.file, source.line, source.column);
  return fmt::format("{}{}: {}", place_text(file, place), from, problem);
}
}  // namespace

void Importer::fail(Place place, const std::string& problem) const { throw Error(located(module_, file_, place, problem), loc_); }

SourceLoc Importer::line_of(const Place& place) const {
  const SourceLine& source = module_.sources.at(place.source);
  return source.file.empty() ? SourceLoc::at(file_, place.line) : SourceLoc::at(kept_name(source.file), source.line);
}

ProgramMesh Importer::mesh(const std::string& name, Place from) const {
  for (const NamedMesh& m : module_.meshes)
    if (m.name == name) return mesh_of(m.mesh, name, *this);
  fail(from, fmt::format("there is no mesh @{}", name));
}

const Function& Importer::function_named(const std::string& name, Place from) const {
  const Function* f = module_.find(name);
  if (!f) fail(from, fmt::format("there is no function @{}", name));
  if (f->is_declaration) fail(f->place, fmt::format("@{} is declared without a body", name));
  if (std::find(in_progress_.begin(), in_progress_.end(), name) != in_progress_.end()) fail(from, fmt::format("@{} calls itself", name));
  return *f;
}

void Importer::check_arguments(const Function& f, const std::vector<Aval>& given, Place from) const {
  const std::vector<Type>& wanted = f.body.types;
  if (wanted.size() != given.size()) fail(from, fmt::format("@{} takes {} arguments, {} are given", f.name, wanted.size(), given.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!admits(wanted[i], given[i]))
      fail(from, fmt::format("@{} takes {}, argument {} is {}", f.name, wanted[i].text, i, to_string(given[i])));
}

Arrays Importer::results_of(const Function& f, std::span<const Array> arguments) {
  check_nesting("functions that call functions");
  // What belongs to the function that is being imported is set aside.
  Values outer(f.num_values);
  outer.swap(values_);
  in_progress_.push_back(f.name);
  const Values results = run_block(f.body, Values(arguments.begin(), arguments.end()));
  if (results.size() != f.results.size())
    fail(f.place, fmt::format("@{} returns {} values, its type has {}", f.name, results.size(), f.results.size()));
  Arrays out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Array& x = results[i].array;
    if (x.is_empty_handle() || !admits(f.results[i], x.aval()))
      fail(f.place, fmt::format("@{} returns a value of another type than {}", f.name, f.results[i].text));
    out.push_back(x);
  }
  in_progress_.pop_back();
  values_.swap(outer);
  return out;
}

Jaxpr Importer::differentiable(Jaxpr j) const {
  return derivatives_ == Derivatives::wanted ? without_untaken_derivatives(with_shared_ties(j)) : std::move(j);
}

StablehloProgram Importer::traced(const Function& f, const std::vector<Aval>& inputs) {
  Checks checks;
  Checks* const outer_checks = checks_;
  checks_ = &checks;
  StablehloProgram program;
  program.jaxpr = differentiable(trace_jaxpr({"stablehlo function " + f.name, inputs, {}}, [&](std::span<const Array> args) {
    Arrays out = results_of(f, args);
    program.num_results = static_cast<int>(out.size());
    out.insert(out.end(), checks.compared.begin(), checks.compared.end());
    return out;
  }));
  program.checks = std::move(checks.list);
  checks_ = outer_checks;
  return program;
}

const StablehloProgram& Importer::function(const std::string& name, Place from) {
  // The same function may be called by programs of one device and from outside, and means something else there.
  const std::string key = manual_ ? fmt::format("{} {} {}", name, print_param(manual_->mesh), fmt::join(manual_->axes, " ")) : name;
  if (const auto done = programs_.find(key); done != programs_.end()) return done->second;
  const Function& f = function_named(name, from);
  std::vector<Aval> inputs;
  for (const Type& t : f.body.types) inputs.push_back(aval_of(t, *this, f.place));
  return programs_.emplace(key, traced(f, inputs)).first->second;
}

StablehloProgram Importer::import_function(const std::string& name) { return function(name, {1, 1}); }

StablehloProgram Importer::import_function(const std::string& name, const std::vector<Aval>& inputs) {
  const Function& f = function_named(name, {1, 1});
  check_arguments(f, inputs, f.place);
  inlines_calls_ = true;
  return traced(f, inputs);
}

Arrays Importer::call(const std::string& name, std::span<const Array> arguments, const std::optional<CompositeParams>& composite,
                      Place from, SourceLoc loc) {
  if (inlines_calls_) {
    const Function& f = function_named(name, from);
    check_arguments(f, avals_of(arguments), from);
    return results_of(f, arguments);
  }
  const StablehloProgram& program = function(name, from);
  check_arguments(*module_.find(name), avals_of(arguments), from);
  // A function without inputs and equations gives constants: nothing to call.
  Arrays out = program.jaxpr.eqns().empty() ? eval_jaxpr(program.jaxpr, arguments)
               : composite ? bind_composite({composite->attributes, program.jaxpr, composite->name, composite->version}, arguments, loc)
                           : bind_jit(name, program.jaxpr, {}, arguments, loc);
  const auto results = static_cast<std::size_t>(program.num_results);
  if (checks_) {
    checks_->list.insert(checks_->list.end(), program.checks.begin(), program.checks.end());
    checks_->compared.insert(checks_->compared.end(), out.begin() + static_cast<std::ptrdiff_t>(results), out.end());
  }
  out.resize(results);
  return out;
}

void Importer::add_check(StablehloCheck check, const Array& actual, const Array& expected, Place place) {
  if (!checks_) fail(place, "a check within a region, which can't be taken out of it");
  if (actual.shape() != expected.shape() || actual.dtype() != expected.dtype())
    fail(place, fmt::format("a check compares {} with {}", to_string(actual.aval()), to_string(expected.aval())));
  check.line = place.byte < 0 ? place.line : module_.sources.at(place.source).line;
  checks_->list.push_back(check);
  checks_->compared.push_back(actual);
  checks_->compared.push_back(expected);
}

std::optional<ValueId> Importer::marked(std::int64_t mark, ValueId value) {
  const auto [place, is_new] = block_->marked.emplace(mark, value);
  return is_new ? std::nullopt : std::optional(place->second);
}

void Importer::replace(ValueId v, Array x) {
  block_->replaced.emplace_back(v, values_.at(v));
  values_.at(v).array = std::move(x);
}

Values Importer::run_block(const Block& block, Values arguments) {
  check_nesting("regions inside regions");
  BlockScope scope;
  const Restore restore{block_, std::exchange(block_, &scope)};
  Values results = run_operations(block, std::move(arguments));
  // A value of the blocks around is what it was, outside of this one.
  for (auto r = scope.replaced.rbegin(); r != scope.replaced.rend(); ++r) values_.at(r->first) = std::move(r->second);
  return results;
}

Values Importer::run_operations(const Block& block, Values arguments) {
  for (std::size_t i = 0; i < block.arguments.size(); ++i) {
    values_.at(block.arguments[i]) = arguments.at(i);
    values_.at(block.arguments[i]).narrow = block.types.at(i).narrow;
  }
  for (std::size_t i = 0; i < block.operations.size(); ++i) {
    const Operation& op = block.operations[i];
    if (std::find(kReturns.begin(), kReturns.end(), op.name) != kReturns.end()) {
      if (i + 1 != block.operations.size()) fail(op.place, "operations follow a return");
      Values out;
      for (ValueId v : op.operands) out.push_back(values_.at(v));
      return out;
    }
    Values results = run(op);
    for (std::size_t r = 0; r < results.size(); ++r) values_.at(op.results[r]) = std::move(results[r]);
  }
  if (block.operations.empty()) return {};
  fail(block.operations.back().place, "a region ends without a return");
}

Arrays Importer::run_block_of_arrays(const Block& block, std::span<const Array> arguments, Place place) {
  if (block.arguments.size() != arguments.size())
    fail(place, fmt::format("a region takes {} values, {} are given", block.arguments.size(), arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (block.types[i].kind != Type::Kind::open_tensor) aval_of(block.types[i], *this, place);
    if (!admits(block.types[i], arguments[i].aval()))
      fail(place, fmt::format("a region takes {}, value {} is {}", block.types[i].text, i, to_string(arguments[i].aval())));
  }
  Checks* const outer = checks_;
  checks_ = nullptr;
  const Values results = run_block(block, Values(arguments.begin(), arguments.end()));
  checks_ = outer;
  Arrays out;
  for (const Value& v : results) {
    if (v.array.is_empty_handle()) fail(place, "a region returns a tuple");
    out.push_back(v.array);
  }
  return out;
}

Jaxpr Importer::block_program(const Block& block, const std::vector<Aval>& inputs, Place place) {
  return differentiable(
      trace_jaxpr({"stablehlo region", inputs, {}}, [&](std::span<const Array> args) { return run_block_of_arrays(block, args, place); }));
}

void Importer::check_type(const Operation& op, const Value& value, const Type& type, std::size_t which) const {
  if (type.kind == Type::Kind::tuple && value.array.is_empty_handle() && value.elements.size() == type.elements.size()) {
    for (std::size_t i = 0; i < value.elements.size(); ++i) check_type(op, value.elements[i], type.elements[i], which);
    return;
  }
  if (type.kind != Type::Kind::open_tensor) aval_of(type, *this, op.place);
  if (value.array.is_empty_handle())
    fail(op.place, fmt::format("{}: result {} is not an array, the text says {}", op.name, which, type.text));
  if (!admits(type, value.array.aval()))
    fail(op.place, fmt::format("{}: result {} is {}, the text says {}", op.name, which, to_string(value.array.aval()), type.text));
}

Values Importer::run_checked(const Operation& op, ImportFunction import) {
  Values operands;
  for (ValueId v : op.operands) operands.push_back(values_.at(v));
  for (std::size_t i = 0; i < op.operand_types.size(); ++i) check_type(op, operands[i], op.operand_types[i], i);
  for (const Type& t : op.result_types)
    if (t.kind != Type::Kind::tuple && t.kind != Type::Kind::open_tensor) aval_of(t, *this, op.place);
  const SourceLoc line = line_of(op.place);
  LocScope scope(line);
  OpCall call(*this, op, std::move(operands), line);
  call.check_kind();
  Values out = import(call);
  if (out.size() != op.result_types.size())
    fail(op.place, fmt::format("{}: there are {} results, the text says {}", op.name, out.size(), op.result_types.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    check_type(op, out[i], op.result_types[i], i);
    out[i].narrow = op.result_types[i].narrow;
    if (out[i].narrow && elements_of(op.name) == Elements::computed) out[i].array = rounded_to(*out[i].narrow, out[i].array);
  }
  return out;
}

Values Importer::run(const Operation& op) {
  const ImportFunction import = find_import(op.name);
  if (!import) throw CompileError(located(module_, file_, op.place, fmt::format("the operation {} is not known", op.name)), loc_);
  try {
    return run_checked(op, import);
  } catch (const Error& e) {
    // What weft's own functions say gets its place; what already has one stays.
    if (e.message().rfind(std::string(file_) + ":", 0) == 0) throw;
    fail(op.place, fmt::format("{}: {}", op.name, e.message()));
  }
}

}  // namespace weft::detail::mlir
