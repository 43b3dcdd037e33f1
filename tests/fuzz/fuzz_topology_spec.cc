// Fuzzes topologies as the command line names them: any text is a machine that seats the workers,
// an InvalidArgument, or a file that is not there.
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "core/file_error.h"
#include "topologies/specification.h"

FUZZ_TARGET(topology_spec, input) {
  const std::string text(input);
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits >= 4 || c == '/') return;  // large networks take long, files may be anything
  }
  try {
    if (collbench::machine(text, 5).topology.hosts() < 5) std::abort();
  } catch (const collbench::InvalidArgument&) {
  } catch (const collbench::FileUnavailable&) {
  }
}
