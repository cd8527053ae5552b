#pragma once

namespace weft {

/// Settings of the process.
struct Config {
  /// How many devices the host's processor is shown as. Read at the first use of any device; WEFT_NUM_CPU_DEVICES gives the default.
  int num_cpu_devices = 1;
  /// Whether the operation that makes the first NaN or infinity out of finite numbers throws Error, which names it and its line; also
  /// inside jit, vmap, pmap and control flow, whose programs are then interpreted (jax_debug_nans, jax_debug_infs).
  bool debug_nans = false;
  /// Whether a key of random numbers that is used twice is an Error, also in functions that are traced; it names both lines
  /// (jax_debug_key_reuse).
  bool debug_key_reuse = false;
  /// Whether a function that keeps a traced value beyond its end throws LeakedTracerError there and then, with the line that made the
  /// value, instead of where the value is used (jax_check_tracer_leaks).
  bool check_tracer_leaks = false;
  /// Whether jit says on stderr what is different from the calls before each time that it traces a function again
  /// (jax_explain_cache_misses).
  bool explain_recompiles = false;
  /// How many programs one jitted function keeps, for as many combinations of shapes, dtypes and static values; beyond it the one that was
  /// not used for longest goes, and is traced and compiled again when it is called for. 0: as WEFT_JIT_CACHE_SIZE says, else 4096.
  int jit_cache_size = 0;
  /// Whether pmap, shard_map and smap move arguments that are committed to other devices, or (pmap) divided otherwise, to where they need
  /// them. Without it such an argument is a ShardingError. WEFT_IMPLICIT_RESHARD=1 says the same.
  bool implicit_reshard = false;
  /// After how many programs of one function that differ in static values alone jit says so on stderr, once, with the argument, its values,
  /// the user's line and what to do. 0: as WEFT_WARN_AFTER_RECOMPILES says, else 16; a negative number: never.
  int warn_after_recompiles = 0;
};
/// The one of the process, also in libraries that are compiled with -fvisibility=hidden.
[[gnu::visibility("default")]] inline Config config;

}  // namespace weft
