// Starting threads where the system may refuse some: a limit of processes or of memory.
#pragma once

#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {

/// Appends threads of body(0), body(1), .. body(count - 1), each with a copy of `body`. Throws
/// TransportError that says how many could be started; these run on, in `threads`.
template <class Body>
void start_threads(int count, const Body& body, std::vector<std::thread>& threads) {
  for (int number = 0; number < count; ++number) {
    try {
      threads.emplace_back(body, number);
    } catch (const std::system_error& error) {
      throw TransportError(fmt::format("only {} of {} threads could be started: {}", number, count,
                                       error.code().message()));
    }
  }
}

}  // namespace collbench
