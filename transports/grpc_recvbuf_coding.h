// How TensorFlow wraps a buffer for gRPC: 4096-byte pieces in a repeated field, packed in an Any.
//
// The copies are part of what is compared: the sender makes three (pieces, packing, serialisation),
// the receiver four (parsing, unpacking, a string per piece, and the copy to its place).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace collbench::recvbuf {

class RecvBufResponse;

/// Fills `response` as the sender does.
void encode(std::span<const std::byte> buffer, RecvBufResponse& response);

/// The pieces of a response, each copied into a string of its own; none if it is of another kind.
std::vector<std::string> decode(const RecvBufResponse& response);

}  // namespace collbench::recvbuf
