// A team whose ranks are threads of this process. Between cases they sleep.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure/backend.h"
#include "bench/measure/team.h"
#include "bench/measure/worker_case.h"

namespace collbench {

class ThreadTeam final : public Team {
 public:
  ThreadTeam(const Backend& backend, int ranks, Seconds timeout);
  ~ThreadTeam() override;

  Measurement measure(const Case& which, const Sampling& sampling) override;
  /// The same with a case of its own for each rank, to see that disagreement is found.
  Measurement measure_each(std::span<const Case> cases, const Sampling& sampling);

 private:
  void work(Rank rank);
  void run_on_all(std::span<const Case> cases, const Sampling& sampling);

  const Backend& backend_;
  int ranks_;
  std::shared_ptr<std::byte> control_memory_;
  Control control_;
  std::string broken_;  // why the team cannot go on

  std::mutex mutex_;
  std::condition_variable changed_;
  std::span<const Case> cases_;  // one per rank
  Sampling sampling_;
  std::byte* arena_ = nullptr;
  std::shared_ptr<void> shared_;
  std::uint64_t started_ = 0;  // number of the case being run
  int unfinished_ = 0;
  bool leaving_ = false;
  std::vector<std::optional<CaseOutcome>> outcomes_;
  std::vector<std::thread> threads_;
};

/// The measurement of rank 0, or the first fault as an exception. `broken` is set unless every rank
/// refused the case before it exchanged anything.
Measurement conclude(std::span<std::optional<CaseOutcome>> outcomes, const Control& control,
                     std::string& broken);

}  // namespace collbench
