// A world whose ranks the user or a launcher started, one command per rank, on any machines.
//
// This process is one of the ranks. It keeps one endpoint for its whole life, over which the ranks
// meet; messages of our own go over it too. On one machine the ranks may also share memory, and
// ranks of MPI's launcher have MPI's own world, so one job measures several back ends. All ranks do
// the same pieces of work in the same order; a rank that cannot go on is named on all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transports/job_security.h"
#include "transports/world/rendezvous.h"
#include "transports/world/world.h"

namespace collbench {

/// Which rank this process is, and where it finds the others.
struct JoinSpec {
  std::string backend;
  std::string source;  // what said so: "--hosts", "Open MPI", ...
  Rank rank = 0;
  std::vector<std::string> hosts;  // HOST:PORT by rank; with a bootstrap only their number counts
  std::string listen;              // HOST:PORT of this rank
  std::string bootstrap;           // HOST:PORT where rank 0 gives out all the hosts; "": known
  std::string reached_at;          // HOST to give there; "": as rank 0 sees this one
  std::string transport;           // as WorldSpec::transport
  std::string token;               // a secret of the run; ranks with another one are refused
  TlsTexts tls;                    // unused: the ranks talk in the clear
  Seconds timeout{60};
  bool pin = false;       // this rank's threads run on a processor of its own
  std::vector<int> cpus;  // among these; empty: the usable ones
  std::function<void(const std::string&)> on_waiting;  // says which ranks are missing
  std::function<void()> while_waiting = [] {};  // for them, several times a second; may throw
  std::function<void(const std::vector<std::string>&)> on_hosts;  // called with all, once known

  int ranks() const { return static_cast<int>(hosts.size()); }
};

class JoinedMemory;

/// Thread safety: as World. The first failure makes the world unusable, unless all ranks refused
/// together(), and their context says so.
class JoinedWorld final : public World {
 public:
  /// Joins all ranks. Throws Unavailable if the back end cannot be used, InvalidArgument if it has
  /// no such ranks, TransportError naming the ranks that did not come.
  explicit JoinedWorld(const JoinSpec& job);
  ~JoinedWorld() override;

  const Backend& backend() const override { return backend_; }
  int ranks() const override { return context_.ranks; }
  RankRange own_ranks() const override { return {context_.rank, 1}; }
  /// Work of this rank; the others do theirs. `spec` may name any back end that joins_others();
  /// throws InvalidArgument if its ranks share memory and these cannot. Over messages the ranks do
  /// not learn of a failure by themselves: together() is for what may fail before all take part.
  void on_all(const WorldSpec& spec, Seconds timeout, const Work& work) override;
  /// The other ranks' processes that this one can see.
  std::vector<pid_t> processes() const override { return neighbours_; }

  Rank rank() const { return context_.rank; }
  /// How the ranks meet beside their communicators.
  Rendezvous& rendezvous() { return *rendezvous_; }
  /// Rank 0's text, on every rank. Collective.
  std::string from_rank_0(std::string text);
  /// `mine` is empty, or why this rank wants to stop. The words of the first rank that does, led by
  /// its number if it is another one; empty if none does. Collective.
  std::string agree_to_stop(const std::string& mine);

  /// HOST:PORT by rank.
  const std::vector<std::string>& hosts() const { return job_.hosts; }
  int ranks_here() const { return ranks_here_; }   // ranks on this machine
  bool first_here() const { return first_here_; }  // no lower rank runs on this machine
  /// Whether all ranks run on one machine, and so read one clock.
  bool one_machine() const { return one_machine_; }
  /// How many networks the ranks are spread over: machines, or containers and namespaces in them.
  int nodes() const { return nodes_; }
  /// Processors of all machines together that the ranks may use.
  int processors() const { return processors_; }
  /// Of those, the ones of rank 0: by them all ranks choose as rank 0 would.
  int processors_of_rank_0() const { return processors_of_rank_0_; }

 private:
  int learn_places(int cores);
  void breaking_if_failed(const std::function<void()>& task);
  void work_on(const WorldSpec& spec, const Work& work);
  std::unique_ptr<JoinedMemory> share_memory(const Backend& backend, const WorldSpec& spec);
  void leave(const JoinedMemory* memory);

  const Backend& backend_;
  JoinSpec job_;
  RankContext context_;
  std::unique_ptr<Rendezvous> rendezvous_;
  const Backend* last_;  // that `context_` has a communicator of
  std::vector<pid_t> neighbours_;
  std::vector<pid_t> processes_;  // of all ranks
  int ranks_here_ = 1;
  bool first_here_ = true;
  int nodes_ = 1;
  int processors_ = 1;
  int processors_of_rank_0_ = 1;
  bool one_machine_ = false;
  std::string broken_;  // why the world cannot go on
};

}  // namespace collbench
