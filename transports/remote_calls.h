// Calls between processes: a request of bytes to an address, answered with bytes.
//
// For roles that do not run in lock-step, such as parameter servers: a request may come at any time
// from any caller that has the job's token, and its handler may wait before it answers. Between
// calls the connection stays, so that each side sees when the other one has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "transports/job_security.h"

namespace collbench {

/// A caller, for as long as its connection lasts; one that connects again has another number.
using CallerNumber = std::uint64_t;

struct IncomingCall {
  std::string_view request;
  std::function<bool()> abandoned;  // the caller has given up, or is lost
  CallerNumber caller = 0;
};

/// What a server does, on any number of threads at once, but on one at a time for each caller.
struct CallHandlers {
  /// The answer; may wait. An exception reaches the caller as a refusal with the same message.
  std::function<std::string(const IncomingCall&)> answer;
  /// A caller has ended its connection, or is lost. Must not throw.
  std::function<void(CallerNumber)> gone = [](CallerNumber) {};
};

/// Why a call failed: `absent`: there is no listener, or it has ended; `late`: no answer in time;
/// `refused`: the handler threw, or the token or the version differs.
enum class CallFailure : std::uint8_t { absent, late, refused };

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

/// One caller of one server. It connects at its first call, and again at the next one after a call
/// that was absent or late. Thread safety: one thread.
class Caller {
 public:
  virtual ~Caller() = default;
  /// Starts a call. A caller has one call at a time. `patience` is the time
  /// limit of the whole call; 0 is none.
  virtual void start(std::string request, Seconds patience) = 0;
  /// The answer. Throws CallError.
  virtual std::string finish() = 0;
  /// Whether the connection of an earlier call has ended since: the server has, too.
  virtual bool lost() = 0;

  std::string call(std::string request, Seconds patience) {
    start(std::move(request), patience);
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
  virtual std::unique_ptr<CallServer> listen(const std::string& address, CallHandlers handlers) = 0;
  /// Does not wait for the server to start. Error messages begin with `name`.
  virtual std::unique_ptr<Caller> reach(const std::string& name, const std::string& address) = 0;
};

}  // namespace collbench
