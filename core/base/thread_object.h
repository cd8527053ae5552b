// Per-thread objects that outlive the thread_local variables of their thread.
//
// A thread_local variable with a destructor is gone when an older one's destructor runs, which may be a user's that calls weft. These
// objects go after all thread_local variables of the thread, and are made anew if something asks for them still later. The main thread's
// stay when the process ends.
#pragma once

namespace weft::detail {

/// Has `node`'s destroy called when the thread has destroyed its thread_local variables; the youngest first.
struct ThreadNode {
  void (*destroy)(ThreadNode*);
  ThreadNode* older = nullptr;
};
void at_thread_end(ThreadNode* node);

/// The calling thread's T. One for each type: a type of its own for each purpose.
template <class T>
T& of_thread() {
  struct Own : ThreadNode {
    T value;
  };
  static constinit thread_local Own* mine = nullptr;
  if (!mine) [[unlikely]] {
    auto* node = new Own;
    node->destroy = [](ThreadNode* n) {
      mine = nullptr;
      delete static_cast<Own*>(n);
    };
    mine = node;
    at_thread_end(node);
  }
  return mine->value;
}

}  // namespace weft::detail
