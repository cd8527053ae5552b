// What all uses of oneDNN share. Included by sources only.
#pragma once
#include <cstddef>
#include <dnnl.hpp>

namespace weft::detail {

/// The library's own threads stay away from the calling thread's work: pieces of it are tasks of this process's pool.
void forbid_library_threads();

const dnnl::engine& library_engine();
/// The calling thread's.
const dnnl::stream& library_stream();
/// The calling thread's scratch memory, of at least so many bytes, until its next call.
void* library_scratch(std::size_t bytes);

}  // namespace weft::detail
