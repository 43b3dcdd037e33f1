#include "transports/grpc/handshake.h"

#include <vector>

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include "core/keyed_digest.h"

namespace collbench {

std::string text_of(const grpc::ByteBuffer& message, std::size_t most) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (message.Length() > most || !message.Dump(&slices).ok()) return text;
  text.reserve(message.Length());
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

GrpcHandshake::GrpcHandshake(grpc::ServerContextBase& context, std::string_view called,
                             std::string_view served, const GrpcSelf& self)
    : greeting_(read_greeting(called, served, self.transport, [&](const char* name) -> std::string {
        const auto found = context.client_metadata().find(name);
        if (found == context.client_metadata().end()) return {};
        return {found->second.data(), found->second.size()};
      })) {
  if (!greeting_.unfit.empty()) return;
  const std::string number = random_digits();
  expected_ = caller_proof(self.token, identity(), self.rank, number);
  context.AddInitialMetadata(grpc_names::version, grpc_names::protocol);
  context.AddInitialMetadata(grpc_names::number, number);
  context.AddInitialMetadata(grpc_names::proof,
                             listener_proof(self.token, identity(), self.rank, number));
}

grpc::Status GrpcHandshake::verdict() const {
  if (greeting_.unfit.empty()) return grpc::Status::OK;
  return {grpc::StatusCode::FAILED_PRECONDITION, greeting_.unfit};
}

grpc::Status GrpcHandshake::verdict_on(const grpc::ByteBuffer& message) const {
  if (same_secret(text_of(message, expected_.size()), expected_)) return grpc::Status::OK;
  return {grpc::StatusCode::FAILED_PRECONDITION, of_another_run};
}

}  // namespace collbench
