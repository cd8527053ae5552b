// The sections of an MLIR bytecode file (mlir.llvm.org/docs/BytecodeFormat), taken apart: strings, names of operations, the encoded
// attributes and types, properties, resources, and the operations, none of which is read yet.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "weft/frontends/stablehlo/bytecode/bytes.h"

namespace weft::detail::mlir {

struct Container {
  /// An attribute or a type.
  struct Entry {
    std::string_view dialect;
    bool is_encoded = false;  ///< in the dialect's own way; else it is text
    Bytes data;
  };
  struct OperationName {
    std::string_view dialect, name;
    bool is_registered = false;  ///< its properties are encoded in its own way; else they are an attribute
  };
  struct Resource {
    std::string_view key;
    Bytes data;  ///< an alignment, a size, and then the bytes; empty where it was left out
  };
  std::uint64_t version = 0;
  std::string_view producer;
  std::vector<std::string_view> strings, dialects;
  std::vector<OperationName> operations;
  std::vector<Entry> attributes, types;
  std::vector<Bytes> properties;
  std::vector<Resource> resources;  ///< those of dialects, in the order in which attributes number them
  Bytes ir;
};

/// The first bytes of such a file.
constexpr std::string_view kBytecodeMagic("ML\xef\x52", 4);

/// Reads versions 0 to 6 of the format. The bytes and the origin outlive what is given.
Container read_container(std::string_view bytes, const Origin& origin);

}  // namespace weft::detail::mlir
