// How a test speaks to the fake driver, which the library under test has opened as if it were libcuda.
#pragma once

extern "C" {
/// The n-th call from now of this entry point (1: the next) gives the code; then it works again. Null: nothing fails any more.
void fake_cuda_fail(const char* call, int n, int code);
/// So many queries of events say that they are not yet reached.
void fake_cuda_busy(int queries);
/// How often an entry point was called since the last reset.
int fake_cuda_calls(const char* call);
void fake_cuda_reset_calls();
/// What exists: "memory" (blocks), "pinned", "module", "event", "stream", "graph", "exec".
int fake_cuda_live(const char* kind);
/// The k-th entry point, null after the last.
const char* fake_cuda_name(int k);
}
