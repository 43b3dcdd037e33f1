#include "transports/grpc/channel_arguments.h"

#include <cstdlib>

#include <grpc/grpc.h>
#include <grpc/support/log.h>

namespace collbench {
namespace {

constexpr ChannelArgument of_all[] = {
    {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 64 << 20},
    {GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1},
    {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1},
    {GRPC_ARG_MAX_METADATA_SIZE, 8192},
    {GRPC_ARG_ALLOW_REUSEPORT, 0},
    {GRPC_ARG_ENABLE_HTTP_PROXY, 0},
    {GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100},
    {GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000},
};

}  // namespace

std::span<const ChannelArgument> common_arguments() { return of_all; }

void silence_grpc() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)once;
}

}  // namespace collbench
