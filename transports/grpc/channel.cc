#include "transports/grpc/channel.h"

#include <cstdlib>

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "core/keyed_digest.h"
#include "transports/grpc/preamble.h"

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

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsTexts& tls) {
  if (!tls.used()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = tls.ca;
  if (tls.mutual) {
    options.pem_private_key = tls.key;
    options.pem_cert_chain = tls.certificate;
  }
  return grpc::SslCredentials(options);
}

}  // namespace

std::span<const ChannelArgument> common_arguments() { return of_all; }

void silence_grpc() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)once;
}

std::shared_ptr<grpc::Channel> make_channel(const std::string& address, const JobSecurity& security,
                                            std::span<const ChannelArgument> arguments, Rank from,
                                            int ranks) {
  grpc::ChannelArguments all;
  for (const auto& [name, value] : common_arguments()) all.SetInt(name, value);
  for (const auto& [name, value] : arguments) all.SetInt(name, value);
  // gRPC's own words for a proxy to be told; here the listener itself reads them.
  const GrpcIdentity identity{from, ranks, random_digits()};
  all.SetString("grpc.http_connect_server", preamble_names::target);
  all.SetString("grpc.http_connect_headers",
                std::string(preamble_names::header) + ":" +
                    preamble_value(ConnectionUse::grpc, identity, security.token));
  if (!security.tls.name.empty()) all.SetSslTargetNameOverride(security.tls.name);
  return grpc::CreateCustomChannel(address, channel_credentials(security.tls), all);
}

}  // namespace collbench
