// What tests/faults/inject.cpp, preloaded in front of the library, makes fail. A test that finds no such library was started without it.
#pragma once

extern "C" {

/// Kinds of calls.
enum WeftFault {
  kFaultMemory,
  kFaultMap,
  kFaultOpen,
  kFaultRead,
  kFaultWrite,
  kFaultSync,
  kFaultRename,
  kFaultThread,
  kFaultLibrary,
  kNumFaults
};

/// From here on, the n-th call (from 1) of this kind that the library makes fails, and `more` that follow it. Only calls out of the library
/// itself count, not those that other libraries make for it.
__attribute__((weak)) void weft_faults_arm(WeftFault kind, long n, long more, int error);
/// Nothing fails any longer. How many calls there were, and how many failed.
__attribute__((weak)) void weft_faults_disarm(long* calls, long* failed);

}  // extern "C"
