// One TCP connection between two ranks that carries elements as they are, both ways.
//
// The lower rank calls, the higher one gets the connection from its guard. Once it is open no call
// waits: what cannot go on now goes on at the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "transports/grpc/greeting.h"
#include "transports/grpc/stream.h"
#include "transports/listening.h"

namespace collbench {

/// Thread safety: one thread.
class TcpLink {
 public:
  TcpLink() = default;
  ~TcpLink();
  TcpLink(const TcpLink&) = delete;
  TcpLink& operator=(const TcpLink&) = delete;

  /// Calls the port of `to` at HOST:PORT, unless that was tried a moment ago; waits for some
  /// seconds at most. Throws TransportError if the peer answers what a rank of this run would not.
  void call(const std::string& address, const GrpcSelf& self, Rank to);
  /// Takes a connection that has been proved.
  void take(Descriptor socket);

  bool is_open() const { return socket_.number() >= 0; }
  /// Whether it waits for room, not only for what is received.
  bool waits_to_write() const { return !unsent_.empty(); }
  int descriptor() const { return socket_.number(); }
  /// Bytes sent so far.
  std::int64_t sent() const { return sent_; }
  /// Why the connection has broken; empty while it has not.
  const std::string& broken() const { return broken_; }

  /// Sends at once what there is room for, and the rest by flush(). The memory is free once
  /// `slices` is released; if all of it has gone at once, `slices` is not used.
  template <typename Start>
  void send(std::span<const std::byte> bytes, Start start) {
    const std::int64_t sent = is_open() && unsent_.empty() ? write(bytes) : 0;
    if (sent == std::ssize(bytes)) return;
    SliceCount& slices = start();
    slices.add();
    unsent_.push_back({bytes.subspan(static_cast<std::size_t>(sent)), &slices});
  }
  /// Whether anything went.
  bool flush();
  /// Receives what there is, at most `into`; how many bytes.
  std::int64_t read(std::span<std::byte> into);

 private:
  struct Unsent {
    std::span<const std::byte> bytes;
    SliceCount* slices;
  };

  std::int64_t write(std::span<const std::byte> bytes);
  std::int64_t moved(ssize_t n);  // what a call of the system says

  Descriptor socket_;
  std::string broken_;
  std::deque<Unsent> unsent_;
  std::int64_t sent_ = 0;
  Seconds pause_until_{0};  // between calls
  Seconds patience_{0.1};   // with the next one
};

}  // namespace collbench
