#include "training/replica_check.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"
#include "tests/transports/thread_ranks.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "training/replica.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {
namespace {

/// Compares replicas of which those in `changed` differ in the last bit of one parameter; gives
/// what each rank was told, "" if nothing.
std::vector<std::string> compare(int ranks, const std::vector<Rank>& changed,
                                 std::int64_t parameter) {
  const Model model = every_layer();
  std::vector<std::string> told(static_cast<std::size_t>(ranks));
  on_thread_ranks(ranks, [&](std::unique_ptr<Endpoint> endpoint) {
    const auto communicator =
        make_schedule_communicator(make_schedule("ring", ranks), std::move(endpoint), "ring");
    const auto network = find_engine("plain").make_network(model, 1, DataType::f32);
    network->set_parameters(initial_parameters(model, 1));
    if (std::find(changed.begin(), changed.end(), communicator->rank()) != changed.end()) {
      *network->parameters().part(parameter, 1).data ^= std::byte{1};
    }
    // Caught here: a rank that leaves with an error ends the world, and others may still be in it.
    try {
      require_equal_replicas(*network, tensors_of(model), *communicator, 12);
    } catch (const WrongResult& error) {
      told[static_cast<std::size_t>(communicator->rank())] = error.what();
    }
  });
  return told;
}

TEST(ReplicaCheckTest, EqualReplicasPass) {
  for (const int ranks : {1, 2, 5}) EXPECT_THAT(compare(ranks, {}, 0), testing::Each(""));
}

TEST(ReplicaCheckTest, EveryRankIsToldTheTensorAndTheRankOfOneWrongBit) {
  const auto finds = [](int ranks, const std::vector<Rank>& changed, std::int64_t parameter,
                        const char* text) {
    EXPECT_THAT(compare(ranks, changed, parameter), testing::Each(testing::HasSubstr(text)));
  };
  finds(4, {2}, 2, "after step 12: 'dense_1/bias' of rank 2 ");
  finds(4, {0}, 3, "'dense_1/kernel' of rank 0 ");
  finds(2, {0}, parameters_of(every_layer()) - 1, "'conv2d/kernel' of rank 1 ");
  finds(3, {0, 1}, 0, "of rank 2 ");
}

}  // namespace
}  // namespace collbench
