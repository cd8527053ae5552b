// The readers of bytes from outside, each as a function that is given any bytes at all. It returns if the reader did what it promises: gave
// what the bytes hold, or threw a weft::Error. Everything else is a finding: a crash, a sanitizer's report, another exception, or a broken
// property, which `broken` reports.
#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::fuzz {

struct InputReader {
  std::string_view name;
  void (*read)(std::string_view bytes);
  /// Inputs that the reader takes, to begin with.
  std::vector<std::string> (*seeds)();
  /// How many changed seeds a replay tries, beside the kept inputs: fewer where one takes long.
  int changed = 2000;
};
std::span<const InputReader> input_readers();
/// The one of this name; throws Error, with the names that there are.
const InputReader& input_reader(std::string_view name);

/// Says what doesn't hold and ends the process, as a crash would.
[[noreturn]] void broken(std::string_view what, std::string_view detail);

/// The contents of files of the source tree below `folder` that end with `suffix` and are no longer than `longest`, in the order of their
/// names.
std::vector<std::string> files_of_tree(const std::string& folder, std::string_view suffix, std::size_t longest);
/// A folder in memory for this process, removed when it ends.
const std::string& scratch_folder();
std::string contents_of(const std::filesystem::path& path);
void write_contents(const std::filesystem::path& path, std::string_view contents);

// Programs and equations.
void read_jaxpr_text(std::string_view bytes);
std::vector<std::string> jaxpr_text_seeds();
void read_stablehlo_text(std::string_view bytes);
std::vector<std::string> stablehlo_text_seeds();
void read_stablehlo_binary(std::string_view bytes);
std::vector<std::string> stablehlo_binary_seeds();
void read_einsum(std::string_view bytes);
std::vector<std::string> einsum_seeds();
void read_schedule_text(std::string_view bytes);
std::vector<std::string> schedule_text_seeds();
void read_print_format(std::string_view bytes);
std::vector<std::string> print_format_seeds();
// Files of arrays, and arrays of other libraries.
void read_npy(std::string_view bytes);
std::vector<std::string> npy_seeds();
void read_npz(std::string_view bytes);
std::vector<std::string> npz_seeds();
void read_dlpack(std::string_view bytes);
std::vector<std::string> dlpack_seeds();
void read_safetensors(std::string_view bytes);
std::vector<std::string> safetensors_seeds();
void read_csv(std::string_view bytes);
std::vector<std::string> csv_seeds();
void read_png(std::string_view bytes);
std::vector<std::string> png_seeds();
// What the library itself wrote, if nobody changed it since.
void read_checkpoint(std::string_view bytes);
std::vector<std::string> checkpoint_seeds();
void read_cache_entry(std::string_view bytes);
std::vector<std::string> cache_entry_seeds();
void read_stored_program(std::string_view bytes);
std::vector<std::string> stored_program_seeds();
void read_object(std::string_view bytes);
std::vector<std::string> object_seeds();
// What other processes, the environment and command lines say.
void read_control_message(std::string_view bytes);
void read_as_control_server(std::string_view bytes);
void read_as_control_client(std::string_view bytes);
std::vector<std::string> control_message_seeds();
void read_settings(std::string_view bytes);
std::vector<std::string> settings_seeds();
void read_json(std::string_view bytes);
std::vector<std::string> json_seeds();

}  // namespace weft::fuzz
