#include "tests/transports/device_memories.h"

#include <algorithm>
#include <cctype>

#include "tests/transports/every_element.h"
#include "tests/transports/thread_ranks.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/play/execute.h"

namespace collbench {
namespace {

std::size_t bytes_of(const DeviceCase& point) {
  return static_cast<std::size_t>(point.count * size_of(point.type));
}

Bits input_of(const DeviceCase& point, Rank rank) {
  return every_element(point.type, point.count, static_cast<std::uint64_t>(rank) + 1);
}

Bits part_of(const DeviceCase& point, const Bits& whole, Elements part) {
  const auto first = whole.begin() + part.first * size_of(point.type);
  return {first, first + part.count * size_of(point.type)};
}

}  // namespace

DeviceMemories::DeviceMemories(const DeviceCase& point) : point_(point) {
  for (Rank r = 0; r < point.schedule.ranks(); ++r) {
    for (int place = 0; place < device_places; ++place) {
      // 16 bytes more, so that every memory is aligned and something catches what goes beyond.
      memories_.emplace_back(bytes_of(point) + 16, std::byte{0xa5});
    }
    const std::size_t first = static_cast<std::size_t>(r) * device_places;
    const Bits whole = input_of(point, r);
    const Bits input = part_of(point, whole, point.before(r));
    const auto place = point.in_place ? DevicePlace::output : DevicePlace::input;
    std::copy(input.begin(), input.end(),
              memories_[first + static_cast<std::size_t>(place)].begin() +
                  point.before(r).first * size_of(point.type));
  }
  for (Bits& memory : memories_) bases_.push_back(memory.data());
  if (!point.in_place) return;
  for (std::size_t i = 0; i < bases_.size(); i += device_places) bases_[i] = bases_[i + 1];
}

std::byte* DeviceMemories::at(const DeviceOperand& operand) {
  return bases_[static_cast<std::size_t>(operand.rank * device_places) +
                static_cast<std::size_t>(operand.place)];
}

std::vector<Bits> DeviceMemories::outputs() const {
  std::vector<Bits> all;
  for (Rank r = 0; r < point_.schedule.ranks(); ++r) {
    const Bits& memory = memories_[static_cast<std::size_t>(r) * device_places + 1];
    const bool kept = std::all_of(memory.end() - 16, memory.end(),
                                  [](std::byte b) { return b == std::byte{0xa5}; });
    all.push_back(part_of(point_, memory, point_.after(r)));
    if (!kept) all.back().insert(all.back().end(), memory.end() - 16, memory.end());
  }
  return all;
}

bool DeviceMemories::inputs_kept() const {
  if (point_.in_place) return true;
  for (Rank r = 0; r < point_.schedule.ranks(); ++r) {
    const Bits& now = memories_[static_cast<std::size_t>(r) * device_places];
    const Elements before = point_.before(r);
    if (part_of(point_, now, before) != part_of(point_, input_of(point_, r), before)) return false;
  }
  return true;
}

std::vector<Bits> executed(const DeviceCase& point) {
  std::vector<Bits> outputs(static_cast<std::size_t>(point.schedule.ranks()));
  on_thread_ranks(point.schedule.ranks(), [&](std::unique_ptr<Endpoint> endpoint) {
    const Rank rank = endpoint->rank();
    Bits input = input_of(point, rank);
    Bits& output = outputs[static_cast<std::size_t>(rank)];
    output.resize(input.size());
    if (point.in_place) output = input;
    BoundPlan plan(Plan(point.schedule, rank, point.count, point.type, point.op, point.in_place,
                        point.collective),
                   *endpoint);
    const Region in{point.in_place ? output.data() : input.data(), point.count, point.type};
    const Region out{output.data(), point.count, point.type};
    const Elements reads = plan.plan().input();
    const Elements writes = plan.plan().output();
    execute(plan, in.part(reads.first, reads.count), out.part(writes.first, writes.count));
    output = part_of(point, output, point.after(rank));
  });
  return outputs;
}

std::vector<Schedule> ScheduleFamily::schedules(const Collective& collective) const {
  std::vector<Schedule> all;
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16}) {
    try {
      const AlgorithmSpec parsed = parse_algorithm_spec(spec);
      if (!find_algorithm(parsed.name).implements(collective.kind)) continue;
      all.push_back(make_schedule(parsed, ranks, Bytes{0}, collective));
    } catch (const InvalidArgument&) {
      // It does not exist for so many ranks; algorithms/ tests that it says so.
    }
  }
  return all;
}

std::vector<ScheduleFamily> every_family() {
  std::vector<std::string> specs{"ring:segments=3", "ring:bidirectional", "ring:pincer"};
  for (const AlgorithmInfo& info : algorithms()) specs.emplace_back(info.name);
  std::vector<ScheduleFamily> all;
  for (const std::string& spec : specs) {
    std::string name = spec;
    for (char& c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    all.push_back({name, spec});
  }
  return all;
}

}  // namespace collbench
