// A request to end this process soon and cleanly: Ctrl-C or SIGTERM. What runs long
// looks at it; what cannot is given `stop_grace` and then cut off.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "core/error.h"
#include "core/units.h"

namespace collbench {

/// From now on SIGINT and SIGTERM are noted instead of ending this process. One that comes at once
/// again, as launchers and terminals send them, is the same. A later one kills the process groups
/// that kill_on_second_stop() names, so that what waits for them ends; one after that, or where
/// there is none, ends this process. Call before threads are started.
void watch_stop_signals();

/// Thread safety: any thread. The first 256 groups count.
void kill_on_second_stop(pid_t group);
void forget_group(pid_t group);

/// The first signal that came, 0 if none did. Thread safety: any thread.
int stop_signal() noexcept;
/// "SIGINT" or "SIGTERM" if one came, else "".
std::string stop_signal_name();
/// The same of what another process's stop_signal() gave.
std::string stop_name(std::int64_t number);

/// Work was left because a stop was asked for: no failure. Exit code 130 or 143.
class Stopped : public Error {
 public:
  using Error::Error;
};
/// Throws Stopped once a signal came. For work on one thread that takes long; costs a load.
void leave_if_stopped();

/// How long ago it came: 0 s if none did.
Seconds time_since_stop_signal() noexcept;

/// Waiting that cannot look at the signal is cut off so long after it, so that the process ends
/// within a second.
inline constexpr Seconds stop_grace{0.6};

}  // namespace collbench
