// The reduction kernels: bytes read plus bytes written per second, one thread.
//
// Reduce/fused folds `streams` arrays into all of them in place (a fused all-reduce), Reduce/fold
// into the first (one step of a ring for two), Reduce/spread into as many other arrays. `bytes` is
// the size of one array. COLLBENCH_ISA chooses the instruction set.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "transports/kernels/kernels.h"
#include "transports/memory.h"

namespace collbench {
namespace {

/// Arrays of bytes, touched so that they are in memory.
class Arrays {
 public:
  Arrays(std::int64_t count, std::int64_t bytes) {
    for (std::int64_t i = 0; i < count; ++i) {
      memory_.push_back(allocate_pages(Bytes{bytes}));
      arrays_.push_back(memory_.back().get());
      std::memset(arrays_.back(), 0, static_cast<std::size_t>(bytes));
    }
  }

  std::span<std::byte* const> all() const { return arrays_; }
  std::vector<const std::byte*> sources() const { return {arrays_.begin(), arrays_.end()}; }

 private:
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::vector<std::byte*> arrays_;
};

/// Whether the kernels add small integers right: nothing is timed before.
bool adds_up(std::size_t sources) {
  const std::vector<std::byte> ones(100, std::byte{1});
  const std::vector<const std::byte*> from(sources, ones.data());
  std::vector<std::byte> sum(100);
  std::byte* const to = sum.data();
  reduce(DataType::u8, {ReduceOp::sum, 1}, from, {&to, 1}, 100);
  return std::count(sum.begin(), sum.end(), static_cast<std::byte>(sources)) == 100;
}

void run(benchmark::State& state, std::span<const std::byte* const> sources,
         std::span<std::byte* const> destinations, ReduceOp op, Stores stores) {
  const auto type = static_cast<DataType>(state.range(0));
  const std::int64_t bytes = state.range(2);
  if (!adds_up(sources.size())) {
    state.SkipWithError("the kernel does not add up");
    return;
  }
  const Reduction reduction{op, op == ReduceOp::avg ? static_cast<int>(sources.size()) : 1};
  for (auto _ : state) {
    reduce(type, reduction, sources, destinations, bytes / size_of(type), stores);
    benchmark::ClobberMemory();
  }
  const auto streams = static_cast<std::int64_t>(sources.size() + destinations.size());
  state.SetBytesProcessed(state.iterations() * streams * bytes);
  state.SetLabel(std::string(to_string(type)) + " " + std::string(to_string(op)) + " " +
                 std::string(kernel_isa()));
}

void fused(benchmark::State& state, ReduceOp op) {
  const Arrays arrays(state.range(1), state.range(2));
  run(state, arrays.sources(), arrays.all(), op, Stores::cached);
}

void fold(benchmark::State& state) {
  const Arrays arrays(state.range(1), state.range(2));
  run(state, arrays.sources(), arrays.all().first(1), ReduceOp::sum, Stores::cached);
}

void spread(benchmark::State& state, Stores stores) {
  const Arrays from(state.range(1), state.range(2));
  const Arrays to(state.range(1), state.range(2));
  run(state, from.sources(), to.all(), ReduceOp::sum, stores);
}

void copy_bytes(benchmark::State& state, Stores stores) {
  const std::int64_t bytes = state.range(0);
  const Arrays arrays(2, bytes);
  for (auto _ : state) {
    copy(arrays.all()[1], arrays.all()[0], bytes, stores);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * bytes);
}

constexpr std::int64_t f16 = static_cast<std::int64_t>(DataType::f16);
constexpr std::int64_t bf16 = static_cast<std::int64_t>(DataType::bf16);
constexpr std::int64_t f32 = static_cast<std::int64_t>(DataType::f32);
constexpr std::int64_t u8 = static_cast<std::int64_t>(DataType::u8);

void every_type(benchmark::internal::Benchmark* b) {
  b->ArgNames({"type", "streams", "bytes"});
  b->ArgsProduct({benchmark::CreateDenseRange(f16, u8, 1), {2, 8}, {16 << 10, 4 << 20}});
}

void every_size(benchmark::internal::Benchmark* b) {
  b->ArgNames({"type", "streams", "bytes"});
  b->ArgsProduct({{f32}, {2, 3, 4, 8, 16}, {4, 64, 4 << 10, 16 << 10, 256 << 10, 32 << 20}});
}

void large_sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"type", "streams", "bytes"});
  b->ArgsProduct({{f16, bf16, f32}, {2, 4, 8}, {32 << 20}});
}

BENCHMARK_CAPTURE(fused, sum, ReduceOp::sum)->Name("Reduce/fused")->Apply(every_size);
BENCHMARK_CAPTURE(fused, types, ReduceOp::sum)->Name("Reduce/fused/types")->Apply(every_type);
BENCHMARK_CAPTURE(fused, large, ReduceOp::sum)->Name("Reduce/fused/large")->Apply(large_sizes);
BENCHMARK_CAPTURE(fused, max, ReduceOp::max)->Name("Reduce/max")->Apply(every_type);
BENCHMARK_CAPTURE(fused, avg, ReduceOp::avg)->Name("Reduce/avg")->Apply(every_type);
BENCHMARK(fold)->Name("Reduce/fold")->Apply(every_size);
BENCHMARK_CAPTURE(spread, cached, Stores::cached)->Name("Reduce/spread")->Apply(large_sizes);
BENCHMARK_CAPTURE(spread, streaming, Stores::streaming)
    ->Name("Reduce/spread/streaming")
    ->Apply(large_sizes);
BENCHMARK_CAPTURE(copy_bytes, cached, Stores::cached)->Name("Copy")->Range(64, 64 << 20);
BENCHMARK_CAPTURE(copy_bytes, streaming, Stores::streaming)
    ->Name("Copy/streaming")
    ->Range(64, 64 << 20);

}  // namespace
}  // namespace collbench
