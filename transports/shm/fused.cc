#include "transports/shm/fused.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "transports/kernels/kernels.h"
#include "transports/shm/layout.h"
#include "transports/shm/meeting.h"
#include "transports/shm/peer_memory.h"

namespace collbench {

namespace {

// What a rank stages at a time of a private buffer: small enough to stay in its second-level cache.
constexpr std::int64_t private_segment_bytes = 512 << 10;
// From here on private buffers are reached through the kernel, which looks up every page. Smaller
// ones lie on small pages and are faster staged (2 ranks on two Sapphire Rapids cores: 1 MiB 76
// against 94 us, 4 MiB 385 against 264 us).
constexpr std::int64_t remote_floor = 2 << 20;
// What a rank holds of all ranks' private buffers at a time, in its second-level cache.
constexpr std::int64_t remote_blocks_bytes = 512 << 10;
constexpr int most_remote_ranks = 64;  // so that a block has 8 KiB at least
// Out of place, outputs larger than a second-level cache are stored around the caches.
constexpr std::int64_t streaming_bytes = 1 << 20;
// In place, what is only copied is, too, where the vectors of all ranks are larger than a
// last-level cache: a fold has read the lines that it stores to, a copy has not.
constexpr std::int64_t beyond_caches = 64 << 20;
// Vectors from here on are shared out even if every rank has a core. Of smaller ones each rank does
// what it receives of a reduce-scatter or all-gather: its cache holds the lines that it stores to,
// and another rank would take up to six times as long to store to them.
constexpr std::int64_t shared_out_bytes = 4 << 20;
// With more ranks than cores, what the ranks of a core receive of an all-gather is stored on that
// core while their vectors fit its second-level cache with room to spare.
constexpr std::int64_t one_core_bytes = 1 << 20;
constexpr int most_claimed_cores = 64;
static_assert(most_shown_bytes <= shm_line_payload);

class ShmFusedPlayer final : public ShmFused {
 public:
  ShmFusedPlayer(const ShmView& view, Rank rank)
      : view_(view),
        lines_(view.world),
        meeting_(view, rank),
        waiter_(meeting_.waiter()),
        peers_(waiter_, view.world, rank),
        rank_(rank),
        ranks_(lines_.header().ranks),
        inlined_(std::max(lines_.inline_line(rank, 0).sequence.load(),
                          lines_.inline_line(rank, 1).sequence.load())) {
    sources_.reserve(static_cast<std::size_t>(ranks_));
    destinations_.reserve(static_cast<std::size_t>(ranks_));
  }

  bool play(const Fusion& fusion, Region in, Region out, Reduction reduction,
            bool reached) override {
    if (fusion.pieces.empty()) return true;
    if (fusion.shown) {
      play_inline(fusion, in, out, reduction);
      return true;
    }
    if (reached) {
      play_shared(fusion, in, out, reduction);
      return true;
    }
    const std::int64_t bytes = fusion.count * size_of(in.type);
    if (bytes >= remote_floor && play_remote(fusion, in, out, reduction)) return true;
    const bool fits = fusion.kind == CollectiveKind::all_reduce && fusion.even;
    if (!fits || ranks_ > lines_.header().cores) return false;
    play_private(fusion, in, out, reduction);
    return true;
  }

 private:
  // Where the vector would begin, of which a region at `position` holds some elements.
  static std::uint64_t start_of(std::uint64_t position, std::int64_t first, DataType type) {
    return position - static_cast<std::uint64_t>(first * size_of(type));
  }
  static bool has(std::span<const Rank> ranks, Rank rank) {
    return std::ranges::find(ranks, rank) != ranks.end();
  }

  void play_inline(const Fusion& fusion, Region in, Region out, Reduction reduction) {
    const std::uint64_t sequence = ++inlined_;
    // Two lines per rank are enough: this one was last read in operation sequence - 2, and every
    // rank had finished that before it announced sequence - 1, which this rank has seen from all of
    // them.
    ShmInline& mine = lines_.inline_line(rank_, sequence % 2);
    const int width = size_of(in.type);
    const Elements shown = fusion.before[static_cast<std::size_t>(rank_)];
    if (shown.count > 0) {
      std::memcpy(mine.payload,
                  in.part(shown.first - fusion.first_of_input(rank_), shown.count).data,
                  static_cast<std::size_t>(shown.count * width));
    }
    mine.sequence.store(sequence, std::memory_order_release);
    waiter_.notify();
    for (Rank r = 0; r < ranks_; ++r) {
      ShmInline& line = lines_.inline_line(r, sequence % 2);
      waiter_.wait_until(
          r, [&] { return line.sequence.load(std::memory_order_acquire) >= sequence; },
          [&] { return "rank " + std::to_string(r) + " did not arrive within the timeout"; });
    }
    for (const Fusion::Piece& piece : fusion.pieces) {
      if (!has(fusion.receivers(piece), rank_)) continue;
      sources_.clear();
      for (const Rank r : fusion.sources(piece)) {
        sources_.push_back(lines_.inline_line(r, sequence % 2).payload +
                           (piece.first - fusion.first_before(r)) * width);
      }
      std::byte* const into = out.part(piece.first - fusion.first_of_output(rank_), 0).data;
      collbench::reduce(in.type, reduction, sources_, {&into, 1}, piece.count);
    }
  }

  void play_shared(const Fusion& fusion, Region in, Region out, Reduction reduction) {
    meeting_.arrive(
        start_of(view_position(view_, in.data), fusion.first_of_input(rank_), in.type),
        start_of(view_position(view_, out.data), fusion.first_of_output(rank_), in.type));
    meeting_.await_arrivals();
    const std::int64_t bytes = fusion.count * size_of(in.type);
    const bool copies = fusion.kind == CollectiveKind::all_gather;
    const bool around = fusion.in_place ? copies && bytes * ranks_ >= beyond_caches
                                        : out.size().count >= streaming_bytes;
    const Stores stores = around ? Stores::streaming : Stores::cached;
    const int cores = lines_.header().cores;
    const bool halves = fusion.kind != CollectiveKind::all_reduce;
    if (halves && bytes < shared_out_bytes && ranks_ <= cores) {
      fold_own(
          fusion, [&](const Fusion::Piece& piece) { return has(fusion.receivers(piece), rank_); },
          [&](const Fusion::Piece& piece, std::int64_t first, std::int64_t n) {
            fold(fusion.sources(piece), {&rank_, 1}, first, n, in.type, reduction, stores);
          });
      return;
    }
    if (copies && ranks_ > cores && cores <= most_claimed_cores &&
        bytes * ranks_ <= cores * one_core_bytes) {
      fold_by_core(fusion, cores, [&](const Fusion::Piece& piece, std::span<const Rank> receivers) {
        fold(fusion.sources(piece), receivers, piece.first, piece.count, in.type, reduction,
             stores);
      });
      return;
    }
    const std::int64_t least = ranks_ <= cores ? 4096 : 16384;
    const std::int64_t most = copies && ranks_ > cores ? 65536 : 262144;
    const std::int64_t unit_bytes =
        std::clamp<std::int64_t>(bytes / (2 * std::min(ranks_, cores)), least, most);
    const std::int64_t unit = unit_bytes / 64 * 64 / size_of(in.type);
    fold_shares(fusion, unit, [&](const Fusion::Piece& piece, std::int64_t first, std::int64_t n) {
      fold(fusion.sources(piece), fusion.receivers(piece), first, n, in.type, reduction, stores);
    });
  }

  // As play_shared(), with buffers that only the kernel reaches. False, on every rank, if that is
  // not permitted, or not known yet to all ranks.
  bool play_remote(const Fusion& fusion, Region in, Region out, Reduction reduction) {
    if (!lines_.header().peer_memory || ranks_ > most_remote_ranks) return false;
    peers_.announce(meeting_.operation() + 1);
    const auto address = [](const std::byte* data) {
      return reinterpret_cast<std::uintptr_t>(data);
    };
    meeting_.arrive(start_of(address(in.data), fusion.first_of_input(rank_), in.type),
                    start_of(address(out.data), fusion.first_of_output(rank_), in.type));
    meeting_.await_arrivals();
    if (!peers_.agreed(meeting_.operation())) {
      meeting_.finish(1);
      meeting_.await_done(ranks_);
      return false;
    }
    const std::int64_t block = remote_blocks_bytes / ranks_ / 64 * 64;
    blocks_.resize(static_cast<std::size_t>(block * ranks_ + 64));
    const int busy = std::min(ranks_, lines_.header().cores);
    const std::int64_t bytes = fusion.count * size_of(in.type);
    const std::int64_t unit = std::clamp<std::int64_t>(bytes / (4 * busy), 4096, block);
    fold_shares(fusion, unit / 64 * 64 / size_of(in.type),
                [&](const Fusion::Piece& piece, std::int64_t first, std::int64_t n) {
                  fold_remote(fusion.sources(piece), fusion.receivers(piece), first, n, in.type,
                              reduction);
                });
    return true;
  }

  void play_private(const Fusion& fusion, Region in, Region out, Reduction reduction) {
    const std::int64_t most = private_segment_bytes / size_of(in.type);
    require(view_half_heap(view_) >= static_cast<std::size_t>(private_segment_bytes),
            "shared memory: staging needs 512 KiB of the arena per rank, it has " +
                std::to_string(view_half_heap(view_)) + " bytes");
    for (std::int64_t base = 0; base < in.count; base += most) {
      const std::int64_t count = std::min(most, in.count - base);
      play_private_segment(fusion, in.part(base, count), out.part(base, count), reduction, base);
    }
  }

  // One segment: stage what others own, fold the own part, collect what others folded.
  void play_private_segment(const Fusion& fusion, Region in, Region out, Reduction reduction,
                            std::int64_t base) {
    const int bytes = size_of(in.type);
    std::byte* const stage = view_.heap + view_half_heap(view_);
    // Boundaries on cache lines, so that two ranks do not write one line.
    const std::int64_t line = 64 / bytes;
    const std::int64_t lines = (in.count + line - 1) / line;
    const std::int64_t first = std::min(in.count, lines * rank_ / ranks_ * line);
    const std::int64_t last = std::min(in.count, lines * (rank_ + 1) / ranks_ * line);
    const auto exchange = [&](std::byte* to, const std::byte* from) {
      collbench::copy(to, from, first * bytes);
      collbench::copy(to + last * bytes, from + last * bytes, (in.count - last) * bytes);
    };
    exchange(stage, in.data);
    meeting_.arrive(view_position(view_, stage), view_position(view_, stage));
    meeting_.await_arrivals();
    fold_private(fusion, in, out, reduction, base, first, last);
    meeting_.finish(1);
    meeting_.await_done(ranks_);
    exchange(out.data, stage);
  }

  // Folds elements [first, first + count) of announced inputs into announced outputs.
  void fold(std::span<const Rank> order, std::span<const Rank> receivers, std::int64_t first,
            std::int64_t count, DataType type, Reduction reduction, Stores stores) {
    const ShmVisit visit(waiter_);
    const auto offset = static_cast<std::uint64_t>(first * size_of(type));
    sources_.clear();
    destinations_.clear();
    const auto at = [&](const std::atomic<std::uint64_t>& start) {
      return view_data(view_, start.load(std::memory_order_relaxed) + offset);
    };
    for (const Rank r : order) sources_.push_back(at(lines_.arrival(r).in));
    for (const Rank r : receivers) destinations_.push_back(at(lines_.arrival(r).out));
    collbench::reduce(type, reduction, sources_, destinations_, count, stores);
  }

  // Folds elements [first, first + count) in blocks that fit a second-level cache: reads the peers'
  // elements, folds them, and writes the result to all peers, from a block that a source has left.
  void fold_remote(std::span<const Rank> order, std::span<const Rank> receivers, std::int64_t first,
                   std::int64_t count, DataType type, Reduction reduction) {
    const ShmVisit visit(waiter_);
    const std::int64_t block = remote_blocks_bytes / ranks_ / 64 * 64;
    const auto start = reinterpret_cast<std::uintptr_t>(blocks_.data());
    std::byte* const blocks = blocks_.data() + (64 - start % 64);
    const auto address = [&](const std::atomic<std::uint64_t>& base, std::int64_t offset) {
      return base.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(offset);
    };
    const ShmArrival& mine = lines_.arrival(rank_);
    const bool copies_own = order.size() == 1 && order[0] == rank_;
    const bool keeps = has(receivers, rank_);
    std::byte* const folded = blocks + (order[0] == rank_ ? 1 : 0) * block;
    const std::int64_t end = (first + count) * size_of(type);
    for (std::int64_t offset = first * size_of(type); offset < end; offset += block) {
      const std::int64_t bytes = std::min(block, end - offset);
      auto* const own = reinterpret_cast<std::byte*>(address(mine.in, offset));
      sources_.clear();
      for (std::size_t i = 0; i < order.size(); ++i) {
        std::byte* const into = blocks + static_cast<std::int64_t>(i) * block;
        if (order[i] == rank_) {
          sources_.push_back(own);
        } else {
          peers_.read(order[i], address(lines_.arrival(order[i]).in, offset), into, bytes);
          sources_.push_back(into);
        }
      }
      destinations_.clear();
      if (keeps) destinations_.push_back(reinterpret_cast<std::byte*>(address(mine.out, offset)));
      if (order.size() > 1) destinations_.push_back(folded);
      if (!destinations_.empty()) {
        collbench::reduce(type, reduction, sources_, destinations_, bytes / size_of(type));
      }
      for (const Rank r : receivers) {
        if (r == rank_) continue;
        peers_.write(r, address(lines_.arrival(r).out, offset), copies_own ? own : folded, bytes);
      }
    }
  }

  // Folds elements [first, last) of the segment that starts at element `base`: this rank's input
  // and output are in its private memory, those of all others in their staging.
  void fold_private(const Fusion& fusion, Region in, Region out, Reduction reduction,
                    std::int64_t base, std::int64_t first, std::int64_t last) {
    for (const Fusion::Piece& piece : fusion.pieces) {
      const std::int64_t from = std::max(first, piece.first - base);
      const std::int64_t to = std::min(last, piece.first + piece.count - base);
      if (from >= to) continue;
      const std::int64_t offset = from * size_of(in.type);
      sources_.clear();
      destinations_.clear();
      for (const Rank r : fusion.sources(piece)) {
        std::byte* const staged =
            view_data(view_, lines_.arrival(r).in.load(std::memory_order_relaxed)) + offset;
        sources_.push_back(r == rank_ ? in.data + offset : staged);
        destinations_.push_back(r == rank_ ? out.data + offset : staged);
      }
      collbench::reduce(in.type, reduction, sources_, destinations_, to - from);
    }
  }

  // Between the meetings: every rank folds the pieces that are its own.
  template <class IsOwn, class Fold>
  void fold_own(const Fusion& fusion, IsOwn is_own, Fold fold_part) {
    for (const Fusion::Piece& piece : fusion.pieces) {
      if (is_own(piece)) fold_part(piece, piece.first, piece.count);
    }
    meeting_.finish(1);
    meeting_.await_done(ranks_);
  }

  // Between the meetings: what the ranks of one core receive is folded by the first of them that
  // claims it; it claims what is left of other cores, too, in case their ranks are descheduled.
  // Ranks are pinned to cores in turn. Where they are not, only the caches are used less well.
  template <class Fold>
  void fold_by_core(const Fusion& fusion, int cores, Fold fold_part) {
    for (int i = 0; i < cores; ++i) {
      const int core = (rank_ + i) % cores;
      if (!meeting_.claim(core)) continue;
      for (const Fusion::Piece& piece : fusion.pieces) {
        receivers_.clear();
        for (const Rank r : fusion.receivers(piece)) {
          if (r % cores == core) receivers_.push_back(r);
        }
        if (!receivers_.empty()) fold_part(piece, receivers_);
      }
      meeting_.finish(1);
    }
    meeting_.await_done(cores);
  }

  // Between the meetings: every rank folds claimed pieces if all ranks have equal shares, else the
  // pieces that it owns.
  template <class Fold>
  void fold_shares(const Fusion& fusion, std::int64_t unit, Fold fold_part) {
    if (fusion.even) {
      meeting_.await_done(fold_claimed(fusion, unit, fold_part));
    } else {
      fold_own(
          fusion, [&](const Fusion::Piece& piece) { return piece.owner == rank_; }, fold_part);
    }
  }

  // Folds pieces of `unit` elements until none is left; returns how many there are in all. Claiming
  // them one by one keeps every running rank busy while others are descheduled.
  template <class Fold>
  std::int64_t fold_claimed(const Fusion& fusion, std::int64_t unit, Fold fold_part) {
    std::int64_t units = 0;
    for (const Fusion::Piece& piece : fusion.pieces) units += (piece.count + unit - 1) / unit;
    std::int64_t folded = 0;
    while (true) {
      std::int64_t mine = meeting_.claim_next();
      if (mine >= units) break;
      for (const Fusion::Piece& piece : fusion.pieces) {
        const std::int64_t here = (piece.count + unit - 1) / unit;
        if (mine < here) {
          fold_part(piece, piece.first + mine * unit, std::min(unit, piece.count - mine * unit));
          break;
        }
        mine -= here;
      }
      ++folded;
    }
    if (folded > 0) meeting_.finish(folded);
    return units;
  }

  ShmView view_;
  ShmLines lines_;
  ShmMeeting meeting_;
  ShmWaiter& waiter_;
  ShmPeerMemory peers_;
  Rank rank_;
  int ranks_;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> destinations_;
  std::vector<Rank> receivers_;    // fold_by_core(): those on one core
  std::vector<std::byte> blocks_;  // play_remote(): a block of every rank's elements
  std::uint64_t inlined_ = 0;      // in-line operations begun
};

}  // namespace

std::unique_ptr<ShmFused> make_shm_fused(const ShmView& view, Rank rank) {
  return std::make_unique<ShmFusedPlayer>(view, rank);
}

}  // namespace collbench
