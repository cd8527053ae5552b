// What a process does when it ends by exit(), and its children made by fork() don't do in its place.
//
// A child inherits the handlers of its parent. One that writes the parent's file, leaves the parent's job of several processes or speaks
// for its loops would do that again when the child ends. Whatever weft has to do at the end goes through here; only the handler that keeps
// a process from ending inside of another library is each process's own (runtime/host/process_end.h). scripts/check-destructors holds the
// tree to that.
#pragma once

namespace weft::detail {

/// Has the handler called when this process ends by exit(), before those that were registered earlier; never in a child.
void at_own_exit(void (*handler)());

}  // namespace weft::detail
