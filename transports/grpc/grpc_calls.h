// Calls over gRPC: a unary method whose request and answer are raw bytes, and one that greets.
//
// Where the job has a token, a caller greets first: both sides choose a random number, and the
// listener proves that it knows the token. Then every call proves it for the caller, with a count,
// so that none is taken twice; the first call of a connection holds nothing else, for until then
// the door (transports/grpc/door.h) lets little pass. The token does not travel; only TLS protects
// what calls hold.
#pragma once

#include <memory>

#include "transports/remote_calls.h"

namespace collbench {

std::unique_ptr<CallNetwork> make_grpc_calls(const CallOptions& options);

}  // namespace collbench
