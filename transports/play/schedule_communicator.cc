#include "transports/play/schedule_communicator.h"

#include <algorithm>
#include <exception>
#include <map>
#include <tuple>
#include <utility>

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
                       std::string description)
      : choice_(std::move(choice)),
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
    perform(bound(Use::barrier, 0, region, true, ReduceOp::max), region, region);
  }

 private:
  enum class Use : std::uint8_t { all_reduce, broadcast, barrier };
  using Key = std::tuple<Use, Rank, std::int64_t, DataType, ReduceOp, bool>;

  Schedule schedule(Use use, Rank root, Region region) const {
    if (use == Use::broadcast) return binomial_broadcast(ranks(), root);
    if (use == Use::barrier) return make_schedule("recursive-doubling", ranks());
    return choice_(region.size(), region.type);
  }

  BoundPlan& bound(Use use, Rank root, Region region, bool in_place, ReduceOp op) {
    const Key key{use, root, region.count, region.type, op, in_place};
    if (last_ != nullptr && last_key_ == key) return *last_;
    auto found = plans_.find(key);
    if (found == plans_.end()) {
      Plan plan(schedule(use, root, region), rank(), region.count, region.type, op, in_place);
      found = plans_.emplace(key, BoundPlan(std::move(plan), *endpoint_)).first;
    }
    last_key_ = key;
    last_ = &found->second;
    return *last_;
  }

  // Once one has failed, what the peers sent for it could be taken for a part of the next one,
  // whose pieces have other sizes; none starts any more.
  void perform(BoundPlan& plan, Region in, Region out) {
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
      perform(bound(Use::all_reduce, 0, in, in.data == out.data, op), in, out);
    }
  }

  void play_staged(Region in, Region out, ReduceOp op) {
    BoundPlan& whole = bound(Use::all_reduce, 0, in, in.data == out.data, op);
    const auto& fusion = whole.plan().fusion();
    const auto fused = [&] {
      return endpoint_->play(*fusion, in, out, whole.plan().reduction(true));
    };
    if (fusion && guarded(fused)) return;
    const std::int64_t most = (fusion ? fused_segment_bytes : segment_bytes) / size_of(in.type);
    Region stage{nullptr, std::min(most, in.count), in.type};
    stage.data = endpoint_->scratch(ScratchUse::staging, stage.size());
    for (std::int64_t first = 0; first < in.count; first += most) {
      const std::int64_t count = std::min(most, in.count - first);
      const Region segment = stage.part(0, count);
      collbench::copy(segment.data, in.part(first, count).data, segment.size().count);
      perform(bound(Use::all_reduce, 0, segment, true, op), segment, segment);
      collbench::copy(out.part(first, count).data, segment.data, segment.size().count);
    }
  }

  void play_broadcast(Region region, Rank root) {
    if (region.count == 0) return;
    if (!needs_staging(region)) {
      perform(bound(Use::broadcast, root, region, true, ReduceOp::sum), region, region);
      return;
    }
    const std::int64_t most = segment_bytes / size_of(region.type);
    Region stage{nullptr, std::min(most, region.count), region.type};
    stage.data = endpoint_->scratch(ScratchUse::staging, stage.size());
    for (std::int64_t first = 0; first < region.count; first += most) {
      const std::int64_t count = std::min(most, region.count - first);
      const Region segment = stage.part(0, count);
      const Region mine = region.part(first, count);
      collbench::copy(segment.data, mine.data, segment.size().count);
      perform(bound(Use::broadcast, root, segment, true, ReduceOp::sum), segment, segment);
      collbench::copy(mine.data, segment.data, segment.size().count);
    }
  }

  ScheduleChoice choice_;
  std::unique_ptr<Endpoint> endpoint_;
  std::string description_;
  std::map<Key, BoundPlan> plans_;
  Key last_key_;
  BoundPlan* last_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<Communicator> make_schedule_communicator(ScheduleChoice choice,
                                                         std::unique_ptr<Endpoint> endpoint,
                                                         std::string description) {
  return std::make_unique<ScheduleCommunicator>(std::move(choice), std::move(endpoint),
                                                std::move(description));
}

std::unique_ptr<Communicator> make_schedule_communicator(const Schedule& schedule,
                                                         std::unique_ptr<Endpoint> endpoint,
                                                         std::string description) {
  return make_schedule_communicator([schedule](Bytes, DataType) { return schedule; },
                                    std::move(endpoint), std::move(description));
}

}  // namespace collbench
