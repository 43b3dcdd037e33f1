#include "training/asynchronous/variable_store.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "training/elements.h"
#include "training/engines/engine.h"

namespace collbench {
namespace {

void require_bytes(std::size_t given, std::size_t needed, const char* what) {
  require(given == needed,
          fmt::format("a parameter server with {} bytes of {} was given {}", needed, what, given));
}

Region region_of(std::vector<std::byte>& memory, DataType type) {
  return {memory.data(), std::ssize(memory) / size_of(type), type};
}

/// The part of every slot that belongs to one shard.
OptimizerState part_of(const OptimizerState& all, std::int64_t first, std::int64_t count) {
  OptimizerState part{all.updates, {}};
  for (const std::vector<double>& slot : all.slots) {
    part.slots.emplace_back(slot.begin() + first, slot.begin() + first + count);
  }
  return part;
}

}  // namespace

VariableStore::VariableStore(const StoreContents& contents) : made_of_(contents) {
  check(contents.optimizer);
  std::int64_t elements = 0;
  for (const std::int64_t count : contents.shards) {
    require(count >= 0, fmt::format("a shard cannot have {} elements", count));
    elements += count;
  }
  require(elements == std::ssize(contents.values),
          fmt::format("shards of {} elements have {} values", elements, contents.values.size()));
  const std::size_t slots = slot_names(contents.optimizer).size();
  const auto& given = contents.state.slots;
  const bool fresh = given.empty() && contents.state.updates == 0;
  const bool fits = fresh || (given.size() == slots &&
                              std::all_of(given.begin(), given.end(), [&](const auto& slot) {
                                return std::ssize(slot) == elements;
                              }));
  require(fits, "the state of the optimizer does not fit the variables");
  const std::int64_t bytes = size_of(contents.type);
  values_.resize(static_cast<std::size_t>(elements * bytes));
  statistics_.resize(contents.statistics.size() * static_cast<std::size_t>(bytes));
  const ComputeEngine& engine = find_engine(contents.engine, contents.type);
  std::int64_t first = 0;
  for (const std::int64_t count : contents.shards) {
    auto shard = std::make_unique<Shard>();
    shard->first = first;
    shard->count = count;
    shard->optimizer = engine.make_optimizer(contents.optimizer, count, contents.type);
    if (!fresh) shard->optimizer->set_state(part_of(contents.state, first, count));
    shards_.push_back(std::move(shard));
    first += count;
  }
  set_values(region_of(values_, contents.type), contents.values);
  set_values(region_of(statistics_, contents.type), contents.statistics);
  made_of_.values.clear();
  made_of_.statistics.clear();
  made_of_.state = {};
}

Region VariableStore::values(const Shard& shard) const {
  const std::int64_t bytes = size_of(made_of_.type);
  return {const_cast<std::byte*>(values_.data()) + shard.first * bytes, shard.count, made_of_.type};
}

std::int64_t VariableStore::read(std::span<std::byte> values,
                                 std::span<std::byte> statistics) const {
  require_bytes(values.size(), values_.size(), "variables");
  require_bytes(statistics.size(), statistics_.size(), "statistics");
  const std::int64_t version = updates_.load();
  std::byte* to = values.data();
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    const Region part = this->values(*shard);
    to = std::copy_n(part.data, part.size().count, to);
  }
  const std::lock_guard lock(statistics_mutex_);
  std::copy(statistics_.begin(), statistics_.end(), statistics.begin());
  return version;
}

std::int64_t VariableStore::update(std::span<const std::byte> gradients,
                                   std::span<const std::byte> moves) {
  require_bytes(gradients.size(), values_.size(), "variables");
  require_bytes(moves.size(), statistics_.size(), "statistics");
  const std::int64_t version = updates_.fetch_add(1);
  std::vector<std::byte> copy;  // what optimizers may write to, and aligned for them
  for (const auto& shard : shards_) {
    const std::int64_t bytes = size_of(made_of_.type);
    const auto part = gradients.subspan(static_cast<std::size_t>(shard->first * bytes),
                                        static_cast<std::size_t>(shard->count * bytes));
    copy.assign(part.begin(), part.end());
    const std::lock_guard lock(shard->mutex);
    shard->optimizer->update(values(*shard), {copy.data(), shard->count, made_of_.type});
  }
  const std::lock_guard lock(statistics_mutex_);
  copy.assign(moves.begin(), moves.end());
  const Region all = region_of(statistics_, made_of_.type);
  combine(all, region_of(copy, made_of_.type), all, std::plus<>());
  return version;
}

StoreContents VariableStore::contents() const {
  StoreContents all = made_of_;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    const std::vector<double> part = values_of(values(*shard));
    all.values.insert(all.values.end(), part.begin(), part.end());
    const OptimizerState state = shard->optimizer->state();
    all.state.updates = std::max(all.state.updates, state.updates);
    all.state.slots.resize(state.slots.size());
    for (std::size_t i = 0; i < state.slots.size(); ++i) {
      all.state.slots[i].insert(all.state.slots[i].end(), state.slots[i].begin(),
                                state.slots[i].end());
    }
  }
  const std::lock_guard lock(statistics_mutex_);
  all.statistics = values_of({const_cast<std::byte*>(statistics_.data()),
                              std::ssize(statistics_) / size_of(made_of_.type), made_of_.type});
  return all;
}

}  // namespace collbench
