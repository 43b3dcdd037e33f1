// Runs one function per rank on threads, as the ranks of a shared-memory world.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "tests/transports/kept_threads.h"

#include "transports/shm/shm_world.h"
#include "transports/waiting.h"

namespace collbench {

/// One vector per rank.
using FloatBuffers = std::vector<std::vector<float>>;

inline Region float_region(std::vector<float>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), std::ssize(values), DataType::f32};
}

/// Calls body(endpoint) for every rank; waits for all, then rethrows the first rank's exception.
inline void on_thread_ranks(int ranks, const std::function<void(std::unique_ptr<Endpoint>)>& body,
                            const ShmOptions& options = {.timeout = Seconds{20.0}}) {
  const auto world = allocate_shm_world(ranks, options);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  kept_threads().run(ranks, [&](Rank r) {
    take_short_turns();
    try {
      body(make_shm_endpoint({.world = world.get()}, r));
    } catch (const std::exception& error) {
      failures[static_cast<std::size_t>(r)] = std::current_exception();
      abort_shm_world(world.get(), error.what());
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace collbench
