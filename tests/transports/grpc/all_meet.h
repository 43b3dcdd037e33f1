// A barrier of all ranks over an endpoint: nobody returns before all have come.
#pragma once

#include "transports/endpoint.h"

namespace collbench {

/// Every rank sends a byte to rank 0, which answers once it has all of them. Throws as the
/// endpoint.
inline void all_meet(Endpoint& endpoint) {
  std::byte token{};
  const Region byte{&token, 1, DataType::u8};
  if (endpoint.rank() != 0) {
    endpoint.wait(endpoint.send(0, byte));
    endpoint.wait(endpoint.recv(0, byte));
    return;
  }
  for (Rank r = 1; r < endpoint.ranks(); ++r) endpoint.wait(endpoint.recv(r, byte));
  for (Rank r = 1; r < endpoint.ranks(); ++r) endpoint.wait(endpoint.send(r, byte));
}

}  // namespace collbench
