// Files: what is written takes its place whole or not at all, what is not a file of weft's is never removed.
#include "weft/core/base/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "tests/folder.h"
#include "weft/core/base/own_folder.h"
#include "weft/core/errors/error.h"
#include "weft/core/io/io.h"
#include "weft/io.h"
#include "weft/stablehlo.h"
#include "weft/weft.h"

using namespace weft;
using namespace weft::test;
using weft::sharding::P;
namespace fs = std::filesystem;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat s{};
  REQUIRE(lstat(path.c_str(), &s) == 0);
  return s.st_mode;
}

/// No file can be longer than this while it lives: a disk that is full. The signal of that limit would end the process.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

bool is_marked_name(std::string_view name) { return name.starts_with("file-"); }
constexpr detail::OwnKind kKind{"mark", "weft test", is_marked_name, "magic"};

}  // namespace

TEST_CASE("files: a folder, or a path with a zero byte, is an error that says so") {
  const test::Folder folder;
  const std::string dir = folder.path + "/dir.npy", whole = folder.path + "/x.npy", cut = whole + '\0' + "y";
  fs::create_directory(dir);
  save(whole, ones(2)), save_npz(folder.path + "/x.npz", {{"x", ones(2)}});
  const std::string before = contents(whole);
  const std::vector<std::function<void(const std::string&)>> readers{
      [](const auto& p) { load(p); },     [](const auto& p) { load_npz(p); }, [](const auto& p) { load_safetensors(p); },
      [](const auto& p) { load_csv(p); }, [](const auto& p) { load_png(p); }, [](const auto& p) { load_jaxpr(p); }};
  const std::vector<std::function<void(const std::string&)>> writers{[](const auto& p) { save(p, ones(3)); },
                                                                     [](const auto& p) { save_npz(p, {{"x", ones(3)}}); },
                                                                     [](const auto& p) { save_safetensors(p, {{"x", ones(3)}}); },
                                                                     [](const auto& p) { save_csv(p, ones({2, 2})); },
                                                                     [](const auto& p) { save_png(p, zeros({2, 2}, uint8)); },
                                                                     [](const auto& p) { save_checkpoint(p, ones(2)); }};
  const auto message = [](const auto& f, const std::string& path) {
    try {
      f(path);
    } catch (const IoError& e) {
      return e.message();
    }
    return std::string("no IoError");
  };
  for (const auto& f : readers) {
    CHECK(message(f, dir).find("Is a directory") != std::string::npos);
    CHECK(message(f, cut).find("x.npy\\0y: a path can't have a zero byte in it") != std::string::npos);
  }
  for (const auto& f : writers) CHECK(message(f, cut).find("a path can't have a zero byte in it") != std::string::npos);
  CHECK(contents(whole) == before);
  CHECK(names(folder.path) == std::vector<std::string>{"dir.npy", "x.npy", "x.npz"});
}

TEST_CASE("files: a device that never ends is an error, not memory that fills") {
  for (const char* device : {"/dev/zero", "/dev/urandom", "/dev/full"}) {
    if (access(device, R_OK) != 0) continue;
    CHECK_THROWS_WITH_AS(load(device), doctest::Contains("it is a device, which need not end"), IoError);
    CHECK_THROWS_WITH_AS(load_npz(device), doctest::Contains("it is a device, which need not end"), IoError);
  }
  CHECK_THROWS_WITH_AS(load_npz("/dev/null"), doctest::Contains("/dev/null"), IoError);
}

TEST_CASE("files: what can't be written whole leaves the old file and nothing else") {
  const test::Folder folder;
  const std::string npy = folder.path + "/w.npy", npz = folder.path + "/w.npz", svg = folder.path + "/w.svg";
  const Array small = arange(10, float32), large = zeros({100000});
  save(npy, small), save_npz(npz, {{"a", small}});
  const std::string old_npy = contents(npy), old_npz = contents(npz);
  const auto jitted = jit([](const Array& x) { return x * 2.f; }).lower(small).compile();
  export_object(jitted, folder.path + "/twice");
  const std::string object = contents(folder.path + "/twice.o"), header = contents(folder.path + "/twice.h");
  const std::vector<std::string> before = names(folder.path);
  {
    const FullDisk full(1000);
    CHECK_THROWS_AS(save(npy, large), IoError);
    CHECK_THROWS_AS(save_npz(npz, {{"a", large}}), IoError);
    CHECK_THROWS_AS(save(folder.path + "/new.npy", large), IoError);
    CHECK_THROWS_AS(save_npz(folder.path + "/new.npz", {{"a", large}}), IoError);
  }
  {
    const FullDisk full(100);
    CHECK_THROWS_AS(export_object(jitted, folder.path + "/twice"), IoError);
    CHECK_THROWS_AS(save_array_sharding(device_put(zeros({64, 2}), NamedSharding(make_mesh({1}, {"i"}), P("i"))), svg), IoError);
  }
  CHECK(contents(npy) == old_npy);
  CHECK(contents(npz) == old_npz);
  CHECK(contents(folder.path + "/twice.o") == object);
  CHECK(contents(folder.path + "/twice.h") == header);
  CHECK(names(folder.path) == before);
  save(npy, large);
  CHECK(load(npy).size() == 100000);
  CHECK(names(folder.path) == before);
}

TEST_CASE("files: one that is given up, or is one of two that belong together, leaves everything as it was") {
  const test::Folder folder;
  const std::string a = folder.path + "/a";
  put(a, "old");
  {
    detail::NewFile f("test", a, {});
    f.write("new");
    f.finish();
    CHECK(contents(a) == "old");
  }
  CHECK(contents(a) == "old");
  CHECK(names(folder.path) == std::vector<std::string>{"a"});
  detail::NewFile f("test", a, {});
  f.write("ne"), f.write(""), f.write("w");
  f.place();
  CHECK(contents(a) == "new");
  CHECK(names(folder.path) == std::vector<std::string>{"a"});
}

TEST_CASE("files: permissions are kept, and what may not be written is not replaced") {
  const test::Folder folder;
  const std::string a = folder.path + "/a.npy", fresh = folder.path + "/fresh.npy";
  const mode_t mask = umask(0027);
  save(a, ones({2}));
  CHECK((mode_of(a) & 07777) == 0640);
  for (const mode_t mode : {mode_t{0600}, mode_t{0666}, mode_t{0751}}) {
    chmod(a.c_str(), mode);
    save(a, ones({3}));
    CHECK((mode_of(a) & 07777) == mode);
  }
  umask(mask);
  if (geteuid() == 0) {
    REQUIRE(chown(a.c_str(), 1234, 4321) == 0);
    save(a, ones({4}));
    struct stat s{};
    stat(a.c_str(), &s);
    CHECK(s.st_uid == 1234);
    CHECK(s.st_gid == 4321);
  } else {
    chmod(a.c_str(), 0444);
    CHECK_THROWS_AS(save(a, ones({4})), IoError);
    CHECK(load(a).size() == 3);
  }
}

TEST_CASE("files: links stay, and what they point to is replaced") {
  const test::Folder folder;
  const std::string& f = folder.path;
  fs::create_directory(f + "/data");
  put(f + "/data/real.npy", "old");
  fs::create_symlink("data/real.npy", f + "/one");
  fs::create_symlink(f + "/one", f + "/two");
  save(f + "/two", arange(3));
  CHECK(fs::is_symlink(f + "/one"));
  CHECK(fs::is_symlink(f + "/two"));
  CHECK_FALSE(fs::is_symlink(f + "/data/real.npy"));
  CHECK(load(f + "/data/real.npy").size() == 3);
  CHECK(names(f) == std::vector<std::string>{"data", "one", "two"});
  // To what is not there yet.
  fs::create_symlink("data/later.npy", f + "/three");
  save(f + "/three", arange(4));
  CHECK(fs::is_symlink(f + "/three"));
  CHECK(load(f + "/data/later.npy").size() == 4);
  fs::create_symlink("loop", f + "/loop");
  CHECK_THROWS_AS(save(f + "/loop", arange(4)), IoError);
}

TEST_CASE("files: what is not a regular file is written through, or refused, and never removed") {
  const test::Folder folder;
  const std::string pipe = folder.path + "/pipe", sub = folder.path + "/sub", socket_path = folder.path + "/socket";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::string got;
  std::thread reader([&] { got = contents(pipe); });
  save(pipe, arange(5, float32));
  reader.join();
  CHECK(S_ISFIFO(mode_of(pipe)));
  put(folder.path + "/copy.npy", got);
  CHECK(load(folder.path + "/copy.npy").size() == 5);
  // Whoever reads leaves in the middle: an error, not a signal.
  std::thread leaver([&] { close(open(pipe.c_str(), O_RDONLY)); });
  CHECK_THROWS_AS(save(pipe, zeros({1000000})), IoError);
  leaver.join();
  CHECK(S_ISFIFO(mode_of(pipe)));
  CHECK_THROWS_AS(detail::write_file(pipe, {"x"}, {}, "test", {detail::Sync::none, detail::Target::regular}), IoError);
  CHECK_THROWS_AS(detail::read_regular_file(pipe, {}, "test"), IoError);

  fs::create_directory(sub);
  CHECK_THROWS_AS(save(sub, ones({2})), IoError);
  CHECK_THROWS_AS(save(sub + "/", ones({2})), IoError);
  CHECK_THROWS_AS(save(folder.path + "/none/w.npy", ones({2})), IoError);
  CHECK_THROWS_AS(save("", ones({2})), IoError);
  CHECK(fs::is_directory(sub));
  CHECK_THROWS_AS(load(sub), IoError);

  const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{AF_UNIX, {}};
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof address.sun_path - 1);
  REQUIRE(bind(s, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK_THROWS_AS(save(socket_path, ones({2})), IoError);
  CHECK(S_ISSOCK(mode_of(socket_path)));
  close(s);

  CHECK_THROWS_AS(save("/dev/full", zeros({100000})), IoError);
  CHECK(S_ISCHR(mode_of("/dev/full")));
  save("/dev/null", ones({2}));
  CHECK(S_ISCHR(mode_of("/dev/null")));
  // As root a folder of devices can be changed: one of the test's own.
  const std::string device = folder.path + "/full";
  if (mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 7)) == 0) {
    CHECK_THROWS_AS(save(device, zeros({100000})), IoError);
    CHECK(S_ISCHR(mode_of(device)));
  }
  CHECK(names(folder.path).size() <= 5);
}

TEST_CASE("files: an open file under its number is written through, as whoever opened it goes on with it") {
  const test::Folder folder;
  const std::string path = folder.path + "/out";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const Array x = arange(3, float32);
  save("/dev/fd/" + std::to_string(fd), x);
  struct stat open_one{}, named{};
  fstat(fd, &open_one), stat(path.c_str(), &named);
  CHECK(open_one.st_ino == named.st_ino);
  CHECK(load(path).size() == 3);
  // Without a name, too.
  unlink(path.c_str());
  CHECK(load("/dev/fd/" + std::to_string(fd)).size() == 3);
  close(fd);
}

TEST_CASE("files: only files of its own are removed from folders of its own") {
  const test::Folder folder;
  const std::string own = folder.path + "/own", theirs = folder.path + "/theirs";
  fs::create_directory(own), fs::create_directory(theirs);
  put(theirs + "/file-1", "magic"), put(theirs + "/thesis", "text");
  CHECK_FALSE(detail::OwnFolder::mark(theirs, kKind, "weft test\n", {}));
  CHECK_FALSE(detail::OwnFolder::open(theirs, kKind));
  put(theirs + "/mark", "another's mark");
  CHECK_FALSE(detail::OwnFolder::open(theirs, kKind));
  CHECK_FALSE(detail::OwnFolder::open(folder.path + "/none", kKind));

  auto f = detail::OwnFolder::mark(own, kKind, "weft test\n", {});
  REQUIRE(f);
  fs::create_symlink("own", folder.path + "/link");
  CHECK_FALSE(detail::OwnFolder::open(folder.path + "/link", kKind));
  put(own + "/file-1", "magic"), put(own + "/file-2", "another's"), put(own + "/notes", "magic"), put(own + "/file-empty", "");
  mkfifo((own + "/file-pipe").c_str(), 0600), fs::create_directory(own + "/file-folder"), fs::create_symlink("file-1", own + "/file-link");
  for (const char* name :
       {"file-2", "notes", "file-empty", "file-pipe", "file-folder", "file-link", "mark", "file-none", "../theirs/file-1"})
    CHECK_FALSE(f->remove(name));
  CHECK(names(own).size() == 8);
  CHECK(f->remove("file-1"));
  CHECK_FALSE(f->remove_all());
  CHECK(contents(own + "/notes") == "magic");
  for (const char* name : {"file-2", "notes", "file-empty", "file-pipe", "file-folder", "file-link"}) fs::remove(own + "/" + name);
  put(own + "/file-3", "magic");
  CHECK(f->remove_all());
  CHECK_FALSE(fs::exists(own));
  CHECK(names(theirs).size() == 3);
}

TEST_CASE("files: what a process that died was writing is removed, what one is writing is not") {
  const test::Folder folder;
  auto f = detail::OwnFolder::mark(folder.path, kKind, "weft test\n", {});
  REQUIRE(f);
  const std::string dead = ".weft-999-0-1f.new", alive = ".weft-999-1-2e.new", theirs = ".weft-notes.new";
  put(folder.path + "/" + dead, "half"), put(folder.path + "/" + alive, "half"), put(folder.path + "/" + theirs, "theirs");
  const int held = open((folder.path + "/" + alive).c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(flock(held, LOCK_EX) == 0);
  CHECK(f->remove_abandoned(dead));
  CHECK_FALSE(f->remove_abandoned(alive));
  CHECK_FALSE(f->remove_abandoned(theirs));
  close(held);
  CHECK(f->remove_abandoned(alive));
  CHECK(names(folder.path) == std::vector<std::string>{theirs, "mark"});
}

TEST_CASE("files: one that doesn't fit into memory is an error that names it, for every reader") {
  const int file = memfd_create("large", MFD_CLOEXEC);
  REQUIRE(ftruncate(file, std::int64_t{1} << 60) == 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto refused = [&](auto read) {
    try {
      read();
    } catch (const MemoryError& e) {
      return std::string(e.what()).find(path) != std::string::npos;
    }
    return false;
  };
  CHECK(refused([&] { load(path); }));
  CHECK(refused([&] { load_npz(path); }));
  CHECK(refused([&] { load_csv(path); }));
  CHECK(refused([&] { load_png(path); }));
  CHECK(refused([&] { load_jaxpr(path); }));
  CHECK(refused([&] { load_stablehlo(path); }));
  close(file);
}

TEST_CASE("files: folders that are made on the way are known, and removed where nothing is in them") {
  const test::Folder folder;
  const std::string& f = folder.path;
  const auto made = detail::make_folders(f + "/a/b/c/", {}, "test");
  CHECK(made == std::vector<std::string>{f + "/a", f + "/a/b", f + "/a/b/c"});
  CHECK(detail::make_folders(f + "/a/b", {}, "test").empty());
  put(f + "/a/file", "");
  detail::remove_empty_folders(made);
  CHECK(names(f + "/a") == std::vector<std::string>{"file"});
  CHECK_THROWS_AS(detail::make_folders(f + "/a/file/b", {}, "test"), IoError);
  CHECK_THROWS_AS(detail::make_folders(f + "/new/" + std::string(300, 'x'), {}, "test"), IoError);
  CHECK(names(f) == std::vector<std::string>{"a"});
}
