// The two ends of one gRPC stream: the opener sends elements, the accepter control messages.
// Callers of parameter servers use the opener's end, too: it sends requests, and gets answers.
//
// Both are state machines over tags of one completion queue, and both begin with the greeting of
// transports/grpc/greeting.h. A stream may be destroyed only when it is idle, that is when none of
// its tags is in the queue any more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "transports/endpoint.h"
#include "transports/grpc/greeting.h"

namespace grpc {
class AsyncGenericService;
class Channel;
class CompletionQueue;
class ServerCompletionQueue;
}  // namespace grpc

namespace collbench {

/// An entry of the completion queue: run() is called when it comes out.
class GrpcTag {
 public:
  explicit GrpcTag(std::function<void(bool ok)> action) : action_(std::move(action)) {}
  /// Marks it as being in the queue, and returns the tag for gRPC.
  void* put() {
    pending_ = true;
    return this;
  }
  bool pending() const { return pending_; }
  void run(bool ok) {
    pending_ = false;
    action_(ok);
  }

 private:
  std::function<void(bool ok)> action_;
  bool pending_ = false;
};

/// How a stream ended.
struct StreamEnd {
  /// `foreign`: neither end has authenticated itself, because token or version differ.
  enum class Kind { closed, aborted, refused, foreign, unreachable, lost };
  Kind kind;
  std::string text;
};

/// Counts the slices of a send that gRPC still holds. It lives until its owner and the last slice
/// have released it: gRPC may release a slice late, on a thread of its own, when nothing waits.
class SliceCount {
 public:
  struct Drop {
    void operator()(SliceCount* count) const { count->drop(); }
  };
  using Owner = std::unique_ptr<SliceCount, Drop>;
  static Owner make() { return Owner(new SliceCount); }

  void add() { held_.fetch_add(1, std::memory_order_relaxed); }
  void drop() {
    if (held_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  /// Only the owner is left.
  bool released() const { return held_.load(std::memory_order_acquire) == 1; }

 private:
  SliceCount() = default;
  std::atomic<std::int32_t> held_{1};
};

class IncomingStream;

/// Callbacks of the opener's end, made while the completion queue is polled.
class OutgoingEvents {
 public:
  virtual ~OutgoingEvents() = default;
  virtual void opened(Rank to) = 0;
  virtual void control(Rank from, std::string message) = 0;
  virtual void outgoing_ended(Rank to, const StreamEnd& end) = 0;
};

/// Callbacks of the accepter's end.
class IncomingEvents {
 public:
  virtual ~IncomingEvents() = default;
  /// An unauthenticated call has arrived. The stream does the greeting by itself; another stream
  /// must be made to wait for the next call.
  virtual void called(IncomingStream& stream) = 0;
  /// The caller has proved that it knows the token. Must accept or refuse.
  virtual void arrived(IncomingStream& stream, const GrpcIdentity& identity) = 0;
  /// A call that was answered has ended without a proof; the identity in `claimed` is unverified.
  virtual void went_away(const GrpcIdentity& claimed) = 0;
  /// The next read starts only with IncomingStream::read().
  virtual void received(Rank from, std::span<const std::span<const std::byte>> pieces,
                        const std::shared_ptr<const void>& keeper) = 0;
  virtual void incoming_ended(Rank from, const StreamEnd& end) = 0;
};

class OutgoingStream {
 public:
  /// Calls `method`, one of grpc_names, of the listener `to`. What is sent leaves in messages of
  /// `piece` bytes at most, but for copies, which are never divided.
  OutgoingStream(const std::shared_ptr<grpc::Channel>& channel, grpc::CompletionQueue& queue,
                 const char* method, Rank to, const GrpcSelf& self, std::int64_t piece,
                 OutgoingEvents& events);
  ~OutgoingStream();

  /// Sends from the caller's memory, which is free once `slices` is released.
  void send(std::span<const std::byte> bytes, SliceCount& slices);
  /// Whether what is sent now goes to gRPC at once. Otherwise it goes when the completion queue is
  /// next polled, so the caller must wait for it.
  bool sends_at_once() const;
  /// Copies the bytes first.
  void send_copy(std::span<const std::byte> bytes);
  /// Takes over what `earlier` could not send because it was never opened.
  void take_unsent(OutgoingStream& earlier);
  bool has_unsent() const;
  /// Bytes that gRPC has been given so far.
  std::int64_t handed() const;
  /// Signals the end of the data, after all of it has been sent. A stream that is not open and has
  /// nothing to send is cancelled.
  void close();
  void cancel();

  bool open() const;
  bool ended() const;
  bool idle() const;

 private:
  struct Call;
  std::unique_ptr<Call> call_;
};

class IncomingStream {
 public:
  /// Waits for the next stream that any peer opens.
  IncomingStream(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue,
                 const GrpcSelf& self, IncomingEvents& events);
  ~IncomingStream();

  /// gRPC's name of the connection over which the caller came.
  std::string connection() const;
  void accept();
  void refuse(const std::string& reason);
  /// Starts the next read, unless one is in progress.
  void read();
  void write_control(const std::string& message);
  /// Ends the stream in order: this rank needs no more data.
  void close();
  /// Ends the stream; the peer gets `reason` as the cause of an abort.
  void abort(const std::string& reason);
  /// From now on starts nothing new, because the queue is about to be shut down.
  void stop();

  bool ended() const;
  bool idle() const;

 private:
  struct Call;
  std::unique_ptr<Call> call_;
};

}  // namespace collbench
