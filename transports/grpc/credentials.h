// gRPC's credentials for a job: TLS where it has certificates, plain text otherwise.
//
// Every server and channel of collbench is made with these, so that one set of options holds for
// all of them.
#pragma once

#include <memory>

#include "transports/job_security.h"

namespace grpc {
class ChannelArguments;
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace collbench {

/// With TLS: presents the certificate, and with `mutual` refuses callers without one signed by the
/// authority. Requires complete texts (require_secure() checks them).
std::shared_ptr<grpc::ServerCredentials> server_credentials(const JobSecurity& security);

/// With TLS: accepts only a server whose certificate the authority has signed and which carries the
/// name that is called, or TlsTexts::name if that is set.
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const JobSecurity& security);

/// Throws InvalidArgument if key and certificate do not match or are malformed. gRPC itself would
/// report that only at the first connection.
void require_usable(const JobSecurity& security);

/// Sets the name that a channel expects in the certificate, if it is not the host called.
void add_security(const JobSecurity& security, grpc::ChannelArguments& arguments);

}  // namespace collbench
