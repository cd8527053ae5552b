"""JAX's compilation cache (jax_compilation_cache_dir) on the platform weft: JAX keeps programs of the platforms on a list of its own, and leaves out
those that call functions of this process, which it knows of on its own platforms."""
import types


def register():
    from jax._src import compilation_cache, compiler
    from weft_jax import callbacks

    is_used = compilation_cache.is_cache_used
    compile_and_write = compiler._compile_and_write_cache
    listed = types.SimpleNamespace(platform="cpu", supports_executable_serialization=True)

    def is_cache_used(backend):
        return is_used(listed if backend.platform == "weft" else backend)

    def compile_and_write_cache(backend, computation, executable_devices, compile_options, host_callbacks, module_name, cache_key):
        if backend.platform != "weft" or not callbacks.are_called_by(computation):
            return compile_and_write(backend, computation, executable_devices, compile_options, host_callbacks, module_name, cache_key)
        executable = compiler.backend_compile_and_load(backend, computation, executable_devices, compile_options, host_callbacks)
        # Writes nothing, and says so where jax_explain_cache_misses asks for it.
        compiler._cache_write(cache_key, 0.0, module_name, backend, executable, host_callbacks=["weft.host_callback"])
        return executable

    compilation_cache.is_cache_used = is_cache_used
    compiler._compile_and_write_cache = compile_and_write_cache
