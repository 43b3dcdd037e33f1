#include "transports/cuda/wish.h"

#include <utility>

#include <fmt/format.h>

#include "algorithms/rooted.h"

namespace collbench {
namespace {

std::string words(const CudaCall& wish) {
  const char* const kinds[] = {"a barrier", "an all-reduce", "a broadcast"};
  std::string text = kinds[static_cast<std::size_t>(wish.kind)];
  if (wish.kind == CudaCall::Kind::barrier) return text;
  text += fmt::format(" of {} {} elements", wish.count, to_string(wish.type));
  if (wish.kind == CudaCall::Kind::broadcast) return text + fmt::format(" from {}", wish.root);
  return text + fmt::format(", operator {}, {}", to_string(wish.op),
                            wish.in_place ? "in place" : "out of place");
}

}  // namespace

std::string disagreement(std::span<const CudaCall> wishes) {
  for (std::size_t rank = 1; rank < wishes.size(); ++rank) {
    if (wishes[rank] == wishes[0]) continue;
    return fmt::format("the ranks disagree: rank 0 came for {}, rank {} for {}", words(wishes[0]),
                       rank, words(wishes[rank]));
  }
  return "";
}

CudaSchedules::CudaSchedules(int ranks, ScheduleChoice choice)
    : ranks_(ranks), choice_(std::move(choice)) {}

std::int64_t CudaSchedules::key(const CudaCall& wish) {
  return wish.kind == CudaCall::Kind::broadcast ? 1 + wish.root : 0;
}

const Schedule& CudaSchedules::of(const CudaCall& wish) {
  const std::tuple at{key(wish), wish.count, wish.type};
  const auto found = known_.find(at);
  if (found != known_.end()) return found->second;
  Schedule schedule = wish.kind == CudaCall::Kind::broadcast
                          ? binomial_broadcast(ranks_, wish.root)
                          : choice_({wish.count * size_of(wish.type)}, wish.type);
  return known_.emplace(at, std::move(schedule)).first->second;
}

}  // namespace collbench
