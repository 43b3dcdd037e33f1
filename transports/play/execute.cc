#include "transports/play/execute.h"

#include <algorithm>
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
      : bound_(bound), plan_(bound.plan_), endpoint_(*bound.endpoint_), in_(in), out_(out) {
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
    switch (place) {
      case Place::input:
        return in_.part(step.first - plan_.input().first, step.count);
      case Place::output:
        return out_.part(step.first - plan_.output().first, step.count);
      case Place::scratch:
        return scratch_.part(step.first, step.count);
      case Place::work:
        return work_.part(step.first, step.count);
    }
    return {};
  }

  // Sums come first, then what is worked on. Where values have no content, neither has this.
  void lay_out_scratch() {
    scratch_ = work_ = {nullptr, plan_.count(), plan_.type()};
    const int vectors = (plan_.needs_scratch() ? 1 : 0) + (plan_.needs_work() ? 1 : 0);
    const bool has_content = in_.data != nullptr || out_.data != nullptr;
    if (vectors == 0 || !has_content) return;
    const std::int64_t bytes = padded(scratch_.size().count);
    scratch_.data = endpoint_.scratch(ScratchUse::plan, {bytes * vectors});
    work_.data = plan_.needs_scratch() ? scratch_.data + bytes : scratch_.data;
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
  Region scratch_;
  Region work_;
};

void execute(BoundPlan& bound, Region in, Region out) { PlanReplay(bound, in, out).run(); }

}  // namespace collbench
