// gRPC's credentials made from what secures a job: TLS where it has certificates, plain otherwise.
//
// Every server and every channel of the house is made with these, so that one set of options
// decides for all of them.
#pragma once

#include <memory>

#include "transports/job_security.h"

namespace grpc {
class ChannelArguments;
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace collbench {

/// With TLS: shows the certificate, and with `mutual` refuses callers without one that the
/// authority has signed. Requires complete texts (require_secure() checks them).
std::shared_ptr<grpc::ServerCredentials> server_credentials(const JobSecurity& security);

/// With TLS: accepts only a server whose certificate the authority has signed and which bears the
/// name that is called, or TlsTexts::name if that is set.
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const JobSecurity& security);

/// Throws InvalidArgument if TLS's texts do not fit each other: the key another certificate's, or
/// no certificates at all. gRPC by itself would notice with the first caller.
void require_usable(const JobSecurity& security);

/// What a channel must be told besides: the name to expect, if it is not the one called.
void add_security(const JobSecurity& security, grpc::ChannelArguments& arguments);

}  // namespace collbench
