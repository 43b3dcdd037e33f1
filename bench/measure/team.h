// A Team measures cases in a world that stays alive over many of them.
//
// Idle worlds sleep, so teams of several back ends can be measured interleaved in one run.
#pragma once

#include <memory>
#include <span>

#include "bench/records/case.h"
#include "bench/records/record.h"
#include "transports/world/joined_world.h"

namespace collbench {

/// Thread safety: a team belongs to one thread.
class Team {
 public:
  virtual ~Team() = default;
  /// Measures one case on all workers. Throws TransportError, naming the rank, if one is lost,
  /// stuck or disagrees (the team is then unusable), Unavailable if the back end cannot do the
  /// case.
  virtual Measurement measure(const Case& point, const Sampling& sampling) = 0;
};

/// Measures in a world that this process has started.
class StartedTeam final : public Team {
 public:
  explicit StartedTeam(std::unique_ptr<World> world) : world_(std::move(world)) {}
  Measurement measure(const Case& point, const Sampling& sampling) override;
  /// The same with a case of its own for each rank, to see that disagreement is found.
  Measurement measure_each(std::span<const Case> cases, const Sampling& sampling);
  const World& world() const { return *world_; }

 private:
  std::unique_ptr<World> world_;
};

/// Measures in a world of which this process is one rank: the same measurement on every rank, with
/// load warnings from every machine. A case that one rank cannot do is an error on all.
class JoinedTeam final : public Team {
 public:
  explicit JoinedTeam(const JoinSpec& job) : world_(job) {}
  /// Throws TransportError on every rank, "rank 2 has data types f64 where rank 0 has f32", if the
  /// ranks are about to run different things. Collective.
  void compare_plans(std::span<const Case> cases, const Sampling& sampling, int cycles);
  Measurement measure(const Case& point, const Sampling& sampling) override;
  JoinedWorld& world() { return world_; }

 private:
  JoinedWorld world_;
};

/// Throws TransportError, "stopped by SIGTERM at rank 1", if a signal ended the measurement early.
void require_unstopped(const Measurement& measured);

/// Throws as require_usable(), and as require_possible() and Backend::require_fits() do, before
/// anything is started.
void require_usable(const Case& point);
void require_possible(const Case& point);
/// Throws Unavailable for elements that the library of a case does not have, or cannot count.
void require_elements(const Case& point);

/// Starts `which.workers` workers for the back end, isolation and transport of `which`.
/// Throws Unavailable with the reason, or InvalidArgument with what would be possible.
std::unique_ptr<Team> make_team(const Case& point, const Sampling& sampling);

}  // namespace collbench
