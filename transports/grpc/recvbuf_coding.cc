#include "transports/grpc/recvbuf_coding.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "grpc_recvbuf.pb.h"

#include "core/error.h"

namespace collbench::recvbuf {

namespace {

constexpr std::size_t piece_bytes = 4096;  // recv_buf_max_chunk

}  // namespace

void require_buffer(Bytes size) {
  require(size.count <= most_bytes,
          fmt::format("tf-recvbuf sends a buffer as one protocol buffer, which cannot hold {} of 2 "
                      "GiB or more; use --transport raw",
                      to_string(size)));
}

void encode(std::span<const std::byte> buffer, RecvBufResponse& response) {
  RecvBufRespExtra extra;
  for (std::size_t at = 0; at < buffer.size(); at += piece_bytes) {
    const std::size_t n = std::min(piece_bytes, buffer.size() - at);
    extra.add_tensor_content(std::string(reinterpret_cast<const char*>(buffer.data()) + at, n));
  }
  response.set_num_bytes(static_cast<std::int64_t>(buffer.size()));
  response.mutable_transport_options()->PackFrom(extra);
}

std::string key_text(const Key& key) {
  return std::to_string(key.from) + ":" + std::to_string(key.to) + ":" + std::to_string(key.k);
}

std::optional<Key> read_key(std::string_view text) {
  Key key;
  const char* const end = text.data() + text.size();
  const auto from = std::from_chars(text.data(), end, key.from);
  if (from.ec != std::errc() || from.ptr == end || *from.ptr != ':') return std::nullopt;
  const auto to = std::from_chars(from.ptr + 1, end, key.to);
  if (to.ec != std::errc() || to.ptr == end || *to.ptr != ':') return std::nullopt;
  const auto k = std::from_chars(to.ptr + 1, end, key.k);
  if (k.ec != std::errc() || key.from < 0 || key.to < 0 || key_text(key) != text) {
    return std::nullopt;
  }
  return key;
}

std::vector<std::string> decode(const RecvBufResponse& response) {
  RecvBufRespExtra extra;
  std::vector<std::string> pieces;
  if (!response.transport_options().UnpackTo(&extra)) return pieces;
  pieces.reserve(static_cast<std::size_t>(extra.tensor_content_size()));
  for (const std::string& piece : extra.tensor_content()) pieces.push_back(piece);
  return pieces;
}

}  // namespace collbench::recvbuf
