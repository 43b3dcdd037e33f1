// Channels to the servers of other processes, and the arguments that both ends of gRPC are given.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "algorithms/schedule.h"
#include "transports/job_security.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace collbench {

struct ChannelArgument {
  const char* name;
  int value;
};

/// Messages are limited by what receives them, not by gRPC; channels share no connection; a proxy
/// of the environment is not used; a port belongs to one server; and a failed connection is tried
/// again within a second.
std::span<const ChannelArgument> common_arguments();

/// Our errors carry what gRPC would log, so its log is off unless the user sets GRPC_VERBOSITY.
void silence_grpc();

/// A channel to HOST:PORT with the common arguments and these. With TLS it accepts only a server
/// whose certificate the authority has signed and which carries the name that is called, or
/// TlsTexts::name if that is set. Requires complete texts (require_secure() checks them). Its
/// connections begin with a preamble of the rank `from` of `ranks`.
std::shared_ptr<grpc::Channel> make_channel(const std::string& address, const JobSecurity& security,
                                            std::span<const ChannelArgument> arguments,
                                            Rank from = 0, int ranks = 1);

}  // namespace collbench
