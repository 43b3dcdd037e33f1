// One TCP connection between two ranks that carries elements as they are, both ways.
//
// The lower rank calls, the higher one gets the connection from its guard. No call here waits: what
// cannot go on now goes on at the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

  /// Begins a call to the port of `to` at HOST:PORT.
  void call(const std::string& address, const GrpcSelf& self, Rank to);
  /// Takes a connection that has been proved.
  void take(Descriptor socket);
  /// Goes on with a call until the connection is open. Throws TransportError if the peer answers
  /// what a rank of this run would not.
  void go_on();

  bool is_begun() const { return state_ != State::none; }
  bool is_open() const { return state_ == State::open; }
  /// Whether it waits for room or for a call to be answered; otherwise only for what is received.
  bool waits_to_write() const { return state_ == State::calling || !unsent_.empty(); }
  int descriptor() const { return socket_.number(); }
  /// Why the connection has broken; empty while it has not.
  const std::string& broken() const { return broken_; }

  /// Sends at once what there is room for, and the rest by flush(). The memory is free once
  /// `slices` is released; if all of it has gone at once, `slices` is not used.
  template <typename Start>
  void send(std::span<const std::byte> bytes, Start start) {
    const std::int64_t sent = is_open() && unsent_.empty() ? write({&bytes, 1}) : 0;
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
  enum class State { none, calling, greeting, proving, open };
  struct Unsent {
    std::span<const std::byte> bytes;
    SliceCount* slices;
  };

  std::int64_t write(std::span<const std::span<const std::byte>> parts);
  void call_next();
  void call_later();
  void begin_greeting();
  void take_answer();
  bool hear(std::size_t most);

  State state_ = State::none;
  Descriptor socket_;
  std::string broken_;
  std::deque<Unsent> unsent_;

  // Of a call that is not open yet.
  HostPort where_;
  GrpcSelf self_;
  Rank to_ = -1;
  GrpcIdentity who_;
  Addresses addresses_{nullptr, freeaddrinfo};
  const addrinfo* next_ = nullptr;  // to be tried
  Seconds pause_until_{0};
  std::string heard_;
};

}  // namespace collbench
