#include "transports/world/endpoint_rendezvous.h"

#include <algorithm>

#include "algorithms/registry.h"
#include "transports/play/schedule_communicator.h"
#include "transports/world/lent_endpoint.h"

namespace collbench {

EndpointRendezvous::EndpointRendezvous(std::shared_ptr<Endpoint> endpoint)
    : communicator_(make_schedule_communicator(
          make_schedule("recursive-doubling", endpoint->ranks()), lend(endpoint), "rendezvous")) {}

// Every rank fills its part of a vector of zeros; the sum of all is the gathered vector.
std::vector<std::int64_t> EndpointRendezvous::gather(std::span<const std::int64_t> mine) {
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(ranks()));
  std::copy(mine.begin(), mine.end(),
            all.begin() + rank() * static_cast<std::ptrdiff_t>(mine.size()));
  const Region region{reinterpret_cast<std::byte*>(all.data()), std::ssize(all), DataType::i64};
  communicator_->all_reduce(region, region, ReduceOp::sum);
  return all;
}

}  // namespace collbench
