#include "transports/grpc/server.h"

#include <chrono>
#include <functional>
#include <utility>

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "core/error.h"
#include "core/host_port.h"

namespace collbench {
namespace {

using Admit = std::function<void(int listener, int connection)>;

// A caller that begins a handshake of TLS or HTTP/2 and never ends it is dropped after this time.
constexpr int handshake_ms = 20'000;

std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsTexts& tls) {
  if (!tls.used()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      tls.mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                 : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_root_certs = tls.ca;
  options.pem_key_cert_pairs.push_back({tls.key, tls.certificate});
  return grpc::SslServerCredentials(options);
}

void end_queue(grpc::CompletionQueue& queue) {
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) continue;
}

void require_usable_texts(const TlsTexts& tls) {
  if (!tls.used()) return;
  // Only a server that listens by itself looks at them when it starts; this one ends at once.
  grpc::ServerBuilder builder;
  grpc::AsyncGenericService nothing;
  builder.RegisterAsyncGenericService(&nothing);
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", server_credentials(tls), &port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server != nullptr) server->Shutdown(std::chrono::system_clock::now());
  end_queue(*queue);
  require(server != nullptr && port != 0,
          "TLS: the certificate and its key do not fit, or one of them is not PEM (--tls-ca, "
          "--tls-cert, --tls-key)");
}

GrpcServing usable(GrpcServing serving) {
  require_secure(serving.security, {&serving.listen, 1});
  silence_grpc();
  require_usable_texts(serving.security.tls);
  return serving;
}

// How connections that the guard has accepted reach the builder's server.
Admit admission_to(grpc::ServerBuilder& builder, const TlsTexts& tls) {
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
  const std::shared_ptr<Acceptor> acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      server_credentials(tls));
  return [acceptor](int listener, int connection) {
    Acceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listener;
    parameters.fd = connection;
    acceptor->HandleNewConnection(&parameters);
  };
}

}  // namespace

GrpcServer::GrpcServer(GrpcServing serving)
    : serving_(usable(std::move(serving))),
      guard_(serving_.listen, {serving_.rank, serving_.ranks, serving_.security.token},
             {.unproved = serving_.most_unproved,
              .bytes = serving_.security.tls.used() ? most_tls_bytes : GuardLimits().bytes}) {
  HostPort address = parse_host_port("grpc: the address to listen on", serving_.listen, 0);
  address.port = guard_.port();
  address_ = to_string(address);
}

GrpcServer::~GrpcServer() { shut_down(Seconds{0}); }

void GrpcServer::start(const std::vector<grpc::Service*>& services,
                       grpc::AsyncGenericService* others) {
  grpc::ServerBuilder builder;
  for (const auto& [name, value] : common_arguments()) builder.AddChannelArgument(name, value);
  for (const auto& [name, value] : serving_.arguments) builder.AddChannelArgument(name, value);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, handshake_ms);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, serving_.calls_at_once);
  builder.SetMaxReceiveMessageSize(serving_.longest_message);
  Admit admit = admission_to(builder, serving_.security.tls);
  for (grpc::Service* service : services) builder.RegisterService(service);
  if (others != nullptr) {
    builder.RegisterAsyncGenericService(others);
    queue_ = builder.AddCompletionQueue();
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    if (queue_ != nullptr) end_queue(*queue_);
    throw TransportError("grpc: the server at " + address_ + " cannot start");
  }
  guard_.open(std::move(admit));
}

void GrpcServer::shut_down(Seconds patience) {
  guard_.close();
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(patience));
}

}  // namespace collbench
