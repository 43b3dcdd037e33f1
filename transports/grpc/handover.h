// What ThreadSanitizer is told about objects of ours that pass through gRPC from thread to thread.
//
// gRPC orders what happens before a pointer is given to it and what happens after it comes back, by
// locks and atomics that ThreadSanitizer does not see in a library that was not built for it. Both
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

/// `object` goes to gRPC, which will give it to a thread of its choice.
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
