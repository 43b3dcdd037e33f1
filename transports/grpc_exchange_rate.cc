#include "transports/grpc_exchange_rate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"

namespace collbench {

namespace {

// Memory that a message is sent from and received into, piece after piece: small enough to stay in
// the second-level cache, since what is asked for is the rate of gRPC, not of the memory.
constexpr std::int64_t piece_bytes = 512 << 10;

// Sends `bytes` to the next rank and receives as many from the previous one, at once.
void exchange(Endpoint& endpoint, std::int64_t bytes, Region out, Region in) {
  const int n = endpoint.ranks();
  std::vector<Endpoint::Ticket> sent;
  for (std::int64_t first = 0; first < bytes; first += out.count) {
    const std::int64_t count = std::min(out.count, bytes - first);
    sent.push_back(endpoint.send((endpoint.rank() + 1) % n, out.part(0, count)));
  }
  for (std::int64_t first = 0; first < bytes; first += in.count) {
    const std::int64_t count = std::min(in.count, bytes - first);
    endpoint.wait(endpoint.recv((endpoint.rank() + n - 1) % n, in.part(0, count)));
  }
  for (const Endpoint::Ticket ticket : sent) endpoint.wait(ticket);
}

}  // namespace

Bandwidth measure_exchange_rate(Endpoint& endpoint, Bytes message, int iterations) {
  require(message.count > 0 && iterations > 0 && endpoint.ranks() > 1,
          "exchange rate: needs a message, an iteration and two ranks, not " +
              std::to_string(message.count) + " bytes, " + std::to_string(iterations) +
              " iterations and " + std::to_string(endpoint.ranks()) + " ranks");
  const auto piece = static_cast<std::size_t>(std::min(message.count, piece_bytes));
  std::vector<std::byte> out(piece, std::byte{1});
  std::vector<std::byte> in(piece);
  const Region from{out.data(), std::ssize(out), DataType::u8};
  const Region into{in.data(), std::ssize(in), DataType::u8};
  exchange(endpoint, message.count, from, into);
  // Once a token has gone all the way round, every rank is ready.
  for (int hop = 1; hop < endpoint.ranks(); ++hop) exchange(endpoint, 1, from, into);
  const Seconds start = endpoint.now();
  for (int i = 0; i < iterations; ++i) exchange(endpoint, message.count, from, into);
  return message * iterations / (endpoint.now() - start);
}

}  // namespace collbench
