// See program.h.
#include "weft/frontends/stablehlo/exported/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/read.h"

namespace weft::detail {
namespace {

using TypeKind = mlir::Type::Kind;
constexpr std::size_t kMostPrograms = 256;

void erase_argument(mlir::Function& f, std::size_t i) {
  const auto erase = [i](auto& list) {
    if (i < list.size()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
  };
  erase(f.body.arguments), erase(f.body.types), erase(f.argument_attributes), erase(f.argument_names);
}

/// Where the program is one for several platforms, its first argument says for which: it becomes the number of the CPU, or else of the
/// first. So the others' variants, which may call what only they have, aren't looked at.
void choose_platform(mlir::Function& main, const std::vector<std::string>& platforms) {
  const mlir::Attribute* constant = nullptr;
  if (!main.argument_attributes.empty()) constant = main.argument_attributes[0].find("jax.global_constant");
  if (!constant || constant->text != "_platform_index" || main.body.arguments.empty()) return;
  const auto cpu = std::find(platforms.begin(), platforms.end(), "cpu");
  const std::int64_t index = cpu == platforms.end() ? 0 : cpu - platforms.begin();
  mlir::Operation op;
  op.name = "stablehlo.constant", op.place = main.place;
  op.results = {main.body.arguments[0]}, op.result_types = {main.body.types[0]};
  mlir::Attribute value(mlir::Attribute::Kind::dense, main.place);
  value.type = main.body.types[0];
  const mlir::Type& type = main.body.types[0];
  if (type.kind != TypeKind::tensor || !type.tensor.dtype.is_integer()) return;
  value.text.resize(static_cast<std::size_t>(type.tensor.dtype.itemsize()));
  std::memcpy(value.text.data(), &index, value.text.size());
  op.attributes.keys.emplace_back("value"), op.attributes.items.push_back(std::move(value));
  main.body.operations.insert(main.body.operations.begin(), std::move(op));
  erase_argument(main, 0);
}

bool is_token(const mlir::Type& t) { return t.kind == TypeKind::token; }

/// A program with ordered effects takes a token for each and gives one. Its caller has none: they begin with the program.
void begin_tokens(mlir::Function& main) {
  for (std::size_t i = main.body.arguments.size(); i-- > 0;) {
    if (!is_token(main.body.types[i])) continue;
    mlir::Operation op;
    op.name = "stablehlo.create_token", op.place = main.place;
    op.results = {main.body.arguments[i]}, op.result_types = {main.body.types[i]};
    main.body.operations.insert(main.body.operations.begin(), std::move(op));
    erase_argument(main, i);
  }
  if (main.body.operations.empty() || std::none_of(main.results.begin(), main.results.end(), is_token)) return;
  mlir::Operation& last = main.body.operations.back();
  const auto keep = [&](auto& list) {
    if (list.size() != main.results.size()) return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (!is_token(main.results[i])) std::swap(list[kept++], list[i]);
    list.resize(kept);
  };
  keep(last.operands), keep(last.operand_types), keep(main.result_attributes);
  std::erase_if(main.results, is_token);
}

mlir::Importer importer_of(const mlir::Module& module, const std::string& path, SourceLoc loc) {
  return {module, mlir::kept_name(path), loc, mlir::PartialWindows::dropped};
}

}  // namespace

ExportedProgram::ExportedProgram(std::string bytes, std::string path, SourceLoc loc)
    : parts(read_exported(bytes, path, loc)), bytes_(std::move(bytes)), path_(std::move(path)) {
  module_ = mlir::read_module(module_of_exported(bytes_, path_, loc), path_, loc);
  const auto function =
      std::find_if(module_.functions.begin(), module_.functions.end(), [](const mlir::Function& f) { return f.name == "main"; });
  if (function == module_.functions.end()) throw Error(fmt::format("{}: the module has no function @main", path_), loc);
  choose_platform(*function, parts.platforms);
  begin_tokens(*function);
  inputs_ = function->body.types, num_outputs_ = function->results.size();
  if (std::any_of(inputs_.begin(), inputs_.end(), [](const mlir::Type& t) { return t.kind == TypeKind::open_tensor; })) return;
  only_ = importer_of(module_, path_, loc).import_function("main").jaxpr;
  module_ = {}, bytes_ = {}, parts.module = {};
}

std::string ExportedProgram::type_text(std::size_t i) const {
  const mlir::Type& t = inputs_[i];
  if (t.kind != TypeKind::open_tensor) return to_string(only_ ? only_->data().input_avals()[i] : Aval{t.tensor.shape, t.tensor.dtype});
  std::string sizes;
  for (const std::int64_t n : t.sizes) sizes += fmt::format("{}{}", sizes.empty() ? "" : ",", n < 0 ? "?" : fmt::format("{}", n));
  return fmt::format("{}[{}]", t.tensor.dtype.short_name(), sizes);
}

bool ExportedProgram::admits_shape(std::size_t i, const Shape& shape) const { return mlir::admits(inputs_[i], {shape, dtype(i)}); }

Jaxpr ExportedProgram::of_inputs(const std::vector<Aval>& inputs, SourceLoc loc) {
  if (only_) return *only_;
  const auto known = [&]() -> std::optional<Jaxpr> {
    for (const auto& [types, program] : made_)
      if (types == inputs) return program;
    return {};
  };
  {
    const std::lock_guard lock(mutex_);
    if (const std::optional<Jaxpr> program = known()) return *program;
  }
  // Not while the mutex is held: it takes long, and several threads may make the same.
  const Jaxpr program = importer_of(module_, path_, loc).import_function("main", inputs).jaxpr;
  const std::lock_guard lock(mutex_);
  if (!known()) made_.emplace_back(inputs, program);
  if (made_.size() > kMostPrograms) made_.erase(made_.begin());
  return program;
}

}  // namespace weft::detail
