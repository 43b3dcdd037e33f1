#include "transports/grpc/credentials.h"

#include <chrono>

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include "core/error.h"

namespace collbench {

std::shared_ptr<grpc::ServerCredentials> server_credentials(const JobSecurity& security) {
  const TlsTexts& tls = security.tls;
  if (!tls.used()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      tls.mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                 : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_root_certs = tls.ca;
  options.pem_key_cert_pairs.push_back({tls.key, tls.certificate});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const JobSecurity& security) {
  const TlsTexts& tls = security.tls;
  if (!tls.used()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = tls.ca;
  if (tls.mutual) {
    options.pem_private_key = tls.key;
    options.pem_cert_chain = tls.certificate;
  }
  return grpc::SslCredentials(options);
}

void require_usable(const JobSecurity& security) {
  if (!security.tls.used()) return;
  // Only a server that listens by itself looks at them when it starts; this one ends at once.
  grpc::ServerBuilder builder;
  grpc::AsyncGenericService nothing;
  builder.RegisterAsyncGenericService(&nothing);
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", server_credentials(security), &port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server != nullptr) server->Shutdown(std::chrono::system_clock::now());
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) continue;
  require(server != nullptr && port != 0,
          "TLS: the certificate and its key do not fit, or one of the texts is no PEM (--tls-ca, "
          "--tls-cert, --tls-key)");
}

void add_security(const JobSecurity& security, grpc::ChannelArguments& arguments) {
  if (!security.tls.name.empty()) arguments.SetSslTargetNameOverride(security.tls.name);
}

}  // namespace collbench
