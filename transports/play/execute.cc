#include "transports/play/execute.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <utility>

#include "transports/kernels/kernels.h"
#include "transports/play/step_order.h"

namespace collbench {

BoundPlan::BoundPlan(Plan plan, Endpoint& endpoint)
    : plan_(std::move(plan)),
      endpoint_(&endpoint),
      tickets_(static_cast<std::size_t>(plan_.tickets())) {
  assert(plan_.rank() == endpoint.rank() && plan_.ranks() == endpoint.ranks());
  endpoint.reserve(plan_.traffic());
}

class PlanReplay {
 public:
  PlanReplay(BoundPlan& bound, Region in, Region out)
      : bound_(bound),
        plan_(bound.plan_),
        endpoint_(*bound.endpoint_),
        in_(in),
        out_(out),
        memory_{{{in.data, plan_.input().first}, {out.data, plan_.output().first}, {}, {}}} {
    assert(in.count == plan_.input().count && out.count == plan_.output().count);
    assert(in.type == plan_.type() && out.type == plan_.type());
  }

  void run() {
    const auto& fusion = plan_.fusion();
    if (fusion && endpoint_.play(*fusion, in_, out_, plan_.reduction(true))) return;
    lay_out_scratch();
    const std::span<const Step> steps = plan_.steps();
    std::uint64_t done = 0;  // bit k: the k-th step from here on
    for (std::size_t at = 0; at < steps.size(); ++at, done >>= 1) {
      if ((done & 1) != 0 || perform(steps[at])) continue;
      do_some_behind(at, done);
      endpoint_.wait(ticket(steps[at]));
    }
  }

 private:
  Endpoint::Ticket& ticket(const Step& step) {
    return bound_.tickets_[static_cast<std::size_t>(step.ticket)];
  }
  Region region(Place place, const Step& step) const {
    const auto [data, first] = memory_[static_cast<std::size_t>(place)];
    const std::int64_t offset = (step.first - first) * size_of(plan_.type());
    return {data == nullptr ? nullptr : data + offset, step.count, plan_.type()};
  }
  std::byte*& memory(Place place) { return memory_[static_cast<std::size_t>(place)].data; }

  // Sums come first, then what is worked on. Where values have no content, neither has this.
  void lay_out_scratch() {
    const int vectors = (plan_.needs_scratch() ? 1 : 0) + (plan_.needs_work() ? 1 : 0);
    const bool has_content = memory(Place::input) != nullptr || memory(Place::output) != nullptr;
    if (vectors == 0 || !has_content) return;
    const std::int64_t bytes = padded(plan_.count() * size_of(plan_.type()));
    std::byte* const first = endpoint_.scratch(ScratchUse::plan, {bytes * vectors});
    memory(Place::scratch) = first;
    memory(Place::work) = plan_.needs_scratch() ? first + bytes : first;
  }
  static std::int64_t padded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

  // Goes once through the steps behind the `at`-th, up to the end of the window.
  void do_some_behind(std::size_t at, std::uint64_t& done) {
    if (bound_.order_.empty()) bound_.order_ = step_order(plan_);
    const std::span<const Step> steps = plan_.steps().subspan(at);
    const std::size_t end = std::min<std::size_t>(steps.size(), step_window);
    for (std::size_t k = 1; k < end; ++k) {
      const std::uint64_t follows = bound_.order_[at + k] >> (step_window - k);
      const std::uint64_t bit = std::uint64_t{1} << k;
      if ((done & bit) == 0 && (follows & ~done) == 0 && perform(steps[k])) done |= bit;
    }
  }

  // False if the step is a wait that does not end at once.
  bool perform(const Step& step) {
    switch (step.kind) {
      case Step::Kind::copy: {
        const Region from = region(step.from, step);
        if (from.data != nullptr)
          collbench::copy(region(step.to, step).data, from.data, from.size().count);
        return true;
      }
      case Step::Kind::divide: {
        const Region sums = region(step.to, step);
        if (sums.data != nullptr) divide(sums, plan_.reduction(true));
        return true;
      }
      case Step::Kind::send:
        ticket(step) = endpoint_.send(step.peer, region(step.from, step));
        return true;
      case Step::Kind::recv:
        ticket(step) = endpoint_.recv(step.peer, region(step.to, step));
        return true;
      case Step::Kind::recv_reduce:
        ticket(step) =
            endpoint_.recv_reduce(plan_.sources(step), region(step.from, step),
                                  region(step.to, step), plan_.reduction(step.completes));
        return true;
      case Step::Kind::wait:
        return endpoint_.try_wait(ticket(step));
    }
    return true;
  }

  BoundPlan& bound_;
  const Plan& plan_;
  Endpoint& endpoint_;
  Region in_;
  Region out_;
  // What elements of a step lie in, and which element of the vector comes first there.
  struct Memory {
    std::byte* data = nullptr;
    std::int64_t first = 0;
  };
  std::array<Memory, 4> memory_;  // by Place
};

void execute(BoundPlan& bound, Region in, Region out) { PlanReplay(bound, in, out).run(); }

}  // namespace collbench
