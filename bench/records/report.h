// Reporters show records: one seam, one writer per format.
//
// A run calls begin once, record for every case as it is done, and end once, also when it was
// interrupted. Writers keep no figures of their own: they show what the records hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/records/case.h"
#include "bench/records/record.h"

namespace collbench {

/// How a run went.
struct RunSummary {
  int planned = 0;
  int measured = 0;
  int skipped = 0;  // not usable here; the reason is in the record
  int wrong = 0;    // cases whose result differed from the exact one or between ranks
  Seconds elapsed{0};
  std::string stopped_by;  // "SIGINT", "SIGTERM"; empty if it ran to its end
  std::string failure;     // what ended it early: "rank 3 was lost"; empty if nothing did
};

/// Thread safety: one thread.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void begin(const Environment& /*environment*/, const std::vector<Case>& /*cases*/) {}
  virtual void record(const Record& record) = 0;
  virtual void end(const RunSummary& /*summary*/) {}
};

/// "ring/shm/workers:8/1048576/f32/sum": a name of the case that is stable over versions.
std::string case_name(const Case& point);

/// "shm", "shm.isolate", "grpc.tcp.checksum": the back end of a case with what else decides how its
/// messages go, as case_name() has it.
std::string backend_name(const Case& point);
/// Sets all that in `point`. The name of a library that is no back end of ours is the back end.
void read_backend_name(std::string_view name, Case& point);

/// The elements of the vector of a case.
std::int64_t element_count(const Case& point);

/// Whether the check found the result of a record to be right, or was off.
bool is_right(const Record& record);
/// What the check found otherwise, in words; empty if the record is right.
std::string wrong_text(const Record& record);

}  // namespace collbench
