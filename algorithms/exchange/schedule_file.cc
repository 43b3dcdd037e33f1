#include "algorithms/exchange/schedule_file.h"

#include "algorithms/exchange/msccl_xml.h"
#include "algorithms/verify.h"
#include "core/error.h"
#include "core/input_file.h"

namespace collbench {
namespace {

constexpr std::string_view path_option = "path";

struct ProvedFile {
  Schedule schedule;
  bool replica_consistent;
};

ProvedFile read_proved(const AlgorithmSpec& spec, CollectiveKind kind) {
  const auto path = spec.options.find(std::string(path_option));
  require(path != spec.options.end() && !path->second.empty(),
          "file: the path is missing; write file:PATH, as in file:ring.xml");
  const auto read = [&] {
    try {
      return from_msccl_xml(read_kept(path->second), kind);
    } catch (const InvalidArgument& e) {
      throw InvalidArgument(path->second + ": " + e.what());
    }
  };
  const Schedule schedule = read();
  const Verification proof = verify(schedule, {kind});
  if (!proof.ok()) {
    throw WrongResult(path->second + ": no " + std::string(to_string(kind)) + ": " +
                      proof.violations.front().what);
  }
  return {schedule.named(to_string(spec)), proof.replica_consistent};
}

Schedule make_from_file(int ranks, const AlgorithmSpec& spec) {
  return schedule_from_file(spec, ranks, CollectiveKind::all_reduce);
}

}  // namespace

const AlgorithmInfo& schedule_file() {
  static const AlgorithmInfo row{.name = "file",
                                 .summary = "A program in MSCCL XML, proved when it is read",
                                 .constraints = "the ranks of the program",
                                 .cost = "as the program has it",
                                 .source = "the file",
                                 .make = make_from_file,
                                 .options = {{path_option, "", "of the file"}},
                                 .replica_consistent = false,
                                 .has_shares = true};  // it may be either half
  return row;
}

Schedule schedule_from_file(const AlgorithmSpec& spec, int ranks, CollectiveKind kind) {
  const Schedule schedule = read_proved(spec, kind).schedule;
  require(schedule.ranks() == ranks, to_string(spec) + ": the program is for " +
                                         std::to_string(schedule.ranks()) + " ranks, not " +
                                         std::to_string(ranks));
  return schedule;
}

bool is_schedule_file_consistent(const AlgorithmSpec& spec) {
  return read_proved(spec, CollectiveKind::all_reduce).replica_consistent;
}

}  // namespace collbench
