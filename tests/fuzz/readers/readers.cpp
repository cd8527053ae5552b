// The table of readers, and what they share.
#include "tests/fuzz/readers/readers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "weft/core/errors/error.h"

namespace weft::fuzz {

namespace fs = std::filesystem;

std::span<const InputReader> input_readers() {
  static constexpr InputReader all[] = {
      {"jaxpr", read_jaxpr_text, jaxpr_text_seeds, 6000},
      {"stablehlo", read_stablehlo_text, stablehlo_text_seeds, 6000},
      {"stablehlo_binary", read_stablehlo_binary, stablehlo_binary_seeds, 6000},
      {"einsum", read_einsum, einsum_seeds, 10000},
      {"schedule", read_schedule_text, schedule_text_seeds, 20000},
      {"print_format", read_print_format, print_format_seeds, 10000},
      {"npy", read_npy, npy_seeds, 20000},
      {"npz", read_npz, npz_seeds, 20000},
      {"dlpack", read_dlpack, dlpack_seeds, 20000},
      {"safetensors", read_safetensors, safetensors_seeds, 20000},
      {"csv", read_csv, csv_seeds, 20000},
      {"png", read_png, png_seeds, 20000},
      {"checkpoint", read_checkpoint, checkpoint_seeds, 5000},
      {"cache_entry", read_cache_entry, cache_entry_seeds, 1000},
      {"stored_program", read_stored_program, stored_program_seeds, 20000},
      {"object", read_object, object_seeds, 20000},
      {"control_message", read_control_message, control_message_seeds, 20000},
      {"control_server", read_as_control_server, control_message_seeds, 200},
      {"control_client", read_as_control_client, control_message_seeds, 200},
      {"settings", read_settings, settings_seeds, 20000},
      {"json", read_json, json_seeds, 20000},
  };
  return all;
}

const InputReader& input_reader(std::string_view name) {
  const auto all = input_readers();
  const auto found = std::find_if(all.begin(), all.end(), [&](const InputReader& r) { return r.name == name; });
  if (found != all.end()) return *found;
  std::string names;
  for (const InputReader& r : all) names += fmt::format(" {}", r.name);
  throw Error(fmt::format("there is no reader `{}`; there are{}", name, names));
}

void broken(std::string_view what, std::string_view detail) {
  fmt::print(stderr, "broken: {}\n{}\n", what, detail);
  std::fflush(stderr);
  std::abort();
}

std::vector<std::string> files_of_tree(const std::string& folder, std::string_view suffix, std::size_t longest) {
  const char* const root = std::getenv("WEFT_SOURCE");
  std::vector<fs::path> paths;
  if (root)
    for (const fs::directory_entry& e : fs::recursive_directory_iterator(fs::path(root) / folder))
      if (e.is_regular_file() && e.path().string().ends_with(suffix) && e.file_size() <= longest) paths.push_back(e.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> contents;
  for (const fs::path& p : paths) contents.push_back(contents_of(p));
  return contents;
}

const std::string& scratch_folder() {
  static const std::string path = [] {
    std::string name =
        (fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path().string()) + "/weft-readers-" + std::string(6, 'X');
    if (!mkdtemp(name.data())) throw Error("no folder for files can be made");
    static std::string to_remove;
    static pid_t maker;
    to_remove = name, maker = getpid();
    std::atexit([] {
      std::error_code ignored;
      if (getpid() == maker) fs::remove_all(to_remove, ignored);
    });
    return name;
  }();
  return path;
}

std::string contents_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_contents(const fs::path& path, std::string_view contents) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  if (!out.flush()) throw std::runtime_error("can't write " + path.string());
}

}  // namespace weft::fuzz
