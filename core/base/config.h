// Settings of the process that a program may change while it runs.
#pragma once

namespace weft {

/// Settings of the process.
struct ProcessConfig {
  /// The number of CPU devices, which share the host's processor. Read at the first use of any device; WEFT_NUM_CPU_DEVICES is the default.
  int num_cpu_devices = 1;
  /// Whether the operation that makes the first NaN or infinity out of finite numbers throws Error, which names it and its line; also
  /// inside jit, vmap, pmap and control flow, whose programs are then interpreted (jax_debug_nans, jax_debug_infs).
  bool debug_nans = false;
  /// Whether the second use of a random key is an Error, also in functions that are traced. The error names both lines
  /// (jax_debug_key_reuse).
  bool debug_key_reuse = false;
  /// Whether a function that keeps a traced value beyond its end throws LeakedTracerError there and then, with the line that made the
  /// value, instead of where the value is used (jax_check_tracer_leaks).
  bool check_tracer_leaks = false;
  /// Whether jit writes to stderr, each time it traces a function again, what differs from the calls before
  /// (jax_explain_cache_misses).
  bool explain_recompiles = false;
  /// The number of programs that one jitted function keeps, one for each combination of shapes, dtypes and static values. The least
  /// recently used one is dropped first; its next call traces and compiles it again. 0: the value of WEFT_JIT_CACHE_SIZE, or 4096.
  int jit_cache_size = 0;
  /// Whether pmap, shard_map, smap and jit with in_shardings move arguments that are committed to other devices, or (pmap, jit) sharded in
  /// another way, to where they need them. Without it such an argument is a ShardingError. WEFT_IMPLICIT_RESHARD=1 has the same effect.
  bool implicit_reshard = false;
  /// The number of programs of one function that differ only in static values, after which jit warns on stderr, once, with the argument,
  /// its values, the user's line and the remedy. 0: the value of WEFT_WARN_AFTER_RECOMPILES, or 16; a negative number: never.
  int warn_after_recompiles = 0;
  /// Whether subnormal numbers (below 1.2e-38 in float32, 2.2e-308 in float64) count as zeros in what the CPU computes, as they do in XLA.
  /// Processors compute with them up to a hundred times more slowly, which decaying sums and powers meet. WEFT_FLUSH_SUBNORMALS=1 has the
  /// same effect.
  bool flush_subnormals = false;
};
/// The settings of this process: one object, also for libraries that are compiled with -fvisibility=hidden.
[[gnu::visibility("default")]] inline ProcessConfig config;

}  // namespace weft
