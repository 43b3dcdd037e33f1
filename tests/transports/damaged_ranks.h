// All-reduces over endpoints that damage messages, with and without checksums.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "algorithms/registry.h"
#include "transports/faults/checked_endpoint.h"
#include "transports/faults/faulty_endpoint.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {

struct Damage {
  std::string inject;
  bool checksum = false;
  std::string algorithm = "ring";
  std::int64_t count = 30'000;
  int times = 3;
};

inline std::unique_ptr<Endpoint> damaged(std::unique_ptr<Endpoint> endpoint, const Damage& damage) {
  if (!damage.inject.empty()) {
    endpoint = make_faulty_endpoint(std::move(endpoint), parse_injected_faults(damage.inject),
                                    damage.checksum ? checked_messages : 1);
  }
  return damage.checksum ? make_checked_endpoint(std::move(endpoint)) : std::move(endpoint);
}

/// All-reduces vectors of small whole numbers; how many elements of this rank are wrong.
inline int wrong_elements(std::unique_ptr<Endpoint> endpoint, const Damage& damage) {
  const int ranks = endpoint->ranks();
  const Rank rank = endpoint->rank();
  const auto communicator = make_schedule_communicator(
      make_schedule(damage.algorithm, ranks), damaged(std::move(endpoint), damage), "under test");
  int wrong = 0;
  for (int k = 0; k < damage.times; ++k) {
    std::vector<float> data(static_cast<std::size_t>(damage.count));
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<float>(static_cast<int>(i % 100) + rank + k);
    }
    const Region region{reinterpret_cast<std::byte*>(data.data()), damage.count, DataType::f32};
    communicator->all_reduce(region, region, ReduceOp::sum);
    for (std::size_t i = 0; i < data.size(); ++i) {
      const int right = ranks * (static_cast<int>(i % 100) + k) + ranks * (ranks - 1) / 2;
      wrong += data[i] == static_cast<float>(right) ? 0 : 1;
    }
  }
  communicator->barrier();
  return wrong;
}

}  // namespace collbench
