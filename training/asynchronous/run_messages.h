// The requests between the processes of an asynchronous run, and their encoding in packets.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "training/asynchronous/closures.h"
#include "training/asynchronous/variable_store.h"
#include "transports/remote_calls.h"

namespace collbench {

/// The kinds of requests; the first number of every request.
enum class Request : std::int64_t {
  set = 0x636f6c6c62000001,  // chief to server; the high bytes mark collbench's messages
  read,
  update,
  contents,
  finish,
  join,  // worker to chief
  next,
};

/// A task of the run, by its name in TF_CONFIG.
struct TaskAddress {
  std::string name;  // "ps 1"
  std::string address;
  std::string words() const { return name + " (" + address + ")"; }
};

/// The run, as every task has it.
struct ServerRun {
  TaskAddress chief;
  std::vector<TaskAddress> workers;  // identifiers only: workers do not listen
  std::vector<TaskAddress> servers;
  Seconds timeout{60};  // for joining, for one call, and without any worker
  std::function<void(const std::string&)> say = [](const std::string&) {};  // shows progress
  std::function<void()> while_waiting = [] {};  // for tasks to join, often; throws to give up
};

/// The timeout for tasks that have not joined.
class RunPatience {
 public:
  explicit RunPatience(const ServerRun& run);
  /// Reports `missing` every few seconds. Throws TransportError after the timeout.
  void look(const std::string& missing);

 private:
  const ServerRun& run_;
  Seconds begin_;
  Seconds said_;
};

/// What a service (CoordinatorService, VariableService) does for its callers.
template <class Service>
CallHandlers handlers_of(Service& service) {
  return {[&service](const IncomingCall& call) { return service.answer(call); },
          [&service](CallerNumber caller) { service.gone(caller); }};
}

PacketWriter request(Request what);
void write(const StoreContents& contents, PacketWriter& to);
void write(const ClosureResult& result, PacketWriter& to);
// Throw InvalidArgument for malformed packets.
StoreContents read_contents(PacketReader& from);
ClosureResult read_result(PacketReader& from);

}  // namespace collbench
