// All-gathers over shared memory beside the bare copies that they are made of.
//
// The copies need no meeting and know nothing of ranks: a thread for each core stores what the
// all-gather stores, dealt out in four ways, and the fastest of them is the yardstick. It is no
// bound: beyond the caches the all-gather is faster. All are timed in turn within one run, each
// after all-gathers that are not timed (what stores around the caches leave behind slows down the
// next few passes), and after every rank has rewritten its vector. `fetches_us` is what it takes
// the threads to fetch once what their cores' ranks receive, which no all-gather by fetching
// avoids. Counters: medians in microseconds, and `ratio`, the fastest copies over the all-gather.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "algorithms/registry.h"
#include "bench/micro/timed_ranks.h"
#include "core/quantile.h"
#include "transports/kernels/kernels.h"
#include "transports/play/schedule_communicator.h"
#include "transports/shm/shm_world.h"
#include "transports/world/core_order.h"

namespace collbench {
namespace {

constexpr int untimed = 4;
constexpr int settling = 10;           // all-gathers before what is timed
constexpr std::int64_t block = 16384;  // of a source, which then stays in a first-level cache

// How copies are dealt to threads.
struct Deal {
  const char* name;
  bool by_receiver;  // a thread stores into the vectors of its own core's ranks, else into all
  Stores stores;
};
constexpr std::array<Deal, 4> deals{{{"received_us", true, Stores::cached},
                                     {"shared_us", false, Stores::cached},
                                     {"received_around_us", true, Stores::streaming},
                                     {"shared_around_us", false, Stores::streaming}}};

class GatherRace {
 public:
  GatherRace(int ranks, std::int64_t count, int iterations)
      : ranks_(ranks),
        copiers_(std::min<int>(ranks, static_cast<int>(std::thread::hardware_concurrency()))),
        count_(count),
        iterations_(iterations),
        ranks_timer_(ranks),
        world_(allocate_shm_world(ranks, {})),
        data_(static_cast<std::size_t>(ranks)) {}

  void run() {
    std::vector<std::thread> threads;
    for (Rank r = 0; r < ranks_; ++r) threads.emplace_back([this, r] { rank(r); });
    for (std::thread& thread : threads) thread.join();
  }

  bool is_wrong() const { return wrong_; }
  double gather_us() const { return quantile(gather_us_, 0.5); }
  double fetches_us() const { return quantile(fetches_us_, 0.5); }
  double copies_us(std::size_t deal) const { return quantile(copies_us_[deal], 0.5); }

 private:
  void rank(Rank r) {
    pin_to_core(r, {});
    const Collective gather{.kind = CollectiveKind::all_gather};
    const auto communicator = make_schedule_communicator(
        [this](Bytes bytes, DataType) { return make_schedule("direct", ranks_, bytes); },
        make_shm_endpoint({.world = world_.get()}, r), "direct",
        [this](Bytes bytes, const Collective& collective) {
          return make_schedule(parse_algorithm_spec("direct"), ranks_, bytes, collective);
        });
    const std::shared_ptr<std::byte> data = communicator->allocate(Bytes{4 * count_});
    const Region out{data.get(), count_, DataType::f32};
    const Region in = share(out, r);
    data_[static_cast<std::size_t>(r)] = data.get();
    for (int i = -untimed; i < iterations_; ++i) {
      const auto play = [&] { communicator->perform(gather, in, out, ReduceOp::sum); };
      const auto settle = [&] {
        for (int k = 0; k < settling; ++k) play();
      };
      settle();
      timed(r, i, out, gather_us_, true, play);
      settle();
      ranks_timer_.time(
          r, i < 0 ? nullptr : &fetches_us_, [&] { rewrite(r, out); },
          [&] {
            if (r < copiers_) fetch_part(r);
          },
          [] {}, false);
      for (std::size_t d = 0; d < deals.size(); ++d) {
        settle();
        timed(r, i, out, copies_us_[d], false, [&] {
          if (r < copiers_) copy_part(r, deals[d]);
        });
      }
    }
    ranks_timer_.meet();
  }

  Region share(Region whole, Rank of) const {
    return whole.part(of * (count_ / ranks_), count_ / ranks_);
  }

  // What thread `copier` of copiers_ stores.
  void copy_part(int copier, const Deal& deal) {
    const std::int64_t bytes = 4 * (count_ / ranks_);
    const std::int64_t part = bytes / copiers_ / 64 * 64;
    const std::int64_t first = deal.by_receiver ? 0 : copier * part;
    const std::int64_t last = deal.by_receiver || copier == copiers_ - 1 ? bytes : first + part;
    for (Rank source = 0; source < ranks_; ++source) {
      for (std::int64_t at = first; at < last; at += block) {
        const std::int64_t offset = source * bytes + at;
        const std::byte* const from = data_[static_cast<std::size_t>(source)] + offset;
        for (Rank to = 0; to < ranks_; ++to) {
          if (to == source || (deal.by_receiver && to % copiers_ != copier)) continue;
          collbench::copy(data_[static_cast<std::size_t>(to)] + offset, from,
                          std::min(block, last - at), deal.stores);
        }
      }
    }
  }

  // Fetches once, into a block that stays in a first-level cache, what the ranks of core `copier`
  // of copiers_ receive.
  void fetch_part(int copier) const {
    alignas(64) std::array<std::byte, block> scratch;
    const std::int64_t bytes = 4 * (count_ / ranks_);
    for (Rank source = 0; source < ranks_; ++source) {
      if (ranks_ == copiers_ && source == copier) continue;
      const std::byte* const from = data_[static_cast<std::size_t>(source)] + source * bytes;
      for (std::int64_t at = 0; at < bytes; at += block) {
        collbench::copy(scratch.data(), from + at, std::min(block, bytes - at));
      }
    }
    benchmark::DoNotOptimize(scratch);
  }

  void rewrite(Rank r, Region out) const {
    auto* const values = reinterpret_cast<float*>(out.data);
    const std::int64_t each = count_ / ranks_;
    std::fill_n(values, count_, -1.0F);
    std::fill_n(values + r * each, each, static_cast<float>(r));
  }

  template <class Play>
  void timed(Rank r, int iteration, Region out, std::vector<double>& samples, bool waits,
             Play play) {
    ranks_timer_.time(
        r, iteration < 0 ? nullptr : &samples, [&] { rewrite(r, out); }, play,
        [&] {
          const auto* const values = reinterpret_cast<const float*>(out.data);
          const std::int64_t each = count_ / ranks_;
          for (Rank of = 0; of < ranks_; ++of) {
            const auto expected = static_cast<float>(of);
            if (std::count(values + of * each, values + (of + 1) * each, expected) != each) {
              wrong_.store(true);
            }
          }
        },
        waits);
  }

  int ranks_;
  int copiers_;
  std::int64_t count_;
  int iterations_;
  TimedRanks ranks_timer_;
  std::shared_ptr<std::byte> world_;
  std::vector<std::byte*> data_;
  std::vector<double> gather_us_;
  std::vector<double> fetches_us_;
  std::array<std::vector<double>, deals.size()> copies_us_;
  std::atomic<bool> wrong_{false};
};

void all_gather_beside_copies(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  const std::int64_t bytes = state.range(1);
  const auto iterations =
      static_cast<int>(std::clamp<std::int64_t>(200'000'000 / (bytes * ranks + 20'000), 9, 500));
  for (auto _ : state) {
    GatherRace race(ranks, bytes / 4, iterations);
    race.run();
    if (race.is_wrong()) {
      state.SkipWithError("a share is wrong");
      return;
    }
    state.SetIterationTime(race.gather_us() * 1e-6);
    state.counters["gather_us"] = race.gather_us();
    state.counters["fetches_us"] = race.fetches_us();
    double least = race.copies_us(0);
    for (std::size_t d = 0; d < deals.size(); ++d) {
      state.counters[deals[d].name] = race.copies_us(d);
      least = std::min(least, race.copies_us(d));
    }
    state.counters["ratio"] = least / race.gather_us();
  }
}

BENCHMARK(all_gather_beside_copies)
    ->Name("AllGather/beside-copies")
    ->ArgsProduct({{2, 4, 8}, {64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}})
    ->UseManualTime()
    ->Iterations(1)
    ->Repetitions(5)
    ->ReportAggregatesOnly(true);

}  // namespace
}  // namespace collbench
