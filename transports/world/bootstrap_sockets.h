// Connections of a bootstrap: listening, connecting with retries, and callers that have not yet
// identified themselves.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "core/units.h"
#include "transports/listening.h"
#include "transports/world/line_socket.h"

namespace collbench {

/// Pauses between attempts: 10 ms, growing by a half each time up to 1 s, and scattered by a
/// quarter either way so that ranks started together do not call together.
class BackOff {
 public:
  explicit BackOff(unsigned seed) : state_(seed * 2'654'435'769U + 1) {}
  std::chrono::milliseconds next();

 private:
  double pause_ms_ = 10;
  unsigned state_;
};

/// Connects to HOST:PORT, whichever of its addresses answers. A host that is not known yet, or
/// whose name cannot be resolved yet, is tried again; `check` is called between attempts with why
/// the last one failed, and throws to give up.
LineSocket connect_again(const std::string& address, BackOff pauses,
                         const std::function<void(const std::string& why)>& check);

/// Lets this process hold so many connections, as far as it may.
void allow_descriptors(std::size_t count);
/// How many a process needs that is one of `ranks` joined over gRPC, or that starts them.
constexpr std::size_t descriptors_for(int ranks) {
  return 4 * static_cast<std::size_t>(ranks) + 256;
}

/// Callers that have connected to a listener but not yet sent a line. Each is greeted with a number
/// of its own, and has 15 s and 1 KiB; beyond `most` callers the oldest is dropped.
class Reception {
 public:
  struct Caller {
    LineSocket socket;
    std::string number;  // it was greeted with
    std::string host;    // it comes from
    std::chrono::steady_clock::time_point until;
  };
  /// Listens at HOST:PORT as listen_at() does. Throws TransportError, led by `identity`.
  Reception(const std::string& address, const std::string& identity, std::size_t most);

  int port() const { return port_of(listeners_.front()); }
  /// Waits up to `patience` for callers, and passes each whose line has come to `said`.
  void serve(std::chrono::milliseconds patience,
             const std::function<void(Caller&& caller, const std::string& line)>& said);

 private:
  void accept_all(const Descriptor& listener);

  std::vector<Descriptor> listeners_;
  std::size_t most_;
  std::list<Caller> callers_;  // oldest first
};

}  // namespace collbench
