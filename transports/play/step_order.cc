#include "transports/play/step_order.h"

#include <algorithm>
#include <span>

namespace collbench {

namespace {

bool reads(const Step& step, Place place) {
  return step.kind != Step::Kind::recv && step.from == place;
}

bool writes(const Step& step, Place place) {
  return step.kind != Step::Kind::send && step.to == place;
}

bool clash(const Step& a, const Step& b) {
  if (a.first >= b.first + b.count || b.first >= a.first + a.count) return false;
  for (const Place place : {Place::input, Place::output, Place::scratch, Place::work}) {
    if (writes(a, place) && (reads(b, place) || writes(b, place))) return true;
    if (reads(a, place) && writes(b, place)) return true;
  }
  return false;
}

class StepOrder {
 public:
  explicit StepOrder(const Plan& plan)
      : plan_(plan), transfers_(static_cast<std::size_t>(plan.tickets())) {}

  std::vector<std::uint64_t> find() {
    const std::span<const Step> steps = plan_.steps();
    std::vector<std::uint64_t> order;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kind != Step::Kind::wait && steps[i].ticket >= 0) {
        transfers_[static_cast<std::size_t>(steps[i].ticket)] = &steps[i];
      }
      std::uint64_t after = 0;
      for (std::size_t k = 1; k < step_window && k <= i; ++k) {
        if (follows(steps[i - k], steps[i])) after |= std::uint64_t{1} << (step_window - k);
      }
      order.push_back(after);
    }
    return order;
  }

 private:
  bool follows(const Step& earlier, const Step& later) const {
    const Step& a = begun_by(earlier);
    const Step& b = begun_by(later);
    if (&a == &b || clash(a, b)) return true;
    const bool both_begin = &a == &earlier && &b == &later;
    const bool both_end = &a != &earlier && &b != &later;
    return (both_begin || both_end) && same_ranks(a, b);
  }

  // A wait touches, until it ends, what the transfer touches that it waits for.
  const Step& begun_by(const Step& step) const {
    if (step.kind != Step::Kind::wait) return step;
    return *transfers_[static_cast<std::size_t>(step.ticket)];
  }

  bool same_ranks(const Step& a, const Step& b) const {
    if (a.ticket < 0 || b.ticket < 0) return false;
    const bool a_sends = a.kind == Step::Kind::send;
    const bool b_sends = b.kind == Step::Kind::send;
    if (a_sends || b_sends) return a_sends && b_sends && a.peer == b.peer;
    const std::span<const Rank> others = senders(b);
    return std::any_of(senders(a).begin(), senders(a).end(), [&](Rank r) {
      return r != plan_.rank() && std::find(others.begin(), others.end(), r) != others.end();
    });
  }

  std::span<const Rank> senders(const Step& step) const {
    return step.kind == Step::Kind::recv ? std::span(&step.peer, 1) : plan_.sources(step);
  }

  const Plan& plan_;
  std::vector<const Step*> transfers_;  // by ticket
};

}  // namespace

std::vector<std::uint64_t> step_order(const Plan& plan) { return StepOrder(plan).find(); }

}  // namespace collbench
