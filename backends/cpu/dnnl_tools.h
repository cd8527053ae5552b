// Shared code for the uses of oneDNN. Included by sources only.
#pragma once
#include <cstddef>
#include <dnnl.hpp>

namespace weft::detail {

/// Keeps oneDNN from using its own threads on this thread: pieces of its work are tasks of the process's pool.
void forbid_library_threads();

const dnnl::engine& library_engine();
/// The calling thread's oneDNN stream.
const dnnl::stream& library_stream();
/// Throws std::bad_alloc where the process could not be given the memory that the library takes for a primitive and its code: the library
/// looks at the results of some of its own allocations only.
void require_library_memory();
/// The calling thread's scratch memory, of at least so many bytes, until its next call. Throws std::bad_alloc where there is none.
void* library_scratch(std::size_t bytes);

}  // namespace weft::detail
