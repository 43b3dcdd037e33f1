// What every channel and server of gRPC here is given, and what it must not print.
#pragma once

#include <grpc/grpc.h>

namespace collbench {

struct ChannelArgument {
  const char* name;
  int value;
};

/// A caller that begins a handshake and never ends it is dropped after this time.
constexpr int grpc_handshake_ms = 20'000;

/// Messages are limited by what receives them, not by gRPC; channels share no connection; a proxy
/// of the environment is not used; a port belongs to one server; and a failed connection is tried
/// again within a second.
constexpr ChannelArgument common_arguments[] = {
    {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 64 << 20},
    {GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1},
    {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1},
    {GRPC_ARG_MAX_METADATA_SIZE, 8192},
    {GRPC_ARG_ALLOW_REUSEPORT, 0},
    {GRPC_ARG_ENABLE_HTTP_PROXY, 0},
    {GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100},
    {GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000},
};

/// Our errors carry what gRPC would log, so its log is off unless the user sets GRPC_VERBOSITY.
void silence_grpc();

}  // namespace collbench
