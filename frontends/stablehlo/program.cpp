// See program.h.
#include "weft/frontends/stablehlo/program.h"

#include <fmt/format.h>

#include "weft/core/base/sizes.h"
#include "weft/frontends/stablehlo/import/manual.h"
#include "weft/frontends/stablehlo/import/sharding.h"
#include "weft/frontends/stablehlo/read.h"

namespace weft::detail {
namespace {

using mlir::Attribute;

int count_of(const mlir::Module& m, const char* key, const mlir::Importer& importer) {
  const Attribute* a = m.attributes.find(key);
  if (!a) return 1;
  if (a->kind != Attribute::Kind::integer || a->integer < 1 || !fits_int(a->integer))
    importer.fail(a->place, fmt::format("{} is not a number of devices", key));
  return static_cast<int>(a->integer);
}

std::string text_of(const Attribute* a) { return a && a->kind == Attribute::Kind::string ? a->text : std::string(); }

ProgramValue value_of(const mlir::Type& type, const Attribute* attributes, mlir::Place place, const mlir::Importer& importer) {
  ProgramValue v;
  const Aval aval = mlir::aval_of(type, importer, place);
  v.type = {aval.shape, aval.dtype};
  v.narrow = type.narrow;
  if (!attributes) return v;
  // A token has no dimensions; its array has one, which is not sharded.
  if (const Attribute* sharding = attributes->find("sdy.sharding"); sharding && type.kind != mlir::Type::Kind::token)
    v.sharding = mlir::sharding_of(*sharding, aval.ndim(), importer);
  else
    v.other_sharding = text_of(attributes->find("mhlo.sharding"));
  v.memory_kind = text_of(attributes->find("mhlo.memory_kind"));
  v.layout_mode = text_of(attributes->find("mhlo.layout_mode"));
  v.result_info = text_of(attributes->find("jax.result_info"));
  if (const Attribute* alias = attributes->find("tf.aliasing_output")) {
    if (alias->kind != Attribute::Kind::integer || alias->integer < 0 || !fits_int(alias->integer))
      importer.fail(alias->place, "tf.aliasing_output is not the number of a result");
    v.aliased_result = static_cast<int>(alias->integer);
  }
  if (const Attribute* donor = attributes->find("jax.buffer_donor"))
    v.is_donated = donor->kind != Attribute::Kind::boolean || donor->integer != 0;
  return v;
}

}  // namespace

ImportedProgram import_program(std::string_view text, const std::string& name, SourceLoc loc) {
  const mlir::Module module = mlir::read_module(text, name, loc);
  const mlir::Function* const main = module.find("main");
  if (!main) throw Error(fmt::format("{}: the module has no function @main", name), loc);
  mlir::Importer importer(module, mlir::kept_name(name), loc, mlir::PartialWindows::dropped, mlir::Derivatives::none);
  ImportedProgram p;
  p.name = module.name;
  for (const mlir::NamedMesh& m : module.meshes) p.meshes.push_back(mlir::mesh_of(m.mesh, m.name, importer));
  p.num_partitions = count_of(module, "mhlo.num_partitions", importer), p.num_replicas = count_of(module, "mhlo.num_replicas", importer);
  if (p.num_replicas > 1) {
    if (p.num_partitions > 1)
      importer.fail(main->place, fmt::format("{} replicas of {} partitions are not supported", p.num_replicas, p.num_partitions));
    p.jaxpr = mlir::import_replicas(importer, "main", p.num_replicas, loc);
  } else {
    const StablehloProgram imported = importer.import_function("main");
    if (!imported.checks.empty()) importer.fail(main->place, "@main checks its results, which a program that is called must not do");
    p.jaxpr = imported.jaxpr;
  }
  auto at = [](const std::vector<Attribute>& all, std::size_t i) { return i < all.size() ? &all[i] : nullptr; };
  for (std::size_t i = 0; i < main->body.types.size(); ++i) {
    p.arguments.push_back(value_of(main->body.types[i], at(main->argument_attributes, i), main->place, importer));
    if (i < main->argument_names.size()) p.arguments[i].name = main->argument_names[i];
  }
  for (std::size_t i = 0; i < main->results.size(); ++i)
    p.results.push_back(value_of(main->results[i], at(main->result_attributes, i), main->place, importer));
  for (const ProgramValue& v : p.arguments)
    if (v.aliased_result && static_cast<std::size_t>(*v.aliased_result) >= p.results.size())
      importer.fail(main->place, fmt::format("an argument is aliased to result {}, which does not exist", *v.aliased_result));
  return p;
}

}  // namespace weft::detail
