#include "cli/interrupt.h"

#include <csignal>

#include "cli/exit_code.h"
#include "core/stop_request.h"

namespace collbench {

int interrupt_exit_code() { return stop_signal() == SIGINT ? exit_interrupted : exit_terminated; }

}  // namespace collbench
