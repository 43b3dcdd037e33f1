// Fuzzes the bytes of streams: peers' bytes come in pieces of any size, receives are posted in
// between, and every element ends where it belongs with the value it must have.
#include <memory>
#include <numeric>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

#include "transports/grpc/intake.h"

namespace {

using namespace collbench;

constexpr int ranks = 4;
constexpr int elements = 64;  // of one receive at most

struct Posted {
  Intake::Slot slot;
  std::vector<Rank> sources;
  std::vector<std::int32_t> values;
  std::vector<std::int32_t> expected;
};

// What a peer sends: a counter, so that a lost or doubled byte is seen.
struct Peer {
  std::int32_t sent = 0;  // elements that are expected of it so far
  std::vector<std::byte> unsent;
};

class Program {
 public:
  explicit Program(std::string_view input) : rest_(input) {}

  void run() {
    while (!rest_.empty()) {
      const int what = next();
      if (what % 3 == 0) post();
      if (what % 3 == 1) deliver(1 + next() % (ranks - 1), next());
      if (what % 3 == 2) intake_.settle();
    }
    for (Rank r = 1; r < ranks; ++r) deliver(r, peers_[r].unsent.size());
    while (intake_.settle()) continue;
    for (const auto& posted : posted_) {
      if (!intake_.finished(posted->slot)) std::abort();
      if (posted->values != posted->expected) std::abort();
    }
  }

 private:
  int next() {
    if (rest_.empty()) return 0;
    const int byte = byte_of(rest_, 0);
    rest_.remove_prefix(1);
    return byte;
  }

  void post() {
    auto posted = std::make_unique<Posted>();
    const int count = 1 + next() % elements;
    const int mask = 1 + next() % 7;
    const bool fold = next() % 2 == 1;
    posted->values.assign(count, 1000);
    posted->expected.assign(count, fold ? 1000 : 0);
    for (Rank r = 1; r < ranks; ++r) {
      if ((mask >> (r - 1) & 1) == 0) continue;
      posted->sources.push_back(r);
      for (std::int32_t& value : posted->expected) value += feed(r);
      if (!fold) break;
    }
    const Region region{reinterpret_cast<std::byte*>(posted->values.data()), count, DataType::i32};
    posted->slot = fold ? intake_.post_fold(posted->sources, region, region, {})
                        : intake_.post_copy(posted->sources.front(), region);
    posted_.push_back(std::move(posted));
  }

  std::int32_t feed(Rank r) {
    Peer& peer = peers_[r];
    const std::int32_t value = peer.sent++ * 4 + r;
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    peer.unsent.insert(peer.unsent.end(), bytes, bytes + sizeof value);
    return value;
  }

  void deliver(Rank r, std::size_t most) {
    std::vector<std::byte>& unsent = peers_[r].unsent;
    const auto n = static_cast<std::ptrdiff_t>(std::min(most, unsent.size()));
    const auto piece = std::make_shared<std::vector<std::byte>>(unsent.begin(), unsent.begin() + n);
    unsent.erase(unsent.begin(), unsent.begin() + n);
    intake_.queue(r).push(*piece, piece);
  }

  std::string_view rest_;
  Peer peers_[ranks];
  std::vector<std::unique_ptr<Posted>> posted_;
  Intake intake_{0, ranks};
};

}  // namespace

FUZZ_TARGET(wire_stream, input) {
  if (input.size() <= 4096) Program(input).run();
}
