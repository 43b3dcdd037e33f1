#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "algorithms/earliest_rounds.h"
#include "algorithms/exchange/msccl_order.h"
#include "algorithms/exchange/msccl_program.h"
#include "algorithms/exchange/msccl_xml.h"
#include "algorithms/resolve.h"
#include "core/error.h"

namespace collbench {
namespace {

struct ImportedMessage {
  Rank from = 0;
  Rank to = 0;
  Chunks chunks;
  bool reduces = false;
  int sent_at = -1;  // step of the run
};

// What rounds are to keep of a program, as far as there are such.
struct RoundRules {
  bool long_folds;  // a round adds several messages to a chunk
  bool in_order;    // of two messages of a connection the later one is in a later round
};

// Runs a program step by step, in some order its waits allow, and records its messages in the order
// of their receipt and what each must come after, by the chunks they read and write.
class Run {
 public:
  Run(const MscclProgram& program, const RoundRules& rules) : program_(program), rules_(rules) {
    for (Rank gpu = 0; gpu < static_cast<Rank>(program.gpus.size()); ++gpu) {
      state_.emplace_back();
      const std::vector<MscclBlock>& blocks = program.gpus[gpu].blocks;
      state_.back().done.resize(blocks.size());
      state_.back().waiting.resize(blocks.size());
      for (std::size_t b = 0; b < blocks.size(); ++b) ready_.emplace_back(gpu, static_cast<int>(b));
    }
    while (!ready_.empty()) {
      const auto [gpu, block] = ready_.front();
      ready_.pop_front();
      advance(gpu, block);
    }
    check_finished();
  }

  const std::vector<ImportedMessage>& messages() const { return messages_; }
  const std::vector<int>& received() const { return received_; }
  const std::vector<Precedence>& precedences() const { return precedences_; }
  const std::vector<MscclDone>& steps() const { return steps_; }

 private:
  struct History {
    int written = -1;       // the last message received into the chunk
    std::vector<int> read;  // the messages sent from it since
  };
  struct GpuState {
    std::vector<std::vector<int>> done;  // of each block: where its steps are in the run
    // Blocks waiting until this one has done so many steps.
    std::vector<std::vector<std::pair<std::size_t, int>>> waiting;
    std::map<int, History> chunks;
  };
  struct Connection {
    std::deque<int> messages;
    int waiting_block = -1;
    int last = -1;  // message sent
  };

  Connection& connection(Rank from, Rank to, int channel) {
    return connections_[{from, to, channel}];
  }

  void advance(Rank gpu, int block) {
    const MscclBlock& program = program_.gpus[gpu].blocks[block];
    GpuState& state = state_[gpu];
    while (state.done[block].size() < program.steps.size()) {
      const MscclStep& step = program.steps[state.done[block].size()];
      if (step.wait_block >= 0) {
        const auto needed = static_cast<std::size_t>(step.wait_step) + 1;
        if (state.done[step.wait_block].size() < needed) {
          state.waiting[step.wait_block].emplace_back(needed, block);
          return;
        }
      }
      if (step.receives && !receive(gpu, block, step)) return;
      if (step.sends) send(gpu, program, step);
      record(gpu, block, step);
      wake(gpu, block);
    }
  }

  void record(Rank gpu, int block, const MscclStep& step) {
    std::vector<std::vector<int>>& done = state_[gpu].done;
    MscclDone now{gpu, block, static_cast<int>(done[block].size())};
    if (now.step > 0) now.after[0] = done[block].back();
    if (step.wait_block >= 0) now.after[1] = done[step.wait_block][step.wait_step];
    if (step.receives) now.after[2] = messages_[received_.back()].sent_at;
    done[block].push_back(static_cast<int>(steps_.size()));
    steps_.push_back(now);
  }

  void wake(Rank gpu, int block) {
    auto& waiting = state_[gpu].waiting[block];
    const std::size_t done = state_[gpu].done[block].size();
    for (std::size_t i = 0; i < waiting.size();) {
      if (waiting[i].first > done) {
        ++i;
        continue;
      }
      ready_.emplace_back(gpu, waiting[i].second);
      waiting[i] = waiting.back();
      waiting.pop_back();
    }
  }

  void send(Rank gpu, const MscclBlock& block, const MscclStep& step) {
    const auto message = static_cast<int>(messages_.size());
    messages_.push_back({gpu, block.send, step.chunks, false, static_cast<int>(steps_.size())});
    for (int c = step.chunks.first; c < step.chunks.first + step.chunks.count; ++c) {
      History& history = state_[gpu].chunks[c];
      if (history.written >= 0) precede(history.written, message, 1);
      history.read.push_back(message);
    }
    Connection& to = connection(gpu, block.send, block.channel);
    if (rules_.in_order && to.last >= 0) precede(to.last, message, 1);
    to.last = message;
    to.messages.push_back(message);
    if (to.waiting_block >= 0) ready_.emplace_back(block.send, std::exchange(to.waiting_block, -1));
  }

  bool receive(Rank gpu, int block, const MscclStep& step) {
    const MscclBlock& program = program_.gpus[gpu].blocks[block];
    Connection& from = connection(program.recv, gpu, program.channel);
    if (from.messages.empty()) {
      from.waiting_block = block;
      return false;
    }
    const int id = from.messages.front();
    from.messages.pop_front();
    ImportedMessage& message = messages_[id];
    require(message.chunks == step.chunks,
            "MSCCL XML: " + msccl_place(gpu, program, state_[gpu].done[block].size()) +
                " receives at offset " + std::to_string(step.chunks.first) + " (cnt " +
                std::to_string(step.chunks.count) + ") what gpu " + std::to_string(message.from) +
                " sends from offset " + std::to_string(message.chunks.first) + " (cnt " +
                std::to_string(message.chunks.count) + "); both must be equal");
    message.reduces = step.reduces;
    received_.push_back(id);
    for (int c = step.chunks.first; c < step.chunks.first + step.chunks.count; ++c) {
      History& history = state_[gpu].chunks[c];
      // A round stores nothing that it also sends or adds to, but may send what it then adds to,
      // and add to one range several times.
      for (const int read : history.read) precede(read, id, step.reduces ? 0 : 1);
      if (history.written >= 0) precede(history.written, id, joins(history.written, id) ? 0 : 1);
      history.written = id;
      history.read.clear();
    }
    return true;
  }

  // Whether both messages may be terms of one fold.
  bool joins(int earlier, int later) const {
    const ImportedMessage& a = messages_[earlier];
    const ImportedMessage& b = messages_[later];
    return rules_.long_folds && a.reduces && b.reduces && a.chunks == b.chunks;
  }

  void precede(int from, int to, int delay) {
    if (!precedences_.empty()) {
      const Precedence& last = precedences_.back();
      if (last.from == from && last.to == to && last.delay == delay) return;
    }
    precedences_.push_back({from, to, delay});
  }

  void check_finished() const {
    for (Rank gpu = 0; gpu < static_cast<Rank>(state_.size()); ++gpu) {
      const std::vector<MscclBlock>& blocks = program_.gpus[gpu].blocks;
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        const std::size_t done = state_[gpu].done[b].size();
        require(done == blocks[b].steps.size(), "MSCCL XML: " + msccl_place(gpu, blocks[b], done) +
                                                    " waits for ever: for a step or message that "
                                                    "never comes");
      }
    }
    require(received_.size() == messages_.size(),
            "MSCCL XML: " + std::to_string(messages_.size() - received_.size()) +
                " messages are sent but never received");
  }

  const MscclProgram& program_;
  const RoundRules rules_;
  std::vector<GpuState> state_;
  std::map<std::tuple<Rank, Rank, int>, Connection> connections_;
  std::deque<std::pair<Rank, int>> ready_;
  std::vector<ImportedMessage> messages_;  // in the order sent
  std::vector<int> received_;              // in the order received
  std::vector<Precedence> precedences_;
  std::vector<MscclDone> steps_;
};

struct TimedOp {
  int round;
  Op op;
};

// What the fullest rank of each round sends or receives, in chunks, one round after the other.
std::int64_t load_of(const Run& run, const std::vector<int>& rounds, std::size_t ranks) {
  const int last = rounds.empty() ? -1 : *std::max_element(rounds.begin(), rounds.end());
  std::vector<std::array<int, 2>> load(ranks * static_cast<std::size_t>(last + 1));
  for (const int id : run.received()) {
    const ImportedMessage& message = run.messages()[id];
    const std::size_t round = ranks * static_cast<std::size_t>(rounds[id]);
    load[round + static_cast<std::size_t>(message.from)][0] += message.chunks.count;
    load[round + static_cast<std::size_t>(message.to)][1] += message.chunks.count;
  }
  std::int64_t sum = 0;
  for (auto at = load.begin(); at != load.end(); at += static_cast<std::ptrdiff_t>(ranks)) {
    int most = 0;
    for (const auto& [sent, received] : std::span(at, ranks))
      most = std::max({most, sent, received});
    sum += most;
  }
  return sum;
}

struct Imported {
  Schedule schedule;
  std::int64_t load;
};

// The messages in the earliest rounds, or nothing if there are none in which all waits hold.
std::optional<Imported> in_rounds(const MscclProgram& program, CollectiveKind kind,
                                  const RoundRules& rules) {
  const Run run(program, rules);
  const auto count = static_cast<int>(run.messages().size());
  const auto rounds = earliest_rounds(count, run.precedences());
  if (!rounds) return std::nullopt;
  const std::int64_t load = load_of(run, *rounds, program.gpus.size());
  auto rows = std::make_shared<std::vector<std::vector<TimedOp>>>(program.gpus.size());
  int last = -1;
  for (const int id : run.received()) {
    const ImportedMessage& message = run.messages()[id];
    const int round = (*rounds)[id];
    last = std::max(last, round);
    (*rows)[message.from].push_back({round, {OpKind::send, message.to, message.chunks}});
    const OpKind receive = message.reduces ? OpKind::recv_reduce : OpKind::recv;
    (*rows)[message.to].push_back({round, {receive, message.from, message.chunks}});
  }
  const auto earlier = [](const TimedOp& a, const TimedOp& b) { return a.round < b.round; };
  for (std::vector<TimedOp>& row : *rows) std::stable_sort(row.begin(), row.end(), earlier);
  const auto play = [rows, earlier](Rank r, int t, Round& out) {
    const std::vector<TimedOp>& row = (*rows)[r];
    auto at = std::lower_bound(row.begin(), row.end(), TimedOp{t, {}}, earlier);
    for (; at != row.end() && at->round == t; ++at) out.push(at->op);
  };
  const Shape shape{static_cast<int>(program.gpus.size()), program.chunks, last + 1};
  if (!has_shares(kind)) return Imported{Schedule(program.name, shape, play), load};
  return Imported{
      Schedule(program.name, shape, play, share_partition(shape.ranks, shape.chunks / shape.ranks)),
      load};
}

// Throws InvalidArgument for rounds that resolve() refuses.
void check_rounds(const Schedule& schedule) {
  ResolvedRound round;
  for (Rank r = 0; r < schedule.ranks(); ++r) {
    for (int t = 0; t < schedule.rounds(); ++t) resolve(schedule, r, t, round);
  }
}

// With long folds where they can be told apart: those that cross get more rounds with fewer terms.
std::optional<Imported> in_sound_rounds(const MscclProgram& program, CollectiveKind kind,
                                        bool in_order) {
  std::exception_ptr refused;
  for (const bool long_folds : {true, false}) {
    std::optional<Imported> imported = in_rounds(program, kind, {long_folds, in_order});
    if (!imported) continue;
    try {
      check_rounds(imported->schedule);
      return imported;
    } catch (const InvalidArgument&) {
      if (!refused) refused = std::current_exception();
    }
  }
  if (refused && !in_order) std::rethrow_exception(refused);
  return std::nullopt;
}

}  // namespace

Schedule from_msccl_xml(std::string_view xml, CollectiveKind kind) {
  constexpr double worth_rounds = 0.8;
  const MscclProgram program = read_msccl_program(xml, kind);
  check_order(program, Run(program, {.long_folds = true, .in_order = false}).steps(), kind);
  std::optional<Imported> imported = in_sound_rounds(program, kind, false);
  require(imported.has_value(),
          "MSCCL XML: the messages cannot be put into rounds: some ranks exchange chunks in place "
          "without reducing them");
  // Pieces of a pipeline that all stood in one round would leave most links idle in turn.
  std::optional<Imported> ordered = in_sound_rounds(program, kind, true);
  const bool is_pipeline = ordered && static_cast<double>(ordered->load) <
                                          worth_rounds * static_cast<double>(imported->load);
  return std::move(is_pipeline ? ordered : imported)->schedule;
}

}  // namespace collbench
