// Fuzzes the buffers and names of TensorFlow's encoding: any bytes are a response or are refused,
// and a name is read only as it would be written.
#include <string>

#include "grpc_recvbuf.pb.h"
#include "tests/fuzz/fuzz_target.h"

#include "transports/grpc/recvbuf_coding.h"

FUZZ_TARGET(wire_recvbuf, input) {
  using namespace collbench::recvbuf;
  const std::string bytes(input);
  RecvBufResponse response;
  if (response.ParseFromString(bytes)) {
    std::size_t held = 0;
    for (const std::string& piece : decode(response)) held += piece.size();
    if (held > input.size()) std::abort();
  }
  RecvBufRequest request;
  const std::string name =
      request.ParseFromString(bytes) ? request.buf_rendezvous_key() : std::string();
  for (const std::string& text : {bytes, name}) {
    const auto key = read_key(text);
    if (key && (key->from < 0 || key->to < 0 || key_text(*key) != text)) std::abort();
  }
  // What is encoded is decoded to the same bytes.
  RecvBufResponse own;
  encode(std::as_bytes(std::span(bytes)), own);
  RecvBufResponse received;
  if (!received.ParseFromString(own.SerializeAsString())) std::abort();
  std::string joined;
  for (const std::string& piece : decode(received)) joined += piece;
  if (joined != bytes) std::abort();
}
