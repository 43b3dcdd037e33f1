// A Schedule defines what every rank sends, receives and reduces: an all-reduce, written once.
//
// It is a pure function (rank, round) -> operations. Nothing is stored, so a schedule for 65,536
// ranks costs as much as one for two; tabulate() caches the function where a table is wanted.
//
// Meaning. The buffer of each rank is cut into chunks() pieces. A rank runs its rounds in order,
// and every round is simultaneous: sends carry the values from before the round, then received
// values are stored or reduced in the order written. There is no barrier between ranks.
//
// Matching. The k-th send from a to b in round t meets the k-th receive from a at b in round t, and
// both name the same chunks. So rounds need no tags, and a matched schedule cannot deadlock
// (induction on t).
//
// Order of sums. A rank's recv_reduce operations of one round into one chunk form a group: a left
// fold in the order written, (own + first) + second ... A recv_reduce whose peer is the rank itself
// moves no data: it marks the place of the own term in that fold, which comes first when unmarked.
// That is how one-shot reaches the same rounding on every rank.
//
// Tracks. A schedule may consist of several on disjoint chunks, its tracks, as the D rings of a
// torus are. What a rank does in a round is then what it does in that round of all tracks; but a
// machine that can play several things at once (a simulated network can) plays each track by its
// own rounds, so that none waits for another.
//
// Runs. Consecutive rounds are alike if every rank has the same operations in them up to which
// chunks are named: kinds, peers, order and numbers of chunks are equal. A ring has two runs of
// alike rounds, which is how simulators and cost models deal with 131,070 rounds of 65,536 ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace collbench {

using Rank = int;

/// Chunks [first, first + count) of the buffer.
struct Chunks {
  int first = 0;
  int count = 1;
  bool operator==(const Chunks&) const = default;
};

enum class OpKind : std::uint8_t { send, recv, recv_reduce };

struct Op {
  OpKind kind = OpKind::send;
  Rank peer = 0;
  Chunks chunks;
  bool operator==(const Op&) const = default;
};

/// The operations of one rank in one round. Reuse one object over a loop: clear() keeps capacity.
class Round {
 public:
  void send(Rank to, Chunks chunks) { push({OpKind::send, to, chunks}); }
  void recv(Rank from, Chunks chunks) { push({OpKind::recv, from, chunks}); }
  void recv_reduce(Rank from, Chunks chunks) { push({OpKind::recv_reduce, from, chunks}); }
  void push(const Op& op) {
    // Member by member: the copy of a temporary waits for its parts to be written.
    Op& next = ops_.emplace_back();
    next.kind = op.kind;
    next.peer = op.peer;
    next.chunks = op.chunks;
  }
  std::span<const Op> ops() const { return ops_; }
  void clear() { ops_.clear(); }

 private:
  std::vector<Op> ops_;
};

struct Shape {
  int ranks = 0;
  int chunks = 0;
  int rounds = 0;
};

/// Where chunk boundaries fall: the first element of chunk `chunk` (0 <= chunk <= chunks) in a
/// buffer of `count` elements of `element_bytes` bytes. Non-decreasing, from 0 to `count`.
using Partition = std::function<std::int64_t(int chunk, std::int64_t count, int element_bytes)>;

/// Equal chunks up to rounding; boundaries fall on multiples of 64 bytes once chunks are 1 KiB.
Partition near_equal_partition(int chunks);

/// Immutable and cheap to copy. Thread safety: const members may run on any number of threads.
class Schedule {
 public:
  using Function = std::function<void(Rank rank, int round, Round& out)>;

  /// `partition` empty means near_equal_partition(shape.chunks). `runs` lists the first round of
  /// each run of alike rounds, ascending from 0; empty if no two rounds are known to be alike.
  /// Requires at least 1 rank and 1 chunk, and 0 or more rounds.
  Schedule(std::string name, Shape shape, Function function, Partition partition = {},
           std::vector<int> runs = {});

  const std::string& name() const { return name_; }
  int ranks() const { return shape_.ranks; }
  int chunks() const { return shape_.chunks; }
  int rounds() const { return shape_.rounds; }
  const Partition& partition() const { return partition_; }

  /// Replaces the contents of `out` by what `rank` does in `round`; idle rounds are empty.
  /// Requires 0 <= rank < ranks() and 0 <= round < rounds().
  void round(Rank rank, int round, Round& out) const;

  /// First round of each run of alike rounds; all rounds if none are known to be alike.
  std::vector<int> runs() const;
  /// The first round of the run of `round`. Requires 0 <= round < rounds().
  int pattern(int round) const;

  /// The tracks, over all ranks and chunks each; empty if there is but one, the schedule itself.
  std::span<const Schedule> tracks() const;
  /// This schedule, made of `tracks`: together they do in every round what it does, on disjoint
  /// chunks, with its ranks, chunks and partition.
  Schedule with_tracks(std::vector<Schedule> tracks) const;
  /// The same schedule with other chunk boundaries, those of its tracks as well.
  Schedule with_partition(const Partition& partition) const;
  /// The same schedule under another name.
  Schedule named(std::string name) const;

 private:
  std::string name_;
  Shape shape_;
  Function function_;
  Partition partition_;
  std::vector<int> runs_;
  std::shared_ptr<const std::vector<Schedule>> tracks_;
};

/// The same schedule with every operation computed once and stored.
Schedule tabulate(const Schedule& schedule);

}  // namespace collbench
