#include "algorithms/exchange/schedule_file.h"

#include "algorithms/combinators.h"
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

ProvedFile read_proved(const AlgorithmSpec& spec) {
  const auto path = spec.options.find(std::string(path_option));
  require(path != spec.options.end() && !path->second.empty(),
          "file: the path is missing; write file:PATH, as in file:ring.xml");
  const auto read = [&] {
    try {
      return from_msccl_xml(read_file(path->second));
    } catch (const InvalidArgument& e) {
      throw InvalidArgument(path->second + ": " + e.what());
    }
  };
  const Schedule schedule = read();
  const Verification proof = verify_allreduce(schedule);
  if (!proof.ok()) {
    throw InvalidArgument(path->second + ": no all-reduce: " + proof.violations.front().what);
  }
  return {schedule.named(to_string(spec)), proof.replica_consistent};
}

Schedule make_from_file(int ranks, const AlgorithmSpec& spec) {
  const Schedule schedule = read_proved(spec).schedule;
  require(schedule.ranks() == ranks, to_string(spec) + ": the program is for " +
                                         std::to_string(schedule.ranks()) + " ranks, not " +
                                         std::to_string(ranks));
  return schedule;
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
                                 .replica_consistent = false};
  return row;
}

bool is_schedule_file_consistent(const AlgorithmSpec& spec) {
  return read_proved(spec).replica_consistent;
}

}  // namespace collbench
