// A program of Google Benchmark: the C library's sort over some sizes. For
// bench/studies/ab_commands.py.
#include <cstdlib>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

int compare(const void* a, const void* b) {
  const int one = *static_cast<const int*>(a);
  const int other = *static_cast<const int*>(b);
  return (one > other) - (one < other);
}

void sort(benchmark::State& state) {
  std::vector<int> values(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    unsigned random = 1;
    for (int& value : values) value = static_cast<int>(random = random * 1103515245 + 12345);
    std::qsort(values.data(), values.size(), sizeof(int), compare);
  }
}
BENCHMARK(sort)->RangeMultiplier(4)->Range(256, 16384);

}  // namespace

BENCHMARK_MAIN();
