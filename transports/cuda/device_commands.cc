#include "transports/cuda/device_commands.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "transports/cuda/device_accesses.h"
#include "transports/cuda/device_fold.h"

namespace collbench {
namespace {

// A posted send: its data stays in place until the message is received.
struct PostedSend {
  DevicePlace place = DevicePlace::output;
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool taken = false;
};

// The meaning of a plan's ticket: a receive's step, or a send's position in its channel.
struct Posted {
  const Step* step = nullptr;
  std::vector<std::size_t> messages;  // of each source: its place in the channel from it
};

DevicePlace place_of(Place place) {
  switch (place) {
    case Place::input:
      return DevicePlace::input;
    case Place::output:
      return DevicePlace::output;
    case Place::scratch:
      return DevicePlace::scratch;
    case Place::work:
      return DevicePlace::work;
  }
  return DevicePlace::output;
}

// Simulates the plans of all ranks in turns, each until it has to wait, and records the steps that
// move data. Run sequentially in that order the commands are correct: a sender continues past a
// wait for its send only when the message has been received.
class Lowering {
 public:
  Lowering(std::span<const Plan> plans, const LoweringOptions& options)
      : plans_(plans),
        options_(options),
        ranks_(plans.size()),
        accesses_(ranks_ * device_places),
        channels_(ranks_ * ranks_),
        received_(ranks_ * ranks_, 0),
        next_step_(ranks_, 0),
        posted_(ranks_) {
    const Plan& first = plans[0];
    list_.ranks = first.ranks();
    list_.count = first.count();
    list_.type = first.type();
    list_.op = first.op();
    list_.in_place = first.in_place();
    for (std::size_t r = 0; r < ranks_; ++r) {
      posted_[r].resize(static_cast<std::size_t>(plans[r].tickets()));
    }
  }

  DeviceCommands run() {
    if (plans_[0].fusion() && options_.fuse && all_reach_all()) {
      lower_fusion(*plans_[0].fusion());
      return std::move(list_);
    }
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t r = 0; r < ranks_; ++r) progress = advance(r) || progress;
    }
    for (std::size_t r = 0; r < ranks_; ++r) {
      require(next_step_[r] == plans_[r].steps().size(),
              "device commands: rank " + std::to_string(r) +
                  " waits for a message that no rank sends; the plans are of different schedules");
    }
    return std::move(list_);
  }

 private:
  bool reaches(Rank reader, Rank owner) const {
    return reader == owner || !options_.reaches || options_.reaches(reader, owner);
  }
  bool all_reach_all() const {
    for (Rank a = 0; a < list_.ranks; ++a) {
      for (Rank b = 0; b < list_.ranks; ++b) {
        if (!reaches(a, b)) return false;
      }
    }
    return true;
  }

  // Adds a command with its dependences, from the earlier writes and reads in `accesses_`.
  void add(Rank rank, std::int64_t first, std::int64_t count,
           std::span<const DeviceOperand> sources, std::span<const DeviceOperand> destinations,
           int divisor, bool any_rank = false) {
    const auto index = static_cast<std::int32_t>(list_.commands.size());
    follows_.clear();
    for (const DeviceOperand& operand : sources) {
      accesses(operand).read(first, first + count, index, follows_);
    }
    for (const DeviceOperand& operand : destinations) {
      accesses(operand).write(first, first + count, index, follows_);
    }
    std::sort(follows_.begin(), follows_.end());
    follows_.erase(std::unique(follows_.begin(), follows_.end()), follows_.end());
    if (!follows_.empty() && follows_.back() == index) follows_.pop_back();
    list_.commands.push_back(
        {.rank = rank,
         .first = first,
         .count = count,
         .first_operand = static_cast<std::int32_t>(list_.operands.size()),
         .sources = static_cast<std::int32_t>(sources.size()),
         .destinations = static_cast<std::int32_t>(destinations.size()),
         .divisor = divisor,
         .first_dependency = static_cast<std::int32_t>(list_.dependencies.size()),
         .dependency_count = static_cast<std::int32_t>(follows_.size()),
         .any_rank = any_rank});
    list_.operands.insert(list_.operands.end(), sources.begin(), sources.end());
    list_.operands.insert(list_.operands.end(), destinations.begin(), destinations.end());
    list_.dependencies.insert(list_.dependencies.end(), follows_.begin(), follows_.end());
    for (const auto& operands : {sources, destinations}) {
      for (const DeviceOperand& operand : operands) {
        list_.uses_scratch |= operand.place == DevicePlace::scratch;
        list_.uses_work |= operand.place == DevicePlace::work;
        list_.uses_stage |= operand.place == DevicePlace::stage;
      }
    }
  }

  DeviceAccesses& accesses(const DeviceOperand& operand) {
    return accesses_[static_cast<std::size_t>(operand.rank) * device_places +
                     static_cast<std::size_t>(operand.place)];
  }

  void lower_fusion(const Fusion& fusion) {
    list_.fused = true;
    const DevicePlace input = list_.in_place ? DevicePlace::output : DevicePlace::input;
    for (const Fusion::Piece& piece : fusion.pieces) {
      std::vector<DeviceOperand> inputs;
      std::vector<DeviceOperand> outputs;
      for (const Rank r : fusion.sources(piece)) inputs.push_back({r, input});
      for (const Rank r : fusion.receivers(piece)) outputs.push_back({r, DevicePlace::output});
      add(piece.owner, piece.first, piece.count, inputs, outputs, plans_[0].reduction(true).divisor,
          fusion.even);
    }
  }

  std::size_t channel(Rank from, Rank to) const {
    return static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to);
  }

  // Whether rank r did any of its steps.
  bool advance(std::size_t r) {
    const std::size_t before = next_step_[r];
    const std::span<const Step> steps = plans_[r].steps();
    while (next_step_[r] < steps.size() && play(static_cast<Rank>(r), steps[next_step_[r]])) {
      ++next_step_[r];
    }
    return next_step_[r] != before;
  }

  // False if the step has to wait.
  bool play(Rank rank, const Step& step) {
    const DeviceOperand from{rank, place_of(step.from)};
    const DeviceOperand to{rank, place_of(step.to)};
    switch (step.kind) {
      case Step::Kind::copy:
        add(rank, step.first, step.count, {&from, 1}, {&to, 1}, 1);
        return true;
      case Step::Kind::divide:
        add(rank, step.first, step.count, {&to, 1}, {&to, 1}, reduction(rank, true).divisor);
        return true;
      case Step::Kind::send:
        post(rank, step).messages = {channels_[channel(rank, step.peer)].size()};
        channels_[channel(rank, step.peer)].push_back({from.place, step.first, step.count});
        return true;
      case Step::Kind::recv:
        post(rank, step).messages = {received_[channel(step.peer, rank)]++};
        return true;
      case Step::Kind::recv_reduce: {
        std::vector<std::size_t>& messages = post(rank, step).messages;
        for (const Rank source : plan(rank).sources(step)) {
          messages.push_back(source == rank ? 0 : received_[channel(source, rank)]++);
        }
        return true;
      }
      case Step::Kind::wait:
        return finish(
            rank, posted_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step.ticket)]);
    }
    return true;
  }

  const Plan& plan(Rank rank) const { return plans_[static_cast<std::size_t>(rank)]; }
  Reduction reduction(Rank rank, bool completes) const { return plan(rank).reduction(completes); }

  Posted& post(Rank rank, const Step& step) {
    Posted& posted = posted_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step.ticket)];
    posted = {&step, {}};
    return posted;
  }

  bool finish(Rank rank, const Posted& posted) {
    const Step& step = *posted.step;
    if (step.kind == Step::Kind::send) {
      return channels_[channel(rank, step.peer)][posted.messages[0]].taken;
    }
    const std::span<const Rank> sources =
        step.kind == Step::Kind::recv ? std::span(&step.peer, 1) : plan(rank).sources(step);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i] == rank) continue;
      if (channels_[channel(sources[i], rank)].size() <= posted.messages[i]) return false;
    }
    receive(rank, step, sources, posted.messages);
    return true;
  }

  // Where `rank` reads the message: in the sender's memory, or in the sender's stage.
  DeviceOperand take(Rank from, Rank rank, std::size_t number, const Step& step) {
    PostedSend& message = channels_[channel(from, rank)][number];
    require(message.first == step.first && message.count == step.count,
            "device commands: rank " + std::to_string(rank) + " receives elements from " +
                std::to_string(step.first) + " that rank " + std::to_string(from) + " sends from " +
                std::to_string(message.first));
    message.taken = true;
    const DeviceOperand source{from, message.place};
    if (reaches(rank, from)) return source;
    const DeviceOperand stage{from, DevicePlace::stage};
    add(from, message.first, message.count, {&source, 1}, {&stage, 1}, 1);
    return stage;
  }

  void receive(Rank rank, const Step& step, std::span<const Rank> sources,
               const std::vector<std::size_t>& messages) {
    std::vector<DeviceOperand> operands;
    const DeviceOperand own{rank, place_of(step.from)};
    const bool marked = std::find(sources.begin(), sources.end(), rank) != sources.end();
    if (step.kind == Step::Kind::recv_reduce && !marked) operands.push_back(own);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      operands.push_back(sources[i] == rank ? own : take(sources[i], rank, messages[i], step));
    }
    const DeviceOperand to{rank, place_of(step.to)};
    const int divisor =
        step.kind == Step::Kind::recv_reduce ? reduction(rank, step.completes).divisor : 1;
    add(rank, step.first, step.count, operands, {&to, 1}, divisor);
  }

  std::span<const Plan> plans_;
  const LoweringOptions& options_;
  std::size_t ranks_;
  DeviceCommands list_;
  std::vector<DeviceAccesses> accesses_;           // by rank and place
  std::vector<std::vector<PostedSend>> channels_;  // by sender and receiver
  std::vector<std::size_t> received_;              // receives posted, the same way
  std::vector<std::size_t> next_step_;             // by rank
  std::vector<std::vector<Posted>> posted_;        // by rank and ticket
  std::vector<std::int32_t> follows_;
};

}  // namespace

DeviceCommands lower(std::span<const Plan> plans, const LoweringOptions& options) {
  require(!plans.empty(), "device commands: there are no plans");
  for (std::size_t r = 0; r < plans.size(); ++r) {
    const bool fits = plans[r].rank() == static_cast<Rank>(r) &&
                      plans[r].ranks() == static_cast<int>(plans.size()) &&
                      plans[r].count() == plans[0].count() && plans[r].type() == plans[0].type() &&
                      plans[r].op() == plans[0].op() && plans[r].in_place() == plans[0].in_place();
    require(fits, "device commands: plan " + std::to_string(r) +
                      " is not that of the same rank of the same all-reduce");
  }
  return Lowering(plans, options).run();
}

DeviceCommands lower(const Schedule& schedule, std::int64_t count, DataType type, ReduceOp op,
                     bool in_place, const LoweringOptions& options, const Collective& collective) {
  std::vector<Plan> plans;
  for (Rank r = 0; r < schedule.ranks(); ++r) {
    plans.emplace_back(schedule, r, count, type, op, in_place, collective);
  }
  return lower(plans, options);
}

std::int64_t share_begin(const DeviceCommands& commands, const DeviceCommand& command,
                         std::int64_t part, std::int64_t parts) {
  const std::int64_t group = device_group_bytes / size_of(commands.type);
  return part == parts ? command.count : command.count * part / parts / group * group;
}

Bytes work_begin(const DeviceCommands& commands) {
  constexpr std::int64_t line = 256;  // as device memory is aligned
  const std::int64_t bytes = commands.count * size_of(commands.type);
  return {commands.uses_scratch ? (bytes + line - 1) / line * line : 0};
}

Bytes scratch_room(const DeviceCommands& commands) {
  const Bytes vector{commands.count * size_of(commands.type)};
  if (commands.uses_work) return work_begin(commands) + vector;
  return commands.uses_scratch ? vector : Bytes{0};
}

Bytes memory_traffic(const DeviceCommands& commands) {
  std::int64_t elements = 0;
  for (const DeviceCommand& command : commands.commands) {
    elements += command.count * (command.sources + command.destinations);
  }
  return {elements * size_of(commands.type)};
}

}  // namespace collbench
