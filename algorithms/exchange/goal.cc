#include "algorithms/exchange/goal.h"

#include "algorithms/resolve.h"
#include "core/error.h"

namespace collbench {
namespace {

// The text of one rank. Operations of a round require the end of the round before, a "calc 0" that
// requires all of its operations: linear where a direct dependency would be quadratic.
class RankText {
 public:
  RankText(const Schedule& schedule, Rank rank, std::int64_t count, int element_bytes) {
    text_ = "rank " + std::to_string(rank) + " {\n";
    ResolvedRound round;
    for (int t = 0; t < schedule.rounds(); ++t) {
      resolve(schedule, rank, t, round);
      const auto bytes = [&](Chunks chunks) {
        return element_bytes *
               (schedule.partition()(chunks.first + chunks.count, count, element_bytes) -
                schedule.partition()(chunks.first, count, element_bytes));
      };
      begin_ = label_;
      for (const Op& op : round.sends()) add("send", op.peer, bytes(op.chunks), t);
      for (const Receipt& receipt : round.receipts()) {
        for (const Rank source : round.sources(receipt)) {
          if (source != rank) add("recv", source, bytes(receipt.chunks), t);
        }
      }
      end_round();
    }
    text_ += "}\n";
  }

  const std::string& text() const { return text_; }

 private:
  static std::string name(int label) { return "l" + std::to_string(label); }

  void require_label(int label, int required) {
    text_ += name(label) + " requires " + name(required) + "\n";
  }

  void add(const std::string& verb, Rank peer, std::int64_t bytes, int round) {
    if (bytes == 0) return;
    text_ += name(++label_) + ": " + verb + " " + std::to_string(bytes) + "b " +
             (verb == "send" ? "to " : "from ") + std::to_string(peer) + " tag " +
             std::to_string(round) + "\n";
    if (joined_ > 0) require_label(label_, joined_);
  }

  void end_round() {
    if (label_ == begin_) return;
    const int last = label_;
    text_ += name(++label_) + ": calc 0\n";
    for (int label = begin_ + 1; label <= last; ++label) require_label(label_, label);
    joined_ = label_;
  }

  std::string text_;
  int label_ = 0;   // the last one used
  int begin_ = 0;   // the last one before this round
  int joined_ = 0;  // that of the end of the last round, 0 if none
};

}  // namespace

std::string to_goal(const Schedule& schedule, Bytes size, int element_bytes) {
  require(element_bytes >= 1 && size.count >= 0 && size.count % element_bytes == 0,
          "GOAL: " + to_string(size) + " is not a whole number of elements of " +
              std::to_string(element_bytes) + " bytes");
  std::string text = "num_ranks " + std::to_string(schedule.ranks()) + "\n";
  for (Rank r = 0; r < schedule.ranks(); ++r) {
    text += "\n" + RankText(schedule, r, size.count / element_bytes, element_bytes).text();
  }
  return text;
}

}  // namespace collbench
