// A team whose workers the user started, one command per rank, on any machines.
//
// This process is one of the workers. It keeps one endpoint for the whole run: every case and every
// meeting goes over it. All ranks run the same list of cases in the same order, having compared it
// before the first one; a rank that cannot go on is named on all of them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "bench/measure/backend.h"
#include "bench/measure/team.h"
#include "transports/job_security.h"
#include "transports/world/endpoint_rendezvous.h"

namespace collbench {

/// What one of the ranks was told.
struct RemoteJob {
  std::string backend;
  std::string source;  // who said so: "--hosts", "Open MPI", ...
  Rank rank = 0;
  std::vector<std::string> hosts;  // HOST:PORT by rank; with a meeting only their number counts
  std::string listen;              // HOST:PORT of this rank
  std::string meeting;             // HOST:PORT where rank 0 tells all the hosts; "": known
  std::string reached_at;          // HOST to be told there; "": as rank 0 sees this one
  std::string transport;           // as Case::transport
  std::string token;               // a secret of the run; ranks with another one are refused
  TlsTexts tls;                    // unused: the ranks talk in the clear
  Seconds timeout{60};
  bool pin = true;  // as Sampling, but counting only the ranks on the same machine
  std::vector<int> cpus;
  std::function<void(const std::string&)> on_waiting;             // told which ranks are missing
  std::function<void(const std::vector<std::string>&)> on_hosts;  // told all, once they are known

  int ranks() const { return static_cast<int>(hosts.size()); }
};

/// Thread safety: as Team. The first failure makes the team unusable.
class RemoteTeam final : public Team {
 public:
  /// Joins all ranks. Throws Unavailable if the back end cannot be used, InvalidArgument if it has
  /// no such workers, TransportError naming the ranks that did not come.
  explicit RemoteTeam(const RemoteJob& job);
  ~RemoteTeam() override;

  /// Throws TransportError on every rank, "rank 2 has data types f64 where rank 0 has f32", if the
  /// ranks are about to run different things. Collective.
  void compare_plans(std::span<const Case> cases, const Sampling& sampling, int cycles);
  /// `mine` is empty, or why this rank wants to stop. The words of the first rank that does, led by
  /// its number if it is another one; empty if none does. Collective.
  std::string agree_to_stop(const std::string& mine);
  /// The same measurement on every rank; a case that one rank cannot do is an error on all. Load
  /// warnings come from every machine.
  Measurement measure(const Case& which, const Sampling& sampling) override;

  /// HOST:PORT by rank.
  const std::vector<std::string>& hosts() const { return job_.hosts; }
  /// Whether all ranks run on one machine, and so read one clock.
  bool one_machine() const { return rendezvous_->one_clock(); }
  /// How many networks the ranks are spread over: machines, or containers and namespaces in them.
  int nodes() const { return nodes_; }
  /// Processors of all machines together that the ranks may use.
  int processors() const { return processors_; }

 private:
  struct Place;
  int learn_places(int cores);
  void require_ready(const std::string& refusal);
  Measurement measure_watched(const Case& which, const Sampling& sampling);

  const Backend& backend_;
  RemoteJob job_;
  WorkerContext context_;
  std::unique_ptr<EndpointRendezvous> rendezvous_;
  std::vector<pid_t> neighbours_;  // the other ranks' processes that this one can see
  int ranks_here_ = 1;             // ranks on this machine
  bool first_here_ = true;         // no lower rank runs on this machine
  int nodes_ = 1;
  int processors_ = 1;
  bool broken_ = false;
};

}  // namespace collbench
