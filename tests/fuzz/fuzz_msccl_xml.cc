// The MSCCL XML importer on any bytes: it refuses with InvalidArgument, or gives a schedule that
// can be verified, costed and written again; what we write we must be able to read.
#include "tests/fuzz/fuzz_target.h"

#include "algorithms/exchange/msccl_xml.h"
#include "algorithms/verify.h"
#include "core/error.h"

namespace {

// Throws what from_msccl_xml() throws; aborts where a property fails.
void check(std::string_view xml, collbench::CollectiveKind kind) {
  const collbench::Schedule schedule = collbench::from_msccl_xml(xml, kind);
  if (schedule.ranks() > 64 || schedule.chunks() > 256) return;
  const bool is_proven = collbench::verify(schedule, {kind}).ok();
  const collbench::ScheduleCost cost = collbench::count_cost(schedule);
  const std::string written = collbench::to_msccl_xml(schedule, kind);
  try {
    const collbench::Schedule again = collbench::from_msccl_xml(written, kind);
    if (again.rounds() > schedule.rounds()) std::abort();
    if (collbench::count_cost(again).total_messages != cost.total_messages) std::abort();
    if (collbench::verify(again, {kind}).ok() != is_proven) std::abort();
  } catch (const collbench::InvalidArgument&) {
    std::abort();
  }
}

}  // namespace

FUZZ_TARGET(msccl_xml, input) {
  for (const std::string_view name : {"all-reduce", "reduce-scatter", "all-gather"}) {
    try {
      check(input, collbench::parse_collective(name));
    } catch (const collbench::InvalidArgument&) {
      continue;
    }
  }
}
