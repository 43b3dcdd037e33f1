#include "transports/cuda/device_rows.h"

#include <algorithm>

#include "transports/cuda/device_fold.h"

namespace collbench {
namespace {

constexpr std::int64_t lane_bytes = 4096;          // one group for each of 256 threads
constexpr std::int64_t most_stripe_bytes = 32768;  // beyond it lanes take turns

// For each rank, the number of its last step that is known to be done.
using Knowledge = std::vector<std::int32_t>;

class Tabulation {
 public:
  Tabulation(const DeviceCommands& commands, DeviceStart start)
      : commands_(commands),
        start_(start),
        ranks_(static_cast<std::size_t>(commands.ranks)),
        rows_of_ranks_(ranks_),
        known_(ranks_, Knowledge(ranks_, 0)),
        last_touch_(ranks_ * ranks_, 0) {
    rows_.ranks = commands.ranks;
    rows_.type = commands.type;
    rows_.op = commands.op;
  }

  DeviceRows run() {
    if (start_ == DeviceStart::apart) {
      for (Rank r = 0; r < commands_.ranks; ++r) append(r, {});
    }
    for (const DeviceCommand& command : commands_.commands) add(command);
    if (start_ == DeviceStart::apart) {
      for (Rank r = 0; r < commands_.ranks; ++r) leave(r);
    }
    note_published();
    for (std::vector<DeviceRowStep>& row : rows_of_ranks_) {
      rows_.first_step.push_back(static_cast<std::int32_t>(rows_.steps.size()));
      rows_.numbers = std::max(rows_.numbers, static_cast<std::int32_t>(row.size()) + 1);
      for (const DeviceRowStep& step : row) rows_.largest = std::max(rows_.largest, step.count);
      rows_.steps.insert(rows_.steps.end(), row.begin(), row.end());
    }
    rows_.first_step.push_back(static_cast<std::int32_t>(rows_.steps.size()));
    return std::move(rows_);
  }

 private:
  struct Done {
    Rank rank = 0;
    Knowledge known;  // after it, itself included
  };

  std::vector<DeviceRowStep>& row(Rank r) { return rows_of_ranks_[static_cast<std::size_t>(r)]; }
  Knowledge& known(Rank r) { return known_[static_cast<std::size_t>(r)]; }
  std::int32_t& last_touch(Rank by, Rank owner) {
    return last_touch_[static_cast<std::size_t>(by) * ranks_ + static_cast<std::size_t>(owner)];
  }

  void add(const DeviceCommand& command) {
    const int parts = command.any_rank ? commands_.ranks : 1;
    const auto cut = [&](int part) { return share_begin(commands_, command, part, parts); };
    const auto first_operand = static_cast<std::int32_t>(rows_.operands.size());
    for (const auto& operands : {commands_.sources(command), commands_.destinations(command)}) {
      for (const DeviceOperand& operand : operands) {
        rows_.operands.push_back(operand.rank * device_places + static_cast<int>(operand.place));
      }
    }
    done_.emplace_back();
    for (int part = 0; part < parts; ++part) {
      if (cut(part) == cut(part + 1)) continue;
      DeviceRowStep step{.first = command.first + cut(part),
                         .count = cut(part + 1) - cut(part),
                         .first_operand = first_operand,
                         .sources = command.sources,
                         .destinations = command.destinations,
                         .divisor = command.divisor};
      add_part(command, command.any_rank ? part : command.rank, step);
    }
  }

  void add_part(const DeviceCommand& command, Rank rank, DeviceRowStep step) {
    std::vector<Rank> owners;
    for (const auto& operands : {commands_.sources(command), commands_.destinations(command)}) {
      for (const DeviceOperand& operand : operands) owners.push_back(operand.rank);
    }
    step.first_wait = static_cast<std::int32_t>(rows_.waits.size());
    // The latest first: a wait for it may imply the earlier ones, which are then left out.
    const auto before = commands_.before(command);
    for (auto it = before.rbegin(); it != before.rend(); ++it) follow(rank, *it);
    if (start_ == DeviceStart::apart) {
      for (const Rank owner : owners) wait_for(rank, owner, 1);
    }
    step.waits = static_cast<std::int32_t>(rows_.waits.size()) - step.first_wait;
    const std::int32_t number = append(rank, step);
    for (const Rank owner : owners) last_touch(rank, owner) = number;
    done_.back().push_back({rank, known(rank)});
  }

  void follow(Rank rank, std::int32_t command) {
    for (const Done& done : done_[static_cast<std::size_t>(command)]) {
      wait_for(rank, done.rank, done.known[static_cast<std::size_t>(done.rank)]);
      for (std::size_t r = 0; r < ranks_; ++r) {
        known(rank)[r] = std::max(known(rank)[r], done.known[r]);
      }
    }
  }

  void wait_for(Rank rank, Rank other, std::int32_t number) {
    std::int32_t& knows = known(rank)[static_cast<std::size_t>(other)];
    if (rank == other || knows >= number) return;
    rows_.waits.push_back({other, number});
    knows = number;
  }

  std::int32_t append(Rank rank, const DeviceRowStep& step) {
    row(rank).push_back(step);
    const auto number = static_cast<std::int32_t>(row(rank).size());
    known(rank)[static_cast<std::size_t>(rank)] = number;
    return number;
  }

  // Waits for the last accesses of other ranks to this rank's memory.
  void leave(Rank rank) {
    DeviceRowStep step;
    step.first_wait = static_cast<std::int32_t>(rows_.waits.size());
    for (Rank other = 0; other < commands_.ranks; ++other) {
      wait_for(rank, other, last_touch(other, rank));
    }
    step.waits = static_cast<std::int32_t>(rows_.waits.size()) - step.first_wait;
    append(rank, step);
  }

  void note_published() {
    for (const DeviceWait& wait : rows_.waits) {
      row(wait.rank)[static_cast<std::size_t>(wait.number) - 1].publishes = wait.number;
    }
  }

  const DeviceCommands& commands_;
  DeviceStart start_;
  std::size_t ranks_;
  DeviceRows rows_;
  std::vector<std::vector<DeviceRowStep>> rows_of_ranks_;
  std::vector<Knowledge> known_;          // by rank
  std::vector<std::int32_t> last_touch_;  // number of the last step of a rank on memory of another
  std::vector<std::vector<Done>> done_;   // by command: the ranks that did it, in how many parts
};

}  // namespace

DeviceRows tabulate(const DeviceCommands& commands, DeviceStart start) {
  return Tabulation(commands, start).run();
}

DeviceLanes choose_lanes(const DeviceRows& rows, int most) {
  const std::int64_t width = size_of(rows.type);
  const std::int64_t bytes = std::max<std::int64_t>(rows.largest * width, 1);
  const std::int64_t lanes =
      std::clamp<std::int64_t>((bytes + lane_bytes - 1) / lane_bytes, 1, most);
  constexpr std::int64_t group = device_group_bytes;
  const std::int64_t share = (bytes + lanes - 1) / lanes;
  const std::int64_t stripe =
      std::clamp((share + group - 1) / group * group, lane_bytes, most_stripe_bytes);
  return {static_cast<int>(lanes), stripe / width};
}

}  // namespace collbench
