// What the processes of an asynchronous run ask each other, and how it is put into packets.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "training/asynchronous/closures.h"
#include "training/asynchronous/packet.h"
#include "training/asynchronous/variable_store.h"

namespace collbench {

/// What is asked of the processes of a run; the first number of every request.
enum class Request : std::int64_t {
  set = 0x636f6c6c62000001,  // of the chief to a server; the high bytes tell our messages apart
  read,
  update,
  contents,
  stay,  // answered when the other side is done: its end tells that one of them has gone
  finish,
  join,  // of a worker to the chief
  next,
  leave,
};

/// A task of the run, by its name in TF_CONFIG.
struct TaskAddress {
  std::string name;  // "ps 1"
  std::string address;
  std::string words() const { return name + " (" + address + ")"; }
};

/// What chief and workers must have in common, in the order in which a difference is told.
using PlanValues = std::vector<std::pair<std::string, std::string>>;

/// What a task of a run knows of it.
struct ServerRun {
  TaskAddress chief;
  std::vector<TaskAddress> workers;  // nobody listens at their addresses
  std::vector<TaskAddress> servers;
  Seconds timeout{60};  // to come; for one call; without any worker
  std::function<void(const std::string&)> say = [](const std::string&) {};  // what happens
};

/// Waits with a run's timeout for those who have not come.
class Patience {
 public:
  explicit Patience(const ServerRun& run);
  /// Says every few seconds who is missing. Throws TransportError after the timeout.
  void look(const std::string& missing);

 private:
  const ServerRun& run_;
  Seconds begin_;
  Seconds said_;
};

PacketWriter request(Request what);
void write(const StoreContents& contents, PacketWriter& to);
void write(const ClosureResult& result, PacketWriter& to);
// Throw InvalidArgument for what no such packet holds.
StoreContents read_contents(PacketReader& from);
ClosureResult read_result(PacketReader& from);

}  // namespace collbench
