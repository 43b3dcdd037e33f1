#include "training/replica_check.h"

#include <algorithm>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"
#include "tests/transports/thread_ranks.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/schedule_communicator.h"

namespace collbench {
namespace {

/// Compares replicas of which those in `changed` differ in the last bit of one parameter.
void compare(int ranks, const std::vector<Rank>& changed, std::int64_t parameter) {
  const Model model = every_layer();
  on_thread_ranks(ranks, [&](std::unique_ptr<Endpoint> endpoint) {
    const auto communicator =
        make_schedule_communicator(make_schedule("ring", ranks), std::move(endpoint), "ring");
    const auto network = find_engine("plain").make_network(model, 1, DataType::f32);
    network->set_parameters(initial_parameters(model, 1));
    if (std::find(changed.begin(), changed.end(), communicator->rank()) != changed.end()) {
      *network->parameters().part(parameter, 1).data ^= std::byte{1};
    }
    require_equal_replicas(*network, tensors_of(model), *communicator, 12);
  });
}

TEST(ReplicaCheckTest, EqualReplicasPass) {
  for (const int ranks : {1, 2, 5}) EXPECT_NO_THROW(compare(ranks, {}, 0));
}

TEST(ReplicaCheckTest, NamesTheTensorAndTheRankOfOneWrongBit) {
  const auto refuses = [](int ranks, const std::vector<Rank>& changed, std::int64_t parameter,
                          const char* text) {
    EXPECT_THAT([&] { compare(ranks, changed, parameter); },
                testing::ThrowsMessage<WrongResult>(testing::HasSubstr(text)));
  };
  refuses(4, {2}, 2, "after step 12: 'dense_1/bias' of rank 2 ");
  refuses(4, {0}, 3, "'dense_1/kernel' of rank 0 ");
  refuses(2, {0}, parameters_of(every_layer()) - 1, "'conv2d/kernel' of rank 1 ");
  refuses(3, {0, 1}, 0, "of rank 2 ");
}

}  // namespace
}  // namespace collbench
