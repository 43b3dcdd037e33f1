#include "transports/cuda/cuda_call.h"

#include <utility>

#include <fmt/format.h>

namespace collbench {
namespace {

constexpr std::size_t most_cuda_schedules = 256;

std::string words(const CudaCall& call) {
  if (!call.collective) return "a barrier";
  const CollectiveKind kind = call.collective->kind;
  const std::string_view name = to_string(kind);
  std::string text = fmt::format("{} {} of {} {} elements", name[0] == 'a' ? "an" : "a", name,
                                 call.count, to_string(call.type));
  if (has_root(kind)) {
    text += fmt::format(" {} {}", adds(kind) ? "to" : "from", call.collective->root);
  }
  if (adds(kind)) text += fmt::format(", operator {}", to_string(call.op));
  return text + (call.in_place ? ", in place" : ", out of place");
}

}  // namespace

CudaCall call_of(const Collective& collective, std::int64_t count, DataType type, ReduceOp op,
                 bool in_place) {
  return {collective, count, type, adds(collective.kind) ? op : ReduceOp::sum, in_place};
}

void CudaCollectives::all_reduce(Region in, Region out, ReduceOp op) {
  require_alike(in, out);
  play({Collective{}, in.count, in.type, op, in.data == out.data}, in, out);
}

void CudaCollectives::broadcast(Region region, Rank root) {
  perform({CollectiveKind::broadcast, root}, region.part(0, root == rank() ? region.count : 0),
          region, ReduceOp::sum);
}

void CudaCollectives::perform(const Collective& collective, Region in, Region out, ReduceOp op) {
  if (collective.kind == CollectiveKind::all_reduce) return all_reduce(in, out, op);
  const Whole whole = whole_of(collective, in, out);
  const bool in_place = whole.vector != nullptr;
  if (in_place) in = out = Region{whole.vector, whole.count, in.type};
  play(call_of(collective, whole.count, in.type, op, in_place), in, out);
}

std::pair<std::byte*, std::byte*> vector_starts(const CudaCall& call, Rank rank, int ranks,
                                                std::byte* in, std::byte* out) {
  if (call.in_place) return {in, out};
  const auto start = [&](std::byte* data, Elements held) {
    return data == nullptr ? nullptr : data - held.first * size_of(call.type);
  };
  return {start(in, elements_before(*call.collective, rank, ranks, call.count)),
          start(out, elements_after(*call.collective, rank, ranks, call.count))};
}

std::string disagreement(std::span<const CudaCall> calls) {
  for (std::size_t rank = 1; rank < calls.size(); ++rank) {
    if (calls[rank] == calls[0]) continue;
    return fmt::format("the ranks disagree: rank 0 came for {}, rank {} for {}", words(calls[0]),
                       rank, words(calls[rank]));
  }
  return "";
}

CudaSchedules::CudaSchedules(int ranks, PlayedSchedules played, std::string name)
    : ranks_(ranks), played_(std::move(played)), name_(std::move(name)) {}

std::int64_t CudaSchedules::key(const CudaCall& call) {
  const auto kinds = static_cast<std::int64_t>(collective_names().size());
  return call.collective->root * kinds + static_cast<std::int64_t>(call.collective->kind);
}

const Schedule& CudaSchedules::of(const CudaCall& call) {
  const std::tuple at{key(call), call.count, call.type};
  const auto found = known_.find(at);
  if (found != known_.end()) return found->second;
  Schedule schedule =
      played_.of(*call.collective, ranks_, {call.count * size_of(call.type)}, call.type, name_);
  if (known_.size() >= most_cuda_schedules) known_.clear();
  return known_.emplace(at, std::move(schedule)).first->second;
}

}  // namespace collbench
