// What every channel and server of gRPC here is given, and what it must not print.
#pragma once

#include <span>

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
std::span<const ChannelArgument> common_arguments();

/// Our errors carry what gRPC would log, so its log is off unless the user sets GRPC_VERBOSITY.
void silence_grpc();

}  // namespace collbench
