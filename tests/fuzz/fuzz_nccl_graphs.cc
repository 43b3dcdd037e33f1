// The importer of NCCL's dumped graphs on any bytes: it refuses, or gives inputs whose times are
// finite.
#include <cmath>

#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "heuristics/nccl/nccl_model.h"

FUZZ_TARGET(nccl_graphs, input) {
  using namespace collbench;
  try {
    NcclInputs inputs = import_nccl_graphs(input, "fuzzed");
    for (const int nodes : {1, 4}) {
      inputs.ranks = 8 * nodes;
      inputs.nodes = nodes;
      inputs.collnet = true;
      for (const NcclTime& time : nccl_times(inputs, Bytes{1 << 20})) {
        if (!std::isfinite(time.time.count()) || time.time <= Seconds{0}) std::abort();
        if (time.channels < 1 || time.threads < 1) std::abort();
      }
    }
  } catch (const InvalidArgument&) {
    return;
  }
}
