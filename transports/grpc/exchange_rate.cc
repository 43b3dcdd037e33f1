#include "transports/grpc/exchange_rate.h"

#include <string>
#include <vector>

#include "core/error.h"

namespace collbench {

namespace {

// Sends `bytes` to the next rank and receives as many from the previous one, at once.
void exchange(Endpoint& endpoint, std::int64_t bytes, Region out, Region in) {
  const int n = endpoint.ranks();
  const Endpoint::Ticket sent = endpoint.send((endpoint.rank() + 1) % n, out.part(0, bytes));
  endpoint.wait(endpoint.recv((endpoint.rank() + n - 1) % n, in.part(0, bytes)));
  endpoint.wait(sent);
}

}  // namespace

Bandwidth measure_exchange_rate(Endpoint& endpoint, Bytes message, int iterations) {
  require(message.count > 0 && iterations > 0 && endpoint.ranks() > 1,
          "exchange rate: needs a message, an iteration and two ranks, not " +
              std::to_string(message.count) + " bytes, " + std::to_string(iterations) +
              " iterations and " + std::to_string(endpoint.ranks()) + " ranks");
  std::vector<std::byte> out(static_cast<std::size_t>(message.count), std::byte{1});
  std::vector<std::byte> in(out.size());
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
