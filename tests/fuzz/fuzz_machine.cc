// Fuzzes machine files: any text is either a machine whose routes are paths, or an InvalidArgument
// that names a line.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "topologies/machine_file.h"

namespace {

void check(const collbench::Topology& topology) {
  std::vector<collbench::LinkId> route;
  const int hosts = std::min(topology.hosts(), 4);
  for (int k = 0; k < hosts * hosts; ++k) {
    const collbench::Host from = topology.hosts() - 1 - k / hosts;
    const collbench::Host to = k % hosts;
    topology.route(from, to, route);
    collbench::Vertex at = from;
    for (const collbench::LinkId link : route) {
      const collbench::Link& ends = topology.links()[static_cast<std::size_t>(link)];
      if (ends.from != at || !(topology.capacity(link) > 0)) std::abort();
      at = ends.to;
    }
    if (at != to) std::abort();
  }
}

}  // namespace

FUZZ_TARGET(machine, text) {
  // Six digits make networks that are only large: not worth their time here.
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits >= 6 || c == '/') return;
  }
  try {
    check(collbench::machine_from_toml(text, "fuzz.toml", {.workers = 5}).machine.topology);
  } catch (const collbench::InvalidArgument& e) {
    if (std::string_view(e.what()).rfind("fuzz.toml:", 0) != 0) std::abort();
  }
}
