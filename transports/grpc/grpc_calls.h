// Calls over gRPC: a unary method with raw bytes as request and answer, and one for the handshake.
//
// If the job has a token, a caller begins with a handshake: both sides choose a random number, and
// the listener proves that it knows the token. After that every call carries the caller's proof and
// a counter, which prevents replays. The first call of a connection carries only the proof, because
// the guard (transports/grpc/connection_guard.h) lets little data pass before it. The token is
// never sent; the content of calls is protected by TLS only.
#pragma once

#include <memory>

#include "transports/remote_calls.h"

namespace collbench {

std::unique_ptr<CallNetwork> make_grpc_calls(const CallOptions& options);

}  // namespace collbench
