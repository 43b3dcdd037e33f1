#include "algorithms/exchange/msccl_order.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

/// How many steps of each block of one gpu are over; null: none.
using Clock = std::shared_ptr<const std::vector<int>>;
constexpr std::int64_t most_clock_entries = std::int64_t{1} << 27;  // 512 MiB

Clock joined(const Clock& a, const Clock& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  auto both = std::make_shared<std::vector<int>>(*a);
  for (std::size_t i = 0; i < both->size(); ++i) (*both)[i] = std::max((*both)[i], (*b)[i]);
  return both;
}

// Vector clocks of one gpu at a time, since only its own steps use its chunks. Almost always the
// order of its blocks and waits is enough; only where it is not, clocks travel with messages
// through the other gpus too.
class OrderCheck {
 public:
  OrderCheck(const MscclProgram& program, const std::vector<MscclDone>& run, CollectiveKind kind)
      : program_(program), run_(run), collective_{kind} {
    std::vector<std::vector<int>> own(program.gpus.size());
    std::vector<int> all;
    for (std::size_t i = 0; i < run.size(); ++i) {
      own[run[i].gpu].push_back(static_cast<int>(i));
      all.push_back(static_cast<int>(i));
    }
    forget();
    for (gpu_ = 0; gpu_ < static_cast<Rank>(own.size()); ++gpu_) {
      if (!find_race(own[gpu_])) continue;
      forget();
      if (const auto race = find_race(all)) refuse(*race);
    }
  }

 private:
  struct Use {  // of a chunk; places in the run
    int written = -1;
    std::vector<int> read;  // since
    int passed_on = -1;     // the "rrs" whose sum is not there
  };
  struct Race {
    int earlier;
    int later;
    int chunk;
  };

  const MscclStep& step_at(int place) const {
    const MscclDone& done = run_[place];
    return program_.gpus[done.gpu].blocks[done.block].steps[done.step];
  }
  std::string name(int place) const {
    const MscclDone& done = run_[place];
    return msccl_place(done.gpu, program_.gpus[done.gpu].blocks[done.block], done.step);
  }

  void forget() {
    clocks_.assign(run_.size(), nullptr);
    successors_.assign(run_.size(), 0);
    kept_ = 0;
  }

  // Follows the clocks over those steps of the run.
  std::optional<Race> find_race(std::span<const int> steps) {
    const bool is_local = steps.size() < run_.size();
    const auto for_each_before = [&](int place, const auto& action) {
      for (const int before : run_[place].after) {
        if (before >= 0 && (!is_local || run_[before].gpu == gpu_)) action(before);
      }
    };
    for (const int place : steps) {
      for_each_before(place, [&](int before) { ++successors_[before]; });
    }
    uses_.clear();
    for (const int place : steps) {
      Clock clock;
      for_each_before(place, [&](int before) { clock = joined(clock, clock_after(before)); });
      if (run_[place].gpu == gpu_) {
        if (const auto race = use_chunks(place, clock)) return race;
        clock = with_own(place, clock);
      }
      if (clock && successors_[place] > 0) keep(place, std::move(clock));
    }
    require_results();
    return std::nullopt;
  }

  // Kept no longer than there are steps that come after it.
  Clock clock_after(int place) {
    if (--successors_[place] > 0 || !clocks_[place]) return clocks_[place];
    --kept_;
    return std::exchange(clocks_[place], nullptr);
  }

  void keep(int place, Clock clock) {
    ++kept_;
    require(kept_ * static_cast<std::int64_t>(clock->size()) <= most_clock_entries,
            fmt::format("MSCCL XML: gpu {}: too many steps wait for each other", gpu_));
    clocks_[place] = std::move(clock);
  }

  Clock with_own(int place, const Clock& clock) const {
    auto own = clock ? std::make_shared<std::vector<int>>(*clock)
                     : std::make_shared<std::vector<int>>(program_.gpus[gpu_].blocks.size(), 0);
    (*own)[run_[place].block] = run_[place].step + 1;
    return own;
  }

  // An "rrs" counts as writing: in schedules, which have no other place for its sum, it does.
  std::optional<Race> use_chunks(int place, const Clock& clock) {
    const MscclStep& step = step_at(place);
    if (!step.receives && !step.sends) return std::nullopt;
    const auto is_over = [&](int earlier) {
      const MscclDone& done = run_[earlier];
      return clock && (*clock)[done.block] > done.step;
    };
    for (int c = step.chunks.first; c < step.chunks.first + step.chunks.count; ++c) {
      Use& use = uses_[c];
      if (use.written >= 0 && !is_over(use.written)) return Race{use.written, place, c};
      if (!step.receives) {
        use.read.push_back(place);
      } else {
        const auto open = std::ranges::find_if_not(use.read, is_over);
        if (open != use.read.end()) return Race{*open, place, c};
        use.written = place;
        use.read.clear();
      }
      const bool reads = step.reduces || !step.receives;
      require(use.passed_on < 0 || !reads,
              fmt::format("MSCCL XML: {} uses chunk {}, whose sum {} passed on and did not keep: "
                          "rrs stores nothing, rrcs does",
                          name(place), c, use.passed_on < 0 ? "" : name(use.passed_on)));
      if (step.receives) use.passed_on = step.stores ? -1 : place;
    }
    return std::nullopt;
  }

  void require_results() const {
    const Chunks results =
        held_after(collective_, gpu_, static_cast<int>(program_.gpus.size()), program_.chunks);
    for (const auto& [c, use] : uses_) {
      const bool is_result = c >= results.first && c < results.first + results.count;
      require(
          use.passed_on < 0 || !is_result,
          fmt::format("MSCCL XML: {} passes the sum of chunk {} on and does not keep it, and no "
                      "later step stores one: rrs stores nothing, rrcs does",
                      use.passed_on < 0 ? "" : name(use.passed_on), c));
    }
  }

  [[noreturn]] void refuse(const Race& race) const {
    throw InvalidArgument(
        fmt::format("MSCCL XML: {} and {} both use chunk {}, and nothing says which comes first: a "
                    "depid is missing",
                    name(race.earlier), name(race.later), race.chunk));
  }

  const MscclProgram& program_;
  const std::vector<MscclDone>& run_;
  const Collective collective_;
  Rank gpu_ = 0;
  std::vector<Clock> clocks_;    // after each step of the run, as long as it is needed
  std::vector<int> successors_;  // steps still to come that need it
  std::int64_t kept_ = 0;
  std::unordered_map<int, Use> uses_;  // by chunk of the gpu
};

}  // namespace

void check_order(const MscclProgram& program, const std::vector<MscclDone>& run,
                 CollectiveKind kind) {
  OrderCheck(program, run, kind);
}

}  // namespace collbench
