#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/grid_butterfly.h"
#include "core/error.h"

// Bine trees: partners at the distances 1, 1, 3, 5, 11 ..., two thirds of the binomial ones, which
// are those of Swing. Source: De Sensi et al., "Bine trees", SC 2025.
namespace collbench {
namespace {

int ceil_log2(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1))); }

// Digits of base -2.
constexpr std::uint32_t negative_digits = 0xAAAAAAAA;
std::uint32_t to_negabinary(int value) {
  return (static_cast<std::uint32_t>(value) + negative_digits) ^ negative_digits;
}
int from_negabinary(std::uint32_t digits) {
  return static_cast<int>((digits ^ negative_digits) - negative_digits);
}

std::uint32_t reversed(std::uint32_t bits, int width) {
  std::uint32_t result = 0;
  for (int i = 0; i < width; ++i) result |= ((bits >> i) & 1) << (width - 1 - i);
  return result;
}

// In which step of an all-gather of `ranks` ranks, an even number, one gets the block `distance`
// places away: those of the highest digit of the distance's number in Gray code, reversed.
int step_of(int distance, int ranks) {
  const int width = ceil_log2(ranks);
  std::uint32_t least = ~std::uint32_t{0};
  const int way = distance % 2 != 0 ? distance : -distance;
  for (const int value : {way, way > 0 ? way - ranks : way + ranks}) {
    const std::uint32_t digits = to_negabinary(value);
    if (digits >> width != 0) continue;  // has more digits
    least = std::min(least, reversed(digits ^ (digits >> 1), width));
  }
  return static_cast<int>(std::bit_width(least)) - 1;
}

// For an even number of ranks. Where it is a power of two, chunks are numbered so that every
// message is one range, as in any butterfly; elsewhere blocks travel one by one.
Phases even_bine_phases(int ranks) {
  const int steps = ceil_log2(ranks);
  if (std::has_single_bit(static_cast<unsigned>(ranks))) {
    return butterfly_phases(ranks, [ranks](Rank r, int t) { return swing_partner(r, t, ranks); });
  }
  const auto distances = std::make_shared<std::vector<std::vector<int>>>(steps);
  for (int i = 1; i < ranks; ++i) (*distances)[step_of(i, ranks)].push_back(i);
  const auto play = [ranks, steps, distances](Rank r, int t, Round& out) {
    const Rank peer = swing_partner(r, steps - 1 - t, ranks);
    const auto block = [ranks](Rank to, int i) {
      return (to + (to % 2 == 0 ? i : ranks - i)) % ranks;
    };
    for (const int i : (*distances)[t]) out.send(peer, {block(peer, i)});
    for (const int i : (*distances)[t]) out.recv(peer, {block(r, i)});
  };
  const Schedule gather("bine", {ranks, ranks, steps}, play);
  return {mirrored(gather, OpKind::recv_reduce), gather};
}

}  // namespace

Schedule bine(int ranks, bool small) {
  require(ranks >= 1, "bine: ranks must be at least 1, not " + std::to_string(ranks));
  if (small) {
    const int p = floor_power_of_two(ranks);
    const auto partner = [p](Rank r, int t) { return swing_partner(r, t, p); };
    return folded(butterfly_exchange(p, partner), ranks).named("bine");
  }
  const int even = ranks == 1 ? 1 : ranks / 2 * 2;
  const Phases phases = even_bine_phases(even);
  return folded(sequence("bine", {phases.reduce_scatter, phases.all_gather}), ranks).named("bine");
}

// Offsets from the root in base -2: with the lowest k + 1 digits equal a rank takes part in the
// step of digit k, with the rank whose k + 1 lowest digits are the others.
RootedPhases bine_tree_phases(int ranks, Rank root) {
  require(ranks >= 1, "bine: ranks must be at least 1, not " + std::to_string(ranks));
  require(root >= 0 && root < ranks, "bine: the root must be 0 to " + std::to_string(ranks - 1) +
                                         ", not " + std::to_string(root));
  require(std::has_single_bit(static_cast<unsigned>(ranks)),
          "bine: a tree needs a power of two of ranks, not " + std::to_string(ranks) + "; " +
              std::to_string(floor_power_of_two(ranks)) + " and " +
              std::to_string(2 * floor_power_of_two(ranks)) + " would fit");
  const int steps = ceil_log2(ranks);
  const auto mask_of = [](int digits) { return (std::uint32_t{1} << digits) - 1; };
  const auto play = [ranks, root, steps, mask_of](Rank r, int t, Round& out) {
    const std::uint32_t own = to_negabinary(r - root) & mask_of(steps);
    const std::uint32_t flip = mask_of(steps - t);
    const std::uint32_t low = own & flip;
    if (low != 0 && low != flip) return;  // not reached yet
    const int offset = from_negabinary(own ^ flip);
    const Rank peer = ((root + offset) % ranks + ranks) % ranks;
    // It has the data already if the digits that the last step compared are equal too.
    const std::uint32_t before = mask_of(steps - t + 1) & mask_of(steps);
    const bool has = own == 0 || (t > 0 && ((own & before) == 0 || (own & before) == before));
    has ? out.send(peer, {0}) : out.recv(peer, {0});
  };
  const Schedule broadcast("bine-broadcast", {ranks, 1, steps}, play);
  return {mirrored(broadcast, OpKind::recv_reduce).named("bine-reduce"), broadcast};
}

}  // namespace collbench
