#include "transports/grpc/admission.h"

#include <grpcpp/server_builder.h>

namespace collbench {

std::function<void(int listener, int connection)> admission_to(
    grpc::ServerBuilder& builder, const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
  const std::shared_ptr<Acceptor> acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  return [acceptor](int listener, int connection) {
    Acceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listener;
    parameters.fd = connection;
    acceptor->HandleNewConnection(&parameters);
  };
}

}  // namespace collbench
