#include "core/error.h"
#include "simulator/engines.h"

namespace collbench {

Outcome simulate_simgrid(const Scenario&) {
  throw Unavailable(
      "engine simgrid: this build lacks SimGrid 3.32 (package libsimgrid-dev); fluid gives the "
      "same "
      "times");
}

}  // namespace collbench
