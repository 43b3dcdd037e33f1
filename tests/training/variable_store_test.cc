// A store of any shards updates as one optimizer over all would, and can be made again from its
// contents; closures are each done once whatever workers are lost.
#include "training/asynchronous/variable_store.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

StoreContents contents_of(const std::vector<std::int64_t>& shards, const OptimizerSpec& optimizer) {
  StoreContents contents;
  contents.engine = "plain";
  contents.type = DataType::f64;
  contents.optimizer = optimizer;
  contents.shards = shards;
  const std::int64_t count = std::accumulate(shards.begin(), shards.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < count; ++i) contents.values.push_back(0.1 * static_cast<double>(i));
  contents.statistics = {1, -2};
  return contents;
}

std::vector<double> update_of(std::size_t count, int update) {
  RandomEngine engine = random_engine(3, "gradients", static_cast<std::uint64_t>(update));
  std::vector<double> gradients(count);
  for (double& value : gradients) value = static_cast<double>(engine() % 1000) / 500 - 1;
  return gradients;
}

std::span<const std::byte> bytes_of(const std::vector<double>& values) {
  return std::as_bytes(std::span(values));
}

std::vector<double> stored_values(const VariableStore& store) {
  std::vector<double> values(static_cast<std::size_t>(store.value_bytes()) / sizeof(double));
  std::vector<double> statistics(static_cast<std::size_t>(store.statistic_bytes()) /
                                 sizeof(double));
  store.read(std::as_writable_bytes(std::span(values)),
             std::as_writable_bytes(std::span(statistics)));
  return values;
}

const std::vector<OptimizerSpec>& every_optimizer() {
  static const std::vector<OptimizerSpec> all = {
      {"sgd", 0.1, 0}, {"sgd", 0.05, 0.9}, {"adam", 0.01, 0}};
  return all;
}

TEST(VariableStoreTest, ShardsUpdateAsOneOptimizerOverAllWould) {
  for (const OptimizerSpec& spec : every_optimizer()) {
    for (const std::vector<std::int64_t>& shards :
         {std::vector<std::int64_t>{12}, {1, 11}, {5, 1, 6}, {3, 3, 3, 3}}) {
      const StoreContents contents = contents_of(shards, spec);
      VariableStore store(contents);
      std::vector<double> expected = contents.values;
      const auto optimizer = make_host_optimizer(spec, 12, DataType::f64);
      for (int update = 0; update < 5; ++update) {
        std::vector<double> gradients = update_of(12, update);
        EXPECT_EQ(store.update(bytes_of(gradients), bytes_of({0.5, 0})), update);
        optimizer->update({reinterpret_cast<std::byte*>(expected.data()), 12, DataType::f64},
                          {reinterpret_cast<std::byte*>(gradients.data()), 12, DataType::f64});
      }
      EXPECT_EQ(stored_values(store), expected) << spec.name << ", " << shards.size() << " shards";
      EXPECT_THAT(store.contents().statistics, testing::ElementsAre(3.5, -2));
    }
  }
}

TEST(VariableStoreTest, AStoreMadeFromItsContentsGoesOnInTheSameBits) {
  for (const OptimizerSpec& spec : every_optimizer()) {
    VariableStore whole(contents_of({2, 7}, spec));
    auto parts = std::make_unique<VariableStore>(contents_of({2, 7}, spec));
    for (int update = 0; update < 6; ++update) {
      const std::vector<double> gradients = update_of(9, update);
      whole.update(bytes_of(gradients), bytes_of({0, 1}));
      parts->update(bytes_of(gradients), bytes_of({0, 1}));
      const StoreContents kept = parts->contents();
      EXPECT_EQ(kept.state.updates, spec.name == "adam" ? update + 1 : 0);  // sgd counts none
      EXPECT_EQ(kept.state.slots.size(), slot_names(spec).size());
      parts = std::make_unique<VariableStore>(kept);
      EXPECT_EQ(stored_values(*parts), stored_values(whole)) << spec.name << " after " << update;
    }
    EXPECT_EQ(parts->contents().statistics, whole.contents().statistics);
  }
}

TEST(VariableStoreTest, RefusesWhatDoesNotFit) {
  VariableStore store(contents_of({2, 2}, {}));
  EXPECT_THROW(store.update(bytes_of({1, 2, 3}), bytes_of({0, 0})), InvalidArgument);
  EXPECT_THROW(store.update(bytes_of({1, 2, 3, 4, 5}), bytes_of({0, 0})), InvalidArgument);
  EXPECT_THROW(store.update(bytes_of({1, 2, 3, 4}), bytes_of({0})), InvalidArgument);
  EXPECT_THAT(stored_values(store), testing::ElementsAre(0, 0.1, 0.2, testing::DoubleEq(0.3)));
  StoreContents contents = contents_of({2, 2}, {});
  contents.values.pop_back();
  EXPECT_THROW(VariableStore{contents}, InvalidArgument);
}

TEST(OptimizerStateTest, AnOptimizerGoesOnFromItsStateInTheSameBits) {
  for (const OptimizerSpec& spec : every_optimizer()) {
    for (const DataType type : {DataType::f32, DataType::f64}) {
      const auto path = [&](int handed_over_after) {
        std::vector<double> weights(7, 0.25);
        std::vector<float> narrow(7, 0.25F);
        auto optimizer = make_host_optimizer(spec, 7, type);
        for (int update = 0; update < 8; ++update) {
          if (update == handed_over_after) {
            const OptimizerState state = optimizer->state();
            optimizer = make_host_optimizer(spec, 7, type);
            optimizer->set_state(state);
          }
          std::vector<double> gradients = update_of(7, update);
          std::vector<float> narrow_gradients(gradients.begin(), gradients.end());
          const auto region = [&](std::vector<double>& wide, std::vector<float>& less) {
            return Region{type == DataType::f64 ? reinterpret_cast<std::byte*>(wide.data())
                                                : reinterpret_cast<std::byte*>(less.data()),
                          7, type};
          };
          optimizer->update(region(weights, narrow), region(gradients, narrow_gradients));
        }
        return std::pair(weights, narrow);
      };
      const auto whole = path(-1);
      for (const int after : {0, 1, 4, 7}) EXPECT_EQ(path(after), whole) << spec.name << after;
    }
  }
}

}  // namespace
}  // namespace collbench
