// A parameter server as a process of its own, and its clients.
//
// The server does not depend on the model: the chief gives it its shards, then workers read and
// update them at any time. It serves one run and ends with it: in order when the chief ends it,
// with an error if the chief is lost.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "training/asynchronous/asynchronous_worker.h"
#include "training/asynchronous/run_messages.h"
#include "training/asynchronous/variable_store.h"
#include "transports/remote_calls.h"

namespace collbench {

class PacketReader;

/// One server. Thread safety: any number of threads.
class VariableService {
 public:
  /// Answers a call. Throws InvalidArgument for requests that are malformed or not allowed now.
  std::string answer(const IncomingCall& call);
  /// The chief, if it was that caller, has ended or is lost.
  void gone(CallerNumber caller);
  /// Returns when training is over. Throws TransportError if the chief does not connect within
  /// `patience`, is lost, or ends the run with an error; `stop`, polled while waiting, ends it,
  /// too.
  void wait_until_finished(Seconds patience, const std::function<bool()>& stop);

 private:
  VariableStore& store();
  std::string read();
  std::string update(PacketReader& request);
  void set(PacketReader& request, CallerNumber caller);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<VariableStore> store_;
  CallerNumber chief_ = 0;  // none has given this server its variables yet
  bool chief_lost_ = false;
  std::optional<std::string> end_;  // "" in good order
};

/// The servers, for a worker or the chief. Throws TransportError naming a server that is lost or
/// does not answer in time. Thread safety: one thread.
class RemoteVariables final : public SharedVariables {
 public:
  /// `timeout` bounds each call, if there is one. `placement` must outlive this.
  RemoteVariables(CallNetwork& network, const std::vector<TaskAddress>& servers,
                  const Placement& placement, Seconds timeout);

  void read(Region values, Region statistics) override;
  std::int64_t update(Region gradients, Region moves) override;

  /// For the chief. False if there is no listener at the server's address (yet).
  bool set(int server, const StoreContents& contents, Seconds patience);
  std::vector<StoreContents> contents();
  /// The first server that has ended since it was last called; nullptr if none has.
  const TaskAddress* lost();
  /// Ends a server, with an error unless `why` is empty. Does not throw.
  void finish(int server, const std::string& why) noexcept;

 private:
  /// The same request to each server, and all their answers.
  template <class Compose>
  std::vector<std::string> ask(Compose compose);
  TransportError failure_of(std::size_t server, const CallError& error) const;

  std::vector<TaskAddress> servers_;
  std::vector<std::unique_ptr<Caller>> callers_;
  const Placement& placement_;
  Seconds timeout_;
  std::vector<std::int64_t> seen_;
};

}  // namespace collbench
