#include "transports/grpc/channel_arguments.h"

#include <cstdlib>

#include <grpc/support/log.h>

namespace collbench {

void silence_grpc() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)once;
}

}  // namespace collbench
