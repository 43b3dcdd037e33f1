#include "transports/play/schedule_communicator.h"

#include <algorithm>
#include <exception>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "algorithms/rooted.h"
#include "core/error.h"
#include "transports/kernels/kernels.h"
#include "transports/play/execute.h"

namespace collbench {

namespace {

// What travels in a message slot needs no staging.
constexpr std::int64_t staging_floor_bytes = 48;
// Segments of staged buffers: for fused plans small enough that the staging of all ranks stays in
// the second-level caches, otherwise large enough to amortise the rounds.
constexpr std::int64_t fused_segment_bytes = 256 << 10;
constexpr std::int64_t segment_bytes = 4 << 20;

class ScheduleCommunicator final : public Communicator {
 public:
  ScheduleCommunicator(ScheduleChoice choice, std::unique_ptr<Endpoint> endpoint,
                       std::string description, CollectiveChoice others)
      : played_{std::move(choice), std::move(others)},
        endpoint_(std::move(endpoint)),
        description_(std::move(description)) {}

  Rank rank() const override { return endpoint_->rank(); }
  int ranks() const override { return endpoint_->ranks(); }
  Seconds now() const override { return endpoint_->now(); }
  std::string description() const override { return description_; }

  void all_reduce(Region in, Region out, ReduceOp op) override { play(in, out, op); }

  void broadcast(Region region, Rank root) override {
    require_root(root);
    play_broadcast(region, root);
  }
  void barrier() override {
    std::byte token{};
    const Region region{&token, 1, DataType::u8};
    play_plan(bound(Use::barrier, region, true, ReduceOp::max), region, region);
  }

  void perform(const Collective& collective, Region in, Region out, ReduceOp op) override {
    const Call call{in.data, out.data, in.count, out.count, in.type, op};
    if (last_call_.plan != nullptr && last_call_.call == call &&
        last_call_.collective == collective) {
      return play_plan(*last_call_.plan, last_call_.in, last_call_.out);
    }
    if (collective.kind == CollectiveKind::all_reduce) return all_reduce(in, out, op);
    const Whole whole = whole_of(collective, in, out);
    if (whole.count == 0) return;
    const bool in_place = whole.vector != nullptr;
    const Region vector{nullptr, whole.count, in.type};
    if (needs_staging(in) || needs_staging(out)) {
      BoundPlan& plan = bound(collective, vector, in_place, op);
      const Region all{whole.vector, whole.count, in.type};
      if (play_fused(plan, in_place ? all : in, in_place ? all : out)) return;
      return play_staged_whole(collective, whole.count, in, out, op);
    }
    if (in_place) in = out = Region{whole.vector, whole.count, in.type};
    last_call_ = {call, collective, &bound(collective, vector, in_place, op), in, out};
    play_plan(*last_call_.plan, in, out);
  }

 private:
  using Counts = std::vector<std::int64_t>;
  enum class Use : std::uint8_t {
    all_reduce,
    reduce_scatter,
    all_gather,
    broadcast,
    reduce,
    barrier
  };
  using Key = std::tuple<Use, Rank, std::int64_t, DataType, ReduceOp, bool, Counts>;

  struct Call {
    const std::byte* in = nullptr;
    const std::byte* out = nullptr;
    std::int64_t in_count = 0;
    std::int64_t out_count = 0;
    DataType type = DataType::f32;
    ReduceOp op = ReduceOp::sum;
    bool operator==(const Call&) const = default;
  };
  // What the last call of perform() led to: the next is mostly the same.
  struct LastCall {
    Call call;
    Collective collective;
    BoundPlan* plan = nullptr;
    Region in;
    Region out;
  };

  // The collectives come first, and in the same order.
  static Use use_of(CollectiveKind kind) { return static_cast<Use>(kind); }

  Schedule schedule(Use use, const Collective& collective, Region region) const {
    if (use == Use::barrier) return make_schedule("recursive-doubling", ranks());
    return played_.of(collective, ranks(), region.size(), region.type, description_);
  }

  BoundPlan& bound(const Collective& collective, Region region, bool in_place, ReduceOp op) {
    return bound(use_of(collective.kind), region, in_place, op, collective.root, collective.counts);
  }

  BoundPlan& bound(Use use, Region region, bool in_place, ReduceOp op, Rank root = 0,
                   const Counts& counts = {}) {
    const Key key{use, root, region.count, region.type, op, in_place, counts};
    if (last_ != nullptr && last_key_ == key) return *last_;
    auto found = plans_.find(key);
    if (found == plans_.end()) {
      const Collective collective{
          use == Use::barrier ? CollectiveKind::all_reduce : static_cast<CollectiveKind>(use), root,
          counts};
      Plan plan(schedule(use, collective, region), rank(), region.count, region.type, op, in_place,
                collective);
      found = plans_.emplace(key, BoundPlan(std::move(plan), *endpoint_)).first;
    }
    last_key_ = key;
    last_ = &found->second;
    return *last_;
  }

  // Once one has failed, what the peers sent for it could be taken for a part of the next one,
  // whose pieces have other sizes; none starts any more.
  void play_plan(BoundPlan& plan, Region in, Region out) {
    guarded([&] { execute(plan, in, out); });
  }

  // A failure the peers cannot know of is told to them: they would wait for the timeout, and read
  // memory that the caller may then have released.
  template <class Play>
  std::invoke_result_t<Play> guarded(Play play) {
    if (failure_) std::rethrow_exception(failure_);
    try {
      return play();
    } catch (const TransportError&) {
      failure_ = std::current_exception();
      throw;
    } catch (const std::exception& error) {
      failure_ = std::current_exception();
      endpoint_->give_up(fmt::format("rank {} failed: {}", rank(), error.what()));
      throw;
    } catch (...) {
      failure_ = std::current_exception();
      endpoint_->give_up(fmt::format("rank {} failed", rank()));
      throw;
    }
  }

  bool needs_staging(Region region) const {
    return region.size().count > staging_floor_bytes && !endpoint_->reaches(region);
  }

  void play(Region in, Region out, ReduceOp op) {
    require_alike(in, out);
    if (in.count == 0) return;
    if (needs_staging(in) || needs_staging(out)) {
      play_staged(in, out, op);
    } else {
      play_plan(bound(Use::all_reduce, in, in.data == out.data, op), in, out);
    }
  }

  void play_staged(Region in, Region out, ReduceOp op) {
    BoundPlan& whole = bound(Use::all_reduce, in, in.data == out.data, op);
    if (play_fused(whole, in, out)) return;
    const bool fuses = whole.plan().fusion().has_value();
    play_in_segments(in, out, fuses ? fused_segment_bytes : segment_bytes, Use::all_reduce, op);
  }

  // False if there is no fusion, or not with buffers that must be staged.
  bool play_fused(const BoundPlan& bound, Region in, Region out) {
    const auto& fusion = bound.plan().fusion();
    return fusion &&
           guarded([&] { return endpoint_->play(*fusion, in, out, bound.plan().reduction(true)); });
  }

  // Through memory that the peers can read, `most_bytes` at a time.
  void play_in_segments(Region in, Region out, std::int64_t most_bytes, Use use, ReduceOp op,
                        Rank root = 0) {
    const std::int64_t most = most_bytes / size_of(in.type);
    Region stage{nullptr, std::min(most, in.count), in.type};
    stage.data = endpoint_->scratch(ScratchUse::staging, stage.size());
    for (std::int64_t first = 0; first < in.count; first += most) {
      const std::int64_t count = std::min(most, in.count - first);
      const Region segment = stage.part(0, count);
      collbench::copy(segment.data, in.part(first, count).data, segment.size().count);
      play_plan(bound(use, segment, true, op, root), segment, segment);
      collbench::copy(out.part(first, count).data, segment.data, segment.size().count);
    }
  }

  void play_broadcast(Region region, Rank root) {
    if (region.count == 0) return;
    if (needs_staging(region)) {
      play_in_segments(region, region, segment_bytes, Use::broadcast, ReduceOp::sum, root);
    } else {
      play_plan(bound(Use::broadcast, region, true, ReduceOp::sum, root), region, region);
    }
  }

  // In place in the staging memory, each part at its place in the vector.
  void play_staged_whole(const Collective& collective, std::int64_t count, Region in, Region out,
                         ReduceOp op) {
    Region stage{nullptr, count, in.type};
    stage.data = endpoint_->scratch(ScratchUse::staging, stage.size());
    const Elements before = elements_before(collective, rank(), ranks(), count);
    const Elements after = elements_after(collective, rank(), ranks(), count);
    collbench::copy(stage.part(before.first, before.count).data, in.data, in.size().count);
    play_plan(bound(collective, stage, true, op), stage, stage);
    collbench::copy(out.data, stage.part(after.first, after.count).data, out.size().count);
  }

  PlayedSchedules played_;
  std::unique_ptr<Endpoint> endpoint_;
  std::string description_;
  std::map<Key, BoundPlan> plans_;
  LastCall last_call_;
  Key last_key_;
  BoundPlan* last_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace

Schedule PlayedSchedules::of(const Collective& collective, int ranks, Bytes bytes, DataType type,
                             const std::string& by) const {
  std::optional<Schedule> chosen;
  if (collective.kind == CollectiveKind::all_reduce) {
    chosen = all_reduces(bytes, type);
  } else if (others) {
    chosen = others(bytes, collective);
  }
  if (!chosen && collective.kind == CollectiveKind::broadcast) {
    chosen = binomial_broadcast(ranks, collective.root);
  }
  if (!chosen) throw Unavailable(by + " has no " + std::string(to_string(collective.kind)));
  require(chosen->ranks() == ranks,
          fmt::format("{}: the schedule {} is for {} ranks, and there are {}", by, chosen->name(),
                      chosen->ranks(), ranks));
  return *std::move(chosen);
}

std::unique_ptr<Communicator> make_schedule_communicator(ScheduleChoice choice,
                                                         std::unique_ptr<Endpoint> endpoint,
                                                         std::string description,
                                                         CollectiveChoice others) {
  return std::make_unique<ScheduleCommunicator>(std::move(choice), std::move(endpoint),
                                                std::move(description), std::move(others));
}

std::unique_ptr<Communicator> make_schedule_communicator(const Schedule& schedule,
                                                         std::unique_ptr<Endpoint> endpoint,
                                                         std::string description) {
  return make_schedule_communicator([schedule](Bytes, DataType) { return schedule; },
                                    std::move(endpoint), std::move(description));
}

}  // namespace collbench
