#include "weft/core/base/thread_object.h"

#include <pthread.h>

namespace weft::detail {
namespace {

// The values of keys are destroyed after thread_local variables, in up to four rounds while destructors create new ones; objects created
// after that are leaked.
void end_thread(void* youngest) {
  for (auto* n = static_cast<ThreadNode*>(youngest); n;) {
    ThreadNode* const older = n->older;
    n->destroy(n);
    n = older;
  }
}

struct Key {
  pthread_key_t key{};
  bool there = pthread_key_create(&key, end_thread) == 0;  // else what threads make stays
};
const Key& of_process() {
  static const Key k;
  return k;
}

}  // namespace

void at_thread_end(ThreadNode* node) {
  const Key& k = of_process();
  if (!k.there) return;
  node->older = static_cast<ThreadNode*>(pthread_getspecific(k.key));
  pthread_setspecific(k.key, node);
}

}  // namespace weft::detail
