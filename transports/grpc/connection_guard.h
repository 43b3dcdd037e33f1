// A guard for incoming connections: listens, and admits those whose preamble proves that they are
// of the job.
//
// gRPC does not limit connections, and keeps some hundred bytes of every stream that a stranger
// opens and resets, which costs its caller twenty-two. The guard therefore accepts connections
// itself and reads what each begins with (transports/grpc/preamble.h). A caller without the job's
// token gets no further: gRPC never sees its bytes, and they take no memory here. What is proved
// goes to gRPC, or waits in take_elements() for its owner.
//
// A preamble for gRPC could be one that a stranger has recorded and repeats. So a connection of
// gRPC is watched until a stream on it has proved itself by numbers of both sides:
// - The number of unproved connections is limited; a further one closes the oldest. Workers of the
//   job prove themselves within milliseconds, so a flood rarely shuts them out.
// - A connection is closed if it is unproved after 10 s, in which this rank polled if that is what
//   its proof needs, or has sent more than a proof needs.
// A worker whose connection is closed by mistake connects again; no element has been sent by then.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/units.h"
#include "transports/grpc/greeting.h"

namespace collbench {

/// On connections whose callers have not proved that they know the token.
struct GuardLimits {
  int unproved = 1;      // connections at once
  Bytes bytes{8 << 10};  // that one may send; a proof takes one or two KiB
  Seconds patience{10.0};
};
inline constexpr Bytes most_tls_bytes{64 << 10};  // with TLS's handshake and its certificates

/// A connection that carries elements, from a rank that has proved itself.
struct ElementsConnection {
  Rank from = -1;
  Descriptor socket;
};

/// Thread safety: one owner; accepting has a thread of its own.
class ConnectionGuard {
 public:
  /// Listens on HOST:PORT, on all addresses that the host has; port 0 lets the system choose.
  /// Throws TransportError with the system's reason.
  ConnectionGuard(const std::string& address, GrpcSelf self, GuardLimits limits);
  ~ConnectionGuard();
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

  int port() const;
  /// From now on passes every connection for gRPC to `admit`, on the guard's thread; `admit` owns
  /// the descriptor.
  void open(std::function<void(int listener, int connection)> admit);
  /// Ends the thread; admits nothing more, and closes unproved connections.
  void close();

  /// Connections for elements that have come since the last call. Until the first call they are
  /// refused.
  std::vector<ElementsConnection> take_elements();
  /// Whether a caller that claimed to be this rank was told that its token differs.
  bool has_refused(Rank rank) const;

  /// The caller on this connection (named as gRPC does) has proved that it belongs to the job.
  void prove(const std::string& connection);
  /// The limit of 10 s runs only while the owner polls, since a handshake cannot advance otherwise:
  /// note_poll() reports one poll, always_polled() that a thread polls all the time.
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
