// How TensorFlow wraps a buffer for gRPC: 4096-byte pieces in a repeated field, packed in an Any.
//
// The copies are part of what is compared: the sender makes three (pieces, packing, serialisation),
// the receiver four (parsing, unpacking, a string per piece, and the copy to its place).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/schedule.h"
#include "core/units.h"

namespace collbench::recvbuf {

class RecvBufResponse;

/// What fits in a message of 2^31 - 1 bytes beside what each piece and the message take themselves.
inline constexpr std::int64_t most_bytes = (std::int64_t{1} << 31) - (std::int64_t{1} << 21);

/// Throws InvalidArgument for a buffer that does not fit.
void require_buffer(Bytes size);

/// Fills `response` as the sender does.
void encode(std::span<const std::byte> buffer, RecvBufResponse& response);

/// Names the k-th buffer that one rank gives another: "FROM:TO:K".
struct Key {
  Rank from = -1;
  Rank to = -1;
  std::uint64_t k = 0;
  bool operator==(const Key&) const = default;
};
std::string key_text(const Key& key);
/// Nothing for any text that key_text() does not give.
std::optional<Key> read_key(std::string_view text);

/// The pieces of a response, each copied into a string of its own; none if it is of another kind.
std::vector<std::string> decode(const RecvBufResponse& response);

}  // namespace collbench::recvbuf
