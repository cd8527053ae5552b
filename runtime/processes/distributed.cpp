#include "weft/runtime/processes/distributed.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

#include "weft/core/base/counted.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/own_exit.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/local_accelerators.h"
#include "weft/runtime/processes/control_plane.h"
#include "weft/runtime/processes/process_world.h"
#include "weft/runtime/processes/processes.h"

namespace weft {
namespace detail {
namespace {

using Clock = std::chrono::steady_clock;

// What is kept of each process must fit into memory.
constexpr int kMostProcesses = 1 << 20;

std::atomic<ProcessWorld*> world{nullptr};
std::atomic<bool> initialized{false};

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  return text && *text ? std::optional<std::string>(text) : std::nullopt;
}

template <class T>
std::optional<T> number_in(const char* name, SourceLoc loc) {
  const std::optional<std::string> text = variable(name);
  if (!text) return {};
  std::optional<T> value;
  if constexpr (std::is_integral_v<T>) {
    if (const auto n = integer_of(*text, 0, std::numeric_limits<T>::max())) value = static_cast<T>(*n);
  } else {
    value = number_of(*text, 0, kLongestTime);
  }
  if (!value) throw DistributedError(fmt::format("distributed::initialize: {} is `{}`, which is not a number", name, *text), loc);
  return value;
}

bool started_by_mpi() { return variable("OMPI_COMM_WORLD_SIZE") || variable("PMIX_RANK") || variable("PMI_RANK") || variable("PMI_SIZE"); }

/// Tasks of the step of Slurm's that this process is one of; none without srun. A batch script by itself is one process, whatever
/// SLURM_NTASKS says.
std::optional<int> slurm_tasks(SourceLoc loc) {
  if (!variable("SLURM_PROCID")) return {};
  return number_in<int>("SLURM_STEP_NUM_TASKS", loc);
}

/// How long a process may go without a heartbeat. Process 0's value counts, and is sent to the others.
Seconds heartbeat_timeout(SourceLoc loc) { return Seconds(number_in<double>("WEFT_HEARTBEAT_TIMEOUT", loc).value_or(8)); }

std::string random_token(SourceLoc loc) {
  unsigned char bytes[16];
  for (std::size_t done = 0; done < sizeof bytes;) {
    const ssize_t n = getrandom(bytes + done, sizeof bytes - done, 0);
    if (n < 0 && errno != EINTR)
      throw DistributedError(fmt::format("distributed::initialize: no random token is available: {}", std::strerror(errno)), loc);
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  std::string token;
  for (unsigned char b : bytes) token += fmt::format("{:02x}", b);
  return token;
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// The folder of this library.
std::string library_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&library_folder), &info) || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Transport* open_mpi(SourceLoc loc) {
  const std::string path = variable("WEFT_MPI_PLUGIN").value_or(library_folder() + "/weft/libweft_mpi.so");
  // MPI opens parts of its own that look for its symbols: they must be global.
  void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!plugin)
    throw DistributedError(fmt::format("distributed::initialize: the program was started by MPI, but its plugin can't be opened: {}; build "
                                       "weft where MPI is installed "
                                       "(libopenmpi-dev), or set WEFT_MPI_PLUGIN to the file",
                                       dlerror()),
                           loc);
  const auto open = reinterpret_cast<OpenTransport>(dlsym(plugin, "weft_open_transport"));
  char problem[512] = "it is not a weft plugin";
  Transport* t = open ? open(kTransportVersion, problem, sizeof problem) : nullptr;
  if (!t) throw DistributedError(fmt::format("distributed::initialize: {}: {}", path, problem), loc);
  return t;
}

void wait_for(Transport& t, Transport::Request& r, Clock::time_point deadline, const char* whom, SourceLoc loc) {
  while (!t.test(r)) {
    if (Clock::now() > deadline) throw DistributedError(fmt::format("distributed::initialize: no message from {} in time", whom), loc);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Transport::Request send(Transport& t, int to, int tag, void* data, std::size_t bytes) {
  const Transport::Piece piece{data, bytes};
  return t.send(0, to, tag, {&piece, 1});
}
Transport::Request receive(Transport& t, int from, int tag, void* data, std::size_t bytes) {
  const Transport::Piece piece{data, bytes};
  return t.receive(0, from, tag, {&piece, 1});
}

/// The address of the control plane, for all processes of an MPI job.
struct Meeting {
  char host[256] = {};
  char token[64] = {};
  int port = 0;
};

struct Joined {
  std::unique_ptr<ControlServer> server;
  Address address;
  std::string token;
};

/// Process 0 opens the store, and sends its address to the others by MPI.
Joined meet_by_mpi(Transport& t, const std::string& coordinator, Clock::time_point deadline, SourceLoc loc) {
  constexpr int kTag = 1;
  Joined j;
  Meeting m;
  if (t.rank() != 0) {
    char name[256] = {};
    std::strncpy(name, host_name().c_str(), sizeof name - 1);
    Transport::Request s = send(t, 0, kTag, name, sizeof name), r = receive(t, 0, kTag, &m, sizeof m);
    wait_for(t, s, deadline, "process 0", loc);
    wait_for(t, r, deadline, "process 0", loc);
    j.address = {m.host, m.port}, j.token = m.token;
    return j;
  }
  bool one_host = true;
  for (int r = 1; r < t.size(); ++r) {
    char name[256] = {};
    Transport::Request q = receive(t, r, kTag, name, sizeof name);
    wait_for(t, q, deadline, "another process", loc);
    name[sizeof name - 1] = 0;
    one_host &= host_name() == name;
  }
  const Address bind_to = !coordinator.empty() ? parse_address(coordinator) : Address{one_host ? "127.0.0.1" : host_name(), 0};
  j.token = random_token(loc);
  j.server = std::make_unique<ControlServer>(bind_to, j.token, t.size(), heartbeat_timeout(loc));
  j.address = j.server->address();
  std::strncpy(m.host, j.address.host.c_str(), sizeof m.host - 1);
  std::strncpy(m.token, j.token.c_str(), sizeof m.token - 1);
  m.port = j.address.port;
  for (int r = 1; r < t.size(); ++r) {
    Transport::Request q = send(t, r, kTag, &m, sizeof m);
    wait_for(t, q, deadline, "another process", loc);
  }
  return j;
}

/// A process's announcement of its devices: the number of host devices, and the kinds of the others; or what is wrong with it.
struct DevicesOfOne {
  int hosts = 0;
  std::vector<std::string> accelerators;
};
constexpr char kBetween = '\x1f';

std::string text_of(const DevicesOfOne& d) {
  std::string text = std::to_string(d.hosts);
  for (const std::string& kind : d.accelerators) text += kBetween + kind;
  return text;
}
DevicesOfOne read_devices(const std::string& text) {
  DevicesOfOne d;
  // 0 is what no process has.
  d.hosts = static_cast<int>(integer_of(std::string_view(text).substr(0, text.find(kBetween)), 1, 1024).value_or(0));
  for (std::size_t at = text.find(kBetween); at != std::string::npos;) {
    const std::size_t end = text.find(kBetween, at + 1);
    d.accelerators.push_back(text.substr(at + 1, end == std::string::npos ? end : end - at - 1));
    at = end;
  }
  return d;
}

/// Takes this process's share of the machine's GPUs.
DevicesOfOne take_devices(bool launched, SourceLoc loc) {
  DevicesOfOne d;
  d.hosts = num_host_devices();
  if (keeps_to_the_host()) return d;
  const std::vector<std::string> found = accelerators().found();
  if (found.empty()) return d;
  const std::vector<int> places = local_accelerators(static_cast<int>(found.size()), launched, loc);
  for (int i : places) d.accelerators.push_back(found[static_cast<std::size_t>(i)]);
  accelerators().choose(places);
  return d;
}

/// Those of all processes, by rank.
struct DevicesOfAll {
  std::vector<int> hosts;
  std::vector<std::vector<std::string>> accelerators;
};

/// Takes this process's devices and learns of the others'. If one can't take its own, all fail with its reason.
DevicesOfAll meet_for_devices(ControlClient& client, int rank, int size, bool launched, Clock::time_point deadline, Seconds timeout,
                              SourceLoc loc) {
  const auto key = [](int r) { return fmt::format("devices/{}", r); };
  try {
    client.set(key(rank), text_of(take_devices(launched, loc)));
  } catch (const Error& e) {
    client.set(key(rank), std::string("!") + e.message());
    client.get(key(rank), Seconds(60));  // until it is there for the others
    throw;
  }
  DevicesOfAll all;
  for (int r = 0; r < size; ++r) {
    const std::optional<std::string> text = client.get(key(r), std::max(Seconds(0.1), Seconds(deadline - Clock::now())));
    if (!text && Clock::now() < deadline)
      throw DistributedError(
          "distributed::initialize: process 0, which keeps the job's key-value store, has ended while the processes met; its own output "
          "says why",
          loc);
    if (!text)
      throw DistributedError(fmt::format("distributed::initialize: process {} of {} did not come within {:.3g} s (initialization_timeout)",
                                         r, size, timeout.count()),
                             loc);
    if (!text->empty() && (*text)[0] == '!')
      throw DistributedError(fmt::format("distributed::initialize: process {} can't take its devices: {}", r, text->substr(1)), loc);
    DevicesOfOne d = read_devices(*text);
    if (d.hosts == 0)
      throw DistributedError(fmt::format("distributed::initialize: process {} announces `{}`, which is not a list of devices", r, *text),
                             loc);
    all.hosts.push_back(d.hosts), all.accelerators.push_back(std::move(d.accelerators));
  }
  return all;
}

/// The process's state during initialization, when no collective can run yet.
class Joining final : public ProcessState {
 public:
  std::string describe() override {
    ProcessWorld* w = world.load(std::memory_order_acquire);
    return w ? w->describe()
             : std::string(
                   "0\x1f"
                   "0\x1f"
                   "0\x1f"
                   "0\x1f"
                   "0\x1f"
                   "starting");
  }
  void on_failure(const std::vector<int>& missing, const std::string& report) override {
    ProcessWorld* w = world.load(std::memory_order_acquire);
    if (w) w->on_failure(missing, report);
  }
};

void end_world() {
  if (ProcessWorld* w = world.load()) w->end();
}

/// The options that weren't given, from the environment.
void read_environment(distributed::InitializeOptions& o, SourceLoc loc) {
  if (o.coordinator_address.empty()) o.coordinator_address = variable("WEFT_COORDINATOR").value_or("");
  if (o.token.empty()) o.token = variable("WEFT_TOKEN").value_or("");
  if (!o.num_processes) o.num_processes = number_in<int>("WEFT_NUM_PROCESSES", loc);
  if (!o.process_id) o.process_id = number_in<int>("WEFT_PROCESS_ID", loc);
  if (!o.timeout) o.timeout = number_in<double>("WEFT_COLLECTIVE_TIMEOUT", loc).value_or(60);
  if (!o.initialization_timeout) o.initialization_timeout = 120;
  if (!o.check_collectives) o.check_collectives = is_switched_on("WEFT_CHECK_COLLECTIVES");
  for (const double t : {*o.timeout, *o.initialization_timeout})
    if (!(t > 0 && t <= kLongestTime))
      throw DistributedError(
          fmt::format("distributed::initialize: a timeout of {} s; it must be positive and at most {} s", t, kLongestTime), loc);
}

void begin_dry_run(const std::string& settings, Seconds timeout) {
  const DryRunSettings dry = parse_dry_run(settings);
  config.num_cpu_devices = dry.devices;
  set_processes(0, std::vector<int>(static_cast<std::size_t>(dry.processes), num_host_devices()));
  auto* w = new ProcessWorld(nullptr, nullptr, new DryTransport(dry.processes), 0, dry.processes, timeout, false);
  w->begin_dry_run(dry);
  world.store(w, std::memory_order_release);
  initialized = true;
  at_own_exit(end_world);
}

/// This process among the others, and how it reaches them.
struct Membership {
  int rank = 0, size = 1;
  bool launched = false;  ///< by what says which of a machine's processes this one is
  Transport* transport = nullptr;
  Joined joined = {};
};

Membership join_by_mpi(const std::string& coordinator, std::optional<int> slurm_tasks, Clock::time_point deadline, SourceLoc loc) {
  const auto fail = [&](const char* why) {
    throw DistributedError(fmt::format("distributed::initialize: srun started {}, but {}; start them with srun --mpi=pmix, or with "
                                       "mpirun, or give a coordinator's address (WEFT_COORDINATOR)",
                                       counted(*slurm_tasks, "process", "processes"), why),
                           loc);
  };
  if (!started_by_mpi()) fail("it gave MPI no way to find them");  // MPI itself would end the process
  Membership m{.launched = true, .transport = open_mpi(loc)};
  m.rank = m.transport->rank(), m.size = m.transport->size();
  if (m.size == 1 && slurm_tasks.value_or(1) > 1) fail("MPI finds only this one");
  if (m.size > 1) m.joined = meet_by_mpi(*m.transport, coordinator, deadline, loc);
  return m;
}

Membership join_by_address(const distributed::InitializeOptions& o, std::optional<int> slurm_tasks, SourceLoc loc) {
  const bool by_slurm = slurm_tasks.value_or(1) > 1;
  std::optional<Int> size = o.num_processes, rank = o.process_id;
  Membership m{.launched = by_slurm && !size && !rank};
  if (!size && by_slurm) size = slurm_tasks;
  if (!rank && by_slurm) rank = number_in<int>("SLURM_PROCID", loc);
  if (!size || !rank)
    throw DistributedError(
        "distributed::initialize: a coordinator address is given, but not the number of processes and this one's (WEFT_NUM_PROCESSES, "
        "WEFT_PROCESS_ID)",
        loc);
  m.rank = checked_int(*rank, "distributed::initialize", "process_id", loc);
  m.size = checked_int(*size, "distributed::initialize", "num_processes", loc);
  if (m.size < 1 || m.rank < 0 || m.rank >= m.size)
    throw DistributedError(fmt::format("distributed::initialize: there is no process {} of {}", m.rank, m.size), loc);
  if (m.size > kMostProcesses)
    throw DistributedError(
        fmt::format("distributed::initialize: num_processes (WEFT_NUM_PROCESSES) is {}; it may be {} at most", m.size, kMostProcesses),
        loc);
  m.joined.address = parse_address(o.coordinator_address), m.joined.token = o.token;
  // Other users of the machine can connect to the loopback interface too.
  if (o.token.empty() && m.size > 1)
    throw DistributedError(
        "distributed::initialize: anybody could join the job; give all processes one secret as `token` (WEFT_TOKEN), such as `openssl rand "
        "-hex 16` prints",
        loc);
  if (m.rank == 0) {
    m.joined.server = std::make_unique<ControlServer>(m.joined.address, m.joined.token, m.size, heartbeat_timeout(loc));
    m.joined.address = m.joined.server->address();
  }
  return m;
}

Membership join_others(const distributed::InitializeOptions& o, Clock::time_point deadline, SourceLoc loc) {
  const std::optional<int> tasks = slurm_tasks(loc);
  if (!o.num_processes && !o.process_id && (started_by_mpi() || (tasks.value_or(1) > 1 && o.coordinator_address.empty())))
    return join_by_mpi(o.coordinator_address, tasks, deadline, loc);
  if (!o.coordinator_address.empty()) return join_by_address(o, tasks, loc);
  if (o.num_processes.value_or(1) != 1)
    throw DistributedError(fmt::format("distributed::initialize: {} processes, and no coordinator address to meet at (WEFT_COORDINATOR)",
                                       std::int64_t{*o.num_processes}),
                           loc);
  return {};
}

/// Exchanges what each process has, and makes the world of all of them.
void begin_world(Membership m, const distributed::InitializeOptions& o, Clock::time_point deadline, SourceLoc loc) {
  static auto& state = process_wide<Joining>();
  auto client =
      std::make_unique<ControlClient>(m.joined.address, m.joined.token, m.rank, m.size, &state, Seconds(*o.initialization_timeout));
  DevicesOfAll devices;
  try {
    devices = meet_for_devices(*client, m.rank, m.size, m.launched, deadline, Seconds(*o.initialization_timeout), loc);
  } catch (...) {
    // The process that keeps the store stays until the others have read why; it does not wait longer for one that never came.
    if (m.rank == 0) client->leave_failed(std::clamp(Seconds(deadline - Clock::now()), Seconds(1), Seconds(60)));
    throw;
  }
  set_processes(m.rank, devices.hosts, devices.accelerators);
  world.store(new ProcessWorld(std::move(m.joined.server), std::move(client), m.transport, m.rank, m.size, Seconds(*o.timeout),
                               *o.check_collectives),
              std::memory_order_release);
  initialized = true;
  at_own_exit(end_world);
}

}  // namespace

ProcessWorld* process_world() { return world.load(std::memory_order_acquire); }
bool compares_programs() {
  const ProcessWorld* const w = process_world();
  return w && w->compares_calls();
}

}  // namespace detail

namespace distributed {

using namespace detail;

void initialize(InitializeOptions o, SourceLoc given) try {
  const SourceLoc loc = effective_loc(given);
  if (initialized.load()) throw DistributedError("distributed::initialize: it was called before; call it once, at the start", loc);
  if (devices_were_used())
    throw DistributedError(
        "distributed::initialize: a device was used before it, by an array or by devices(); call it first in the program", loc);
  read_environment(o, loc);
  if (const std::optional<std::string> text = variable("WEFT_DRY_RUN")) return begin_dry_run(*text, Seconds(*o.timeout));
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(*o.initialization_timeout));
  Membership m = join_others(o, deadline, loc);
  if (m.size > 1) return begin_world(std::move(m), o, deadline, loc);
  static Transport* alone = nullptr;
  alone = m.transport;
  if (alone) at_own_exit([] { alone->finalize(); });
  initialized = true;
} catch (...) {
  detail::rethrow_as_error("distributed::initialize", given);
}

bool is_initialized() { return initialized.load() && !(process_world() && process_world()->has_ended()); }

void shutdown() { end_world(); }

}  // namespace distributed
}  // namespace weft
