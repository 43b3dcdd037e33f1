// Ctrl-C and SIGTERM ask the run to stop after the case that is being measured; a second one ends
// it at once, as without us.
#pragma once

#include <string>

namespace collbench {

/// 130 or 143 for the signal that came. Requires that one did.
int interrupt_exit_code();

}  // namespace collbench
