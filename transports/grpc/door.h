// Where a rank's connections come in: its listening sockets, and the connections of which nothing
// is known yet.
//
// gRPC sets no limit to connections, and a stranger who opens many and says nothing would use up
// this process's descriptors and memory. So the door accepts them itself, hands each to gRPC, and
// watches it until its caller has proved to know the job's token:
// - at most so many are unproved at once; one more, and the oldest is closed. Who belongs here
// needs
//   milliseconds, so a flood of strangers does not keep him out;
// - who has not proved himself within 10 s in which this rank polled, or sends more than 256 KiB
//   before, is closed.
// Who is closed by mistake comes again: no element has been sent by then.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/units.h"

namespace collbench {

/// Thread safety: one owner; accepting has a thread of its own.
class GrpcDoor {
 public:
  /// Listens on HOST:PORT, on all addresses that the host has; port 0 lets the system choose.
  /// Throws TransportError with the system's reason.
  GrpcDoor(const std::string& address, int most_unproved, Seconds patience = Seconds{10.0});
  ~GrpcDoor();
  GrpcDoor(const GrpcDoor&) = delete;
  GrpcDoor& operator=(const GrpcDoor&) = delete;

  int port() const;
  /// From now on gives every connection to `admit`, on the door's thread; `admit` owns the
  /// descriptor.
  void open(std::function<void(int listener, int connection)> admit);
  /// Ends the thread; nothing is admitted afterwards, and what is unproved is closed.
  void close();

  /// The caller on this connection, by gRPC's name of it, is one of us.
  void prove(const std::string& connection);
  /// Says that the owner polls: time counts against the unproved only then.
  /// Says that somebody takes what comes at any time: the time of the unproved always counts.
  void always_polled() { always_polled_ = true; }
  void note_poll() { polls_.store(polls_.load(relaxed) + 1, relaxed); }
  int unproved() const;

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  struct Room;
  std::unique_ptr<Room> room_;
  std::atomic<std::uint64_t> polls_{0};
  std::atomic<bool> always_polled_{false};
};

/// "ipv4:127.0.0.1:80", "ipv6:%5B::1%5D:80" and "ipv6:[fe80::1%251]:80" without what differs from
/// how addresses are written here: "127.0.0.1:80", "[::1]:80", "[fe80::1]:80".
std::string connection_name(const std::string& grpc_name);

}  // namespace collbench
