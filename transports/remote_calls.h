// Calls between processes: a request of bytes to an address, answered with bytes.
//
// For roles that do not run in lock-step, such as parameter servers: a request may come at any time
// from any caller that has the job's token, and its handler may wait before it answers. A call that
// is left unanswered therefore also detects that the other side has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/units.h"
#include "transports/job_security.h"

namespace collbench {

struct IncomingCall {
  std::string_view request;
  std::function<bool()> abandoned;  // the caller has given up, or is lost
};

/// Called on any number of threads at once; may wait. An exception reaches the caller as a refusal
/// with the same message.
using CallHandler = std::function<std::string(const IncomingCall&)>;

/// Why a call failed: `absent`: there is no listener, or it has ended; `late`: no answer in time;
/// `refused`: the handler threw, or the token differs; `cancelled`: by its caller.
enum class CallFailure : std::uint8_t { absent, late, refused, cancelled };

class CallError : public TransportError {
 public:
  CallError(CallFailure what, const std::string& words) : TransportError(words), failure(what) {}
  CallFailure failure;
};

/// Answers calls until it is destroyed, which waits for the handlers that still run.
class CallServer {
 public:
  virtual ~CallServer() = default;
  virtual std::string address() const = 0;  // HOST:PORT, the port being the one chosen
};

/// One connection to one server. Thread safety: one thread, but for cancel().
class Caller {
 public:
  virtual ~Caller() = default;
  /// Starts a call whose request is all pieces in order, which are copied. A caller has one call at
  /// a time. `patience` is the time limit of the whole call; 0 is none.
  virtual void start(std::span<const std::span<const std::byte>> pieces, Seconds patience) = 0;
  /// The answer. Throws CallError.
  virtual std::string finish() = 0;
  /// Ends the call under way, and all later ones. Thread safety: any thread.
  virtual void cancel() = 0;

  std::string call(std::string_view request, Seconds patience) {
    const std::span<const std::byte> piece = std::as_bytes(std::span(request));
    start(std::span(&piece, 1), patience);
    return finish();
  }
};

struct CallOptions {
  JobSecurity security;  // calls without a proof of the token are refused
  Seconds timeout{60};   // a peer's host that is silent for so long is lost
};

class CallNetwork {
 public:
  virtual ~CallNetwork() = default;
  /// Listens on HOST:PORT. Throws TransportError if the address cannot be listened on.
  virtual std::unique_ptr<CallServer> listen(const std::string& address, CallHandler handler) = 0;
  /// Does not wait for the server to start. Error messages begin with `name`.
  virtual std::unique_ptr<Caller> reach(const std::string& name, const std::string& address) = 0;
};

}  // namespace collbench
