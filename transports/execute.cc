#include "transports/execute.h"

#include <cassert>
#include <utility>

#include "transports/kernels.h"

namespace collbench {

BoundPlan::BoundPlan(Plan plan, Endpoint& endpoint)
    : plan_(std::move(plan)),
      endpoint_(&endpoint),
      tickets_(static_cast<std::size_t>(plan_.tickets())) {
  assert(plan_.rank() == endpoint.rank() && plan_.ranks() == endpoint.ranks());
  endpoint.reserve(plan_.traffic());
}

void execute(BoundPlan& bound, Region in, Region out) {
  const Plan& plan = bound.plan_;
  Endpoint& endpoint = *bound.endpoint_;
  assert(in.count == plan.count() && out.count == plan.count() && in.type == plan.type());
  assert((in.data == out.data) == plan.in_place() || in.data == nullptr || in.count == 0);
  if (plan.fusion() && endpoint.play(*plan.fusion(), in, out, plan.reduction(true))) return;

  Region scratch{nullptr, plan.count(), plan.type()};
  if (plan.needs_scratch() && in.data != nullptr) {
    scratch.data = endpoint.scratch(ScratchUse::plan, scratch.size());
  }
  const auto region = [&](Place place, const Step& step) {
    const Region& whole = place == Place::input ? in : place == Place::output ? out : scratch;
    return whole.part(step.first, step.count);
  };
  for (const Step& step : plan.steps()) {
    Endpoint::Ticket* ticket =
        step.ticket < 0 ? nullptr : &bound.tickets_[static_cast<std::size_t>(step.ticket)];
    switch (step.kind) {
      case Step::Kind::copy: {
        const Region from = region(step.from, step);
        if (from.data != nullptr)
          collbench::copy(region(step.to, step).data, from.data, from.size().count);
        break;
      }
      case Step::Kind::divide: {
        std::byte* const data = region(step.to, step).data;
        const std::byte* const source = data;
        if (data != nullptr) {
          collbench::reduce(plan.type(), plan.reduction(true), {&source, 1}, {&data, 1},
                            step.count);
        }
        break;
      }
      case Step::Kind::send:
        *ticket = endpoint.send(step.peer, region(step.from, step));
        break;
      case Step::Kind::recv:
        *ticket = endpoint.recv(step.peer, region(step.to, step));
        break;
      case Step::Kind::recv_reduce:
        *ticket = endpoint.recv_reduce(plan.sources(step), region(step.from, step),
                                       region(step.to, step), plan.reduction(step.completes));
        break;
      case Step::Kind::wait:
        endpoint.wait(*ticket);
        break;
    }
  }
}

}  // namespace collbench
