#include "bench/report.h"

#include <fmt/format.h>

namespace collbench {

std::string case_name(const Case& which) {
  std::string name = fmt::format("{}/{}", which.algorithm, which.backend);
  if (which.isolate) name += ".isolate";
  if (which.private_buffers) name += ".private";
  if (!which.transport.empty() && which.transport != "raw") name += "." + which.transport;
  name += fmt::format("/workers:{}/{}/{}/{}", which.workers, which.bytes.count,
                      to_string(which.type), to_string(which.op));
  if (!which.in_place) name += "/out-of-place";
  return name;
}

std::int64_t element_count(const Case& which) { return which.bytes.count / size_of(which.type); }

bool is_right(const Record& record) {
  return record.measurement.wrong <= 0 && record.measurement.replicas_identical;
}

}  // namespace collbench
