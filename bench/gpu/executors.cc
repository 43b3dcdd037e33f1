// Both executors of our schedules on one GPU's logical devices, against the floor that the same
// run's copies set: collbench_gpu_benchmark FILE.json
//
// The floor of a schedule is the time in which its reads and writes take place at the rate of a
// plain copy on the device. Device time is from CUDA's events around replays back to back; host
// time is from call to return of one all-reduce.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <random>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/json.h"
#include "core/quantile.h"
#include "transports/cuda/cuda_world.h"
#include "transports/cuda/device_commands.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/memory.h"
#include "transports/cuda/places.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;
using namespace literals;

struct Point {
  std::string algorithm;
  int ranks = 0;
  Bytes bytes;
  CudaExecutor executor = CudaExecutor::graph;
};

constexpr Bytes largest = 256_MiB;

/// Numbers in [-1, 1): a GPU moves and adds zeros faster than others.
std::shared_ptr<std::byte> random_numbers() {
  std::vector<float> numbers(static_cast<std::size_t>(largest.count) / sizeof(float));
  std::minstd_rand generator(1);
  for (float& number : numbers) number = static_cast<float>(generator()) * 0x1p-30F - 1;
  auto memory = allocate_on_cuda(0, largest);
  copy_with_cuda(memory.get(), reinterpret_cast<const std::byte*>(numbers.data()), largest);
  return memory;
}

/// Vectors of all ranks, in place. Sums of sums overflow after a hundred replays, so each batch
/// begins with the numbers.
class Vectors {
 public:
  Vectors(const std::vector<int>& devices, Bytes size, const std::byte* numbers)
      : numbers_(numbers) {
    for (const int device : devices) {
      memory_.push_back(allocate_on_cuda(device, size));
      regions_.push_back({memory_.back().get(), size.count / 4, DataType::f32});
    }
  }
  std::span<const Region> refilled() const {
    for (const Region& region : regions_) copy_with_cuda(region.data, numbers_, region.size());
    return regions_;
  }

 private:
  const std::byte* numbers_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::vector<Region> regions_;
};

/// Medians of five batches on the device and of single calls on the host, in microseconds.
Json measure(const Point& point, const std::byte* numbers, Bandwidth copy) {
  const Schedule schedule = make_schedule(point.algorithm, point.ranks, point.bytes);
  CudaWorldOptions options;
  options.devices = place_on_cuda({0}, point.ranks);
  options.executor = point.executor;
  CudaWorld world(options);
  const Vectors vectors(options.devices, point.bytes, numbers);
  const auto collective = [&]() -> CudaCollective {
    const std::span<const Region> regions = vectors.refilled();
    return {0, ReduceOp::sum, regions, regions};
  };
  const int replays = static_cast<int>(std::clamp<std::int64_t>(
      (std::int64_t{4} << 30) / (point.bytes.count * point.ranks), 5, 400));
  std::vector<double> device;
  std::vector<double> host;
  for (int batch = 0; batch < 5; ++batch) {
    device.push_back(world.time_on_device(collective(), schedule, replays).count() * 1e6);
  }
  const CudaCollective again = collective();
  for (int call = 0; call < std::min(replays, 100); ++call) {
    const auto start = std::chrono::steady_clock::now();
    world.play(again, schedule);
    host.push_back(Seconds(std::chrono::steady_clock::now() - start).count() * 1e6);
  }
  const DeviceCommands commands =
      lower(schedule, point.bytes.count / 4, DataType::f32, ReduceOp::sum, true);
  const double floor_us =
      static_cast<double>(memory_traffic(commands).count) / (2 * copy.bytes_per_second) * 1e6;
  return {{"algorithm", point.algorithm},
          {"ranks", point.ranks},
          {"size_bytes", point.bytes.count},
          {"executor", to_string(point.executor)},
          {"replays", replays},
          {"device_us", device},
          {"device_median_us", quantile(device, 0.5)},
          {"host_median_us", quantile(host, 0.5)},
          {"floor_us", floor_us},
          {"of_floor", floor_us / quantile(device, 0.5)}};
}

/// The marks first, then where one executor overtakes the other.
std::vector<Point> points() {
  std::vector<Point> all;
  const CudaExecutor both[] = {CudaExecutor::graph, CudaExecutor::persistent};
  for (const int ranks : {2, 4, 8}) {
    for (const char* name : {"direct", "ring"}) {
      for (const CudaExecutor executor : both) all.push_back({name, ranks, largest, executor});
    }
  }
  for (const char* name : {"direct", "one-shot", "recursive-doubling", "halving-doubling", "ring",
                           "tree", "double-tree", "circulant", "swing"}) {
    for (const CudaExecutor executor : both) all.push_back({name, 8, 1_KiB, executor});
  }
  for (Bytes bytes = 16_KiB; bytes <= 64_MiB; bytes = bytes * 8) {
    for (const char* name : {"direct", "ring", "recursive-doubling"}) {
      for (const CudaExecutor executor : both) all.push_back({name, 8, bytes, executor});
    }
  }
  return all;
}

void write(const std::string& file, const Json& document) {
  std::ofstream out(file);
  out << json_text(document, 1) << '\n';
  if (!out.flush()) throw InvalidArgument("cannot write " + file);
}

void run(const std::string& file) {
  const CudaDevices found = find_cuda_devices();
  if (!found.unavailable.empty()) throw Unavailable(found.unavailable);
  const std::shared_ptr<std::byte> numbers = random_numbers();
  const Bandwidth copy = measure_cuda_copy(0, numbers.get(), largest, 20);
  Json document = {
      {"device", found.devices[0].name},          {"capability", found.devices[0].capability},
      {"cuda_runtime", to_string(found.runtime)}, {"cuda_driver", to_string(found.driver)},
      {"copy_GBps", copy.bytes_per_second / 1e9}, {"points", Json::array()}};
  std::cout << fmt::format("{}, copies at {:.0f} GB/s\n", found.devices[0].name,
                           copy.bytes_per_second / 1e9);
  for (const Point& point : points()) {
    Json row;
    try {
      row = measure(point, numbers.get(), copy);
      std::cout << fmt::format(
                       "{:<20}{:>3} x {:>8}  {:<11}{:>11.2f} us  {:>11.2f} us by the host"
                       "  {:>4.0f} % of floor\n",
                       point.algorithm, point.ranks, to_string(point.bytes),
                       to_string(point.executor), row["device_median_us"].get<double>(),
                       row["host_median_us"].get<double>(), 100 * row["of_floor"].get<double>())
                << std::flush;
    } catch (const InvalidArgument&) {
      continue;  // the algorithm does not exist for so many ranks
    } catch (const Unavailable& error) {
      row = {{"algorithm", point.algorithm}, {"skipped", error.what()}};
    }
    document["points"].push_back(row);
    write(file, document);  // a run that is cut short leaves what it has
  }
}

}  // namespace
}  // namespace collbench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: collbench_gpu_benchmark FILE.json\n";
    return 2;
  }
  try {
    collbench::run(argv[1]);
    return 0;
  } catch (const collbench::Unavailable& error) {
    std::cerr << "collbench_gpu_benchmark: " << error.what() << '\n';
    return 4;
  } catch (const std::exception& error) {
    std::cerr << "collbench_gpu_benchmark: " << error.what() << '\n';
    return 5;
  }
}
