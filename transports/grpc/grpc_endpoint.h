// The endpoint over gRPC: one process per rank, here or on any host, joined by long-lived streams.
//
// Every rank listens on one address. Two ranks that talk open a stream to each other, at their
// first transfer: a ring opens two per rank, whatever the number of ranks. Ranks join along a
// binomial tree. The opener's direction carries the elements of its sends as raw bytes, in pieces
// that point into the caller's memory; the other direction carries control messages, and the final
// status carries the reason when a rank gives up. One completion queue serves both directions, and
// only the calling thread polls it: an endpoint advances while its thread is inside wait().
//
// gRPC cannot live through fork(): create endpoints only in processes that never fork afterwards.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/units.h"
#include "transports/endpoint.h"
#include "transports/job_security.h"

namespace collbench {

struct GrpcOptions {
  Rank rank = 0;
  int ranks = 1;
  /// How elements go; ranks with another one are refused. One word.
  std::string transport = "raw";
  /// The run's secret: a stream is refused if its opener does not prove that it has it.
  std::string job;
  TlsTexts tls;
  /// HOST:PORT to listen on; port 0 lets the system choose.
  std::string listen = "127.0.0.1:0";
  /// How long to wait for ranks to join, and for a rank that sends nothing.
  Seconds timeout{60.0};
  /// Interval at which a rank that is waited for is asked whether it is alive.
  Seconds heartbeat{5.0};
  /// Called every few seconds of connect() with the list of missing ranks.
  std::function<void(const std::string&)> on_waiting;
  /// Called several times a second of connect(); throws to give up.
  std::function<void()> while_waiting = [] {};
  /// A piece is the unit of sending; at most about `window` unread bytes are held per peer.
  Bytes piece{1 << 20};
  Bytes window{8 << 20};
};

/// Thread safety: as Endpoint. After a TransportError every member throws it again.
class GrpcEndpoint : public Endpoint {
 public:
  /// HOST:PORT it listens on, the port being the one chosen.
  virtual std::string address() const = 0;

  /// Joins all ranks, in whatever order they start; `addresses` is by rank. Throws TransportError
  /// naming the ranks that are missing after the timeout, or that belong to another run, and
  /// InvalidArgument if an address is beyond loopback and there is no token.
  virtual void connect(const std::vector<std::string>& addresses) = 0;

  /// How many streams this rank has opened to others so far.
  virtual int streams_opened() const = 0;
};

/// Throws TransportError if the address cannot be listened on, InvalidArgument for a rank out of
/// range and for what require_secure() refuses.
std::unique_ptr<GrpcEndpoint> make_grpc_endpoint(const GrpcOptions& options);

/// The same, moving data the way TensorFlow's workers do: one unary RecvBuf call per receive, the
/// payload as 4096-byte pieces in a protocol buffer. An ablation: it shows what raw streams gain.
/// Source: tensorflow/core/distributed_runtime/rpc/grpc_worker_service.cc, GrpcRecvBufAsync.
std::unique_ptr<GrpcEndpoint> make_tf_recvbuf_endpoint(const GrpcOptions& options);

/// The same over plain TCP connections beside the streams, which then carry no elements: a short
/// message takes a quarter of the time. Throws InvalidArgument for TLS, which it does not have.
std::unique_ptr<GrpcEndpoint> make_tcp_endpoint(const GrpcOptions& options);

}  // namespace collbench
