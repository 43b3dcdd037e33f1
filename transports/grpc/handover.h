// Annotations for ThreadSanitizer on objects that pass through gRPC from thread to thread.
//
// Handing a pointer to gRPC happens before gRPC hands it back, by locks and atomics that
// ThreadSanitizer cannot see, because the installed gRPC is not instrumented. Both
// functions do nothing in other builds. Where gRPC's own memory reaches us, through a completion
// queue, there is nothing to annotate: tests/tsan.suppressions names the libraries instead.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace collbench {

/// `object` goes to gRPC, which may hand it to any thread.
inline void hand_to_grpc([[maybe_unused]] void* object) {
#ifdef SANITIZER_TSAN_INTERFACE_H
  __tsan_release(object);
#endif
}

/// gRPC has given `object` to this thread.
inline void take_from_grpc([[maybe_unused]] void* object) {
#ifdef SANITIZER_TSAN_INTERFACE_H
  __tsan_acquire(object);
#endif
}

}  // namespace collbench
