#include "algorithms/resolve.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "algorithms/earliest_rounds.h"
#include "core/error.h"

namespace collbench {

// Fills a resolved round from one that is written.
class RoundReader {
 public:
  RoundReader(const Schedule& schedule, Rank rank, int round, ResolvedRound& out)
      : schedule_(schedule), rank_(rank), round_(round), out_(out) {}

  void read() {
    schedule_.round(rank_, round_, out_.written_);
    out_.sends_.clear();
    for (const Op& op : out_.written_.ops()) {
      check_shape(op);
      if (op.kind == OpKind::send) out_.sends_.push_back(op);
    }
    gather(out_.written_.ops());
    if (!ascending() && needs_joining()) gather(joined());
    const auto changes_nothing = [](const Receipt& r) { return r.folds && r.source_count == 1; };
    std::erase_if(out_.receipts_, changes_nothing);  // folds of the own term alone
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InvalidArgument(schedule_.name() + ": round " + std::to_string(round_) + ": rank " +
                          std::to_string(rank_) + " " + what);
  }

  void check_shape(const Op& op) const {
    if (op.peer < 0 || op.peer >= schedule_.ranks()) {
      refuse("names peer " + std::to_string(op.peer) + ", outside 0 to " +
             std::to_string(schedule_.ranks() - 1));
    }
    if (op.peer == rank_ && op.kind != OpKind::recv_reduce) {
      refuse("sends to or receives from itself");
    }
    if (op.chunks.first < 0 || op.chunks.count < 1 ||
        op.chunks.count > schedule_.chunks() - op.chunks.first) {
      refuse("names " + to_string(op.chunks) + ", outside 0 to " +
             std::to_string(schedule_.chunks() - 1));
    }
  }

  // Receipts from operations that follow each other.
  void gather(std::span<const Op> ops) {
    out_.receipts_.clear();
    out_.sources_.clear();
    bool marked = false;
    for (const Op& op : ops) {
      if (op.kind == OpKind::send) continue;
      const bool folds = op.kind == OpKind::recv_reduce;
      const bool joins = folds && !out_.receipts_.empty() && out_.receipts_.back().folds &&
                         out_.receipts_.back().chunks == op.chunks;
      if (!joins) {
        Receipt& receipt = out_.receipts_.emplace_back();  // in place: a copy takes longer
        receipt.chunks = op.chunks;
        receipt.folds = folds;
        receipt.first_source = static_cast<int>(out_.sources_.size());
        if (folds) add_source(rank_);
        marked = false;
      }
      if (folds && op.peer == rank_) {
        if (marked) refuse("marks its own term twice in the fold of " + to_string(op.chunks));
        marked = true;
        // The own term does not lead, then.
        ++out_.receipts_.back().first_source;
        --out_.receipts_.back().source_count;
      }
      add_source(op.peer);
    }
  }

  void add_source(Rank source) {
    out_.sources_.push_back(source);
    ++out_.receipts_.back().source_count;
  }

  bool ascending() const {
    int end = 0;
    for (const Receipt& receipt : out_.receipts_) {
      if (receipt.chunks.first < end) return false;
      end = receipt.chunks.first + receipt.chunks.count;
    }
    return true;
  }

  // Whether folds of one range stand apart. Refuses all other overlaps.
  bool needs_joining() {
    const std::vector<Receipt>& receipts = out_.receipts_;
    std::vector<int>& order = out_.by_place_;
    order.resize(receipts.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::pair(receipts[a].chunks.first, a) < std::pair(receipts[b].chunks.first, b);
    });
    bool found = false;
    for (std::size_t i = 1; i < order.size(); ++i) {
      const Receipt& a = receipts[order[i - 1]];
      const Receipt& b = receipts[order[i]];
      if (a.chunks.first + a.chunks.count <= b.chunks.first) continue;
      if (!a.folds || !b.folds || !(a.chunks == b.chunks)) refuse_overlap(a, b);
      found = true;
    }
    return found;
  }

  [[noreturn]] void refuse_overlap(const Receipt& a, const Receipt& b) const {
    const auto text = [](const Receipt& receipt) {
      return (receipt.folds ? "adds to " : "stores ") + to_string(receipt.chunks);
    };
    refuse(text(a) + " and " + text(b) +
           " in one round; only equal ranges may be added to twice, all others must be apart");
  }

  // The receiving operations, those of a fold behind each other, in an order that leaves the
  // messages of every sender in theirs.
  std::vector<Op> joined() const {
    std::vector<Op> ops;
    std::vector<int> fold_of;    // by operation; folds and stores are numbered as they begin
    std::map<int, int> fold_at;  // by first chunk, since ranges are equal or apart
    std::vector<Chunks> chunks;
    std::map<Rank, int> last_of_peer;
    std::vector<Precedence> precedences;
    for (const Op& op : out_.written_.ops()) {
      if (op.kind == OpKind::send) continue;
      const int fold =
          fold_at.emplace(op.chunks.first, static_cast<int>(chunks.size())).first->second;
      if (fold == static_cast<int>(chunks.size())) chunks.push_back(op.chunks);
      ops.push_back(op);
      fold_of.push_back(fold);
      if (op.peer == rank_) continue;
      const auto [last, is_first] = last_of_peer.emplace(op.peer, fold);
      if (!is_first && last->second != fold) precedences.push_back({last->second, fold, 1});
      last->second = fold;
    }
    const auto turns = earliest_rounds(static_cast<int>(chunks.size()), precedences);
    if (!turns) refuse_crossing(precedences, chunks);
    std::vector<int> order(ops.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](int i) { return std::tuple((*turns)[fold_of[i]], fold_of[i], i); };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
    std::vector<Op> sorted;
    for (const int i : order) sorted.push_back(ops[i]);
    return sorted;
  }

  [[noreturn]] void refuse_crossing(const std::vector<Precedence>& precedences,
                                    const std::vector<Chunks>& chunks) const {
    const auto back = std::find_if(precedences.begin(), precedences.end(),
                                   [](const Precedence& p) { return p.from > p.to; });
    assert(back != precedences.end());
    refuse("adds to " + to_string(chunks[back->to]) + " and to " + to_string(chunks[back->from]) +
           " in one round from ranks that send them in crossing orders; each rank must send them "
           "in one order, or in two rounds");
  }

  const Schedule& schedule_;
  Rank rank_;
  int round_;
  ResolvedRound& out_;
};

void resolve(const Schedule& schedule, Rank rank, int round, ResolvedRound& out) {
  RoundReader(schedule, rank, round, out).read();
}

ResolvedRound resolve(const Schedule& schedule, Rank rank, int round) {
  ResolvedRound resolved;
  resolve(schedule, rank, round, resolved);
  return resolved;
}

std::vector<SampledRound> sample_sends(const Schedule& schedule, int least) {
  const std::vector<int> runs = schedule.runs();
  const int rank_step = std::max(1, schedule.ranks() / least);
  const std::size_t run_step = std::max<std::size_t>(1, runs.size() / static_cast<unsigned>(least));
  std::vector<SampledRound> sampled;
  ResolvedRound round;
  // From another place of each stretch: pipelined rounds and hosts repeat with periods of their
  // own.
  constexpr double golden = 0.6180339887498949;
  const auto place_in = [](int stretch, auto length) {
    const double part = stretch * golden;
    return static_cast<decltype(length)>((part - std::floor(part)) * static_cast<double>(length));
  };
  for (std::size_t i = 0; i < runs.size(); i += run_step) {
    const std::size_t length = std::min(run_step, runs.size() - i);
    const int chosen = runs[i + place_in(static_cast<int>(i / run_step), length)];
    const int end = i + run_step < runs.size() ? runs[i + run_step] : schedule.rounds();
    double sends = 0;
    int asked = 0;
    for (Rank r = 0; r < schedule.ranks(); r += rank_step, ++asked) {
      resolve(schedule, r + place_in(asked, std::min(rank_step, schedule.ranks() - r)), chosen,
              round);
      sends += static_cast<double>(round.sends().size());
    }
    sampled.push_back({sends * schedule.ranks() / asked, end - runs[i]});
  }
  return sampled;
}

std::string to_string(Chunks chunks) {
  const std::string first = std::to_string(chunks.first);
  if (chunks.count == 1) return "chunk " + first;
  return "chunks " + first + " to " + std::to_string(chunks.first + chunks.count - 1);
}

}  // namespace collbench
