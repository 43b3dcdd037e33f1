// Latency of MPI_Allreduce (float32 sum) by collbench's own method, for any MPI library.
//
// The method is that of `collbench run`, so that a library which collbench is not built with (MPICH
// beside Open MPI, or the other way round) can be measured all the same, and so that both harnesses
// can be held against each other where they overlap. It uses nothing of collbench and of MPI only
// the collective under test: ranks meet at a barrier in shared memory, which no MPI progress engine
// can favour, and the latency of an iteration is from the last rank's arrival to the last rank's
// completion, on one clock. Buffers are `produced`: between iterations, outside the timed region,
// every rank rewrites its input and reads its output. All ranks must run on one host.
//
//   mpicxx -O3 -std=c++20 mpi_latency.cc -o mpi_latency
//   mpirun -n 4 ./mpi_latency [--seconds S] [--out-of-place] [--hot] [--no-pin] BYTES...
//
// Prints one JSON object per size from rank 0. Exit status 3 if a sum is wrong.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr int most_ranks = 64;

struct alignas(64) Slot {
  std::int64_t arrival_ns = 0;
  std::int64_t completion_ns = 0;
};

// What the ranks share. Zeroed by ftruncate; atomics of this size are lock-free on every host.
struct Shared {
  alignas(64) std::atomic<int> arrived;
  alignas(64) std::atomic<int> generation;
  alignas(64) std::atomic<int> iterations;
  alignas(64) std::atomic<std::int64_t> wrong;
  Slot slots[most_ranks];
};

struct Options {
  double seconds = 0.3;
  bool in_place = true;
  bool produced = true;
  bool pin = true;
  std::vector<std::int64_t> sizes;
};

struct MpiRanks {
  int rank = 0;
  int ranks = 1;
  Shared* shared = nullptr;
};

std::int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

[[noreturn]] void stop(const std::string& why, int code) {
  std::fprintf(stderr, "mpi_latency: %s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

// A central barrier: spins while every rank has a core to itself, else soon gives the core away.
void barrier(const MpiRanks& world) {
  static const int spins = world.ranks <= sysconf(_SC_NPROCESSORS_ONLN) ? 20000 : 60;
  Shared& shared = *world.shared;
  const int generation = shared.generation.load(std::memory_order_acquire);
  if (shared.arrived.fetch_add(1, std::memory_order_acq_rel) == world.ranks - 1) {
    shared.arrived.store(0, std::memory_order_relaxed);
    shared.generation.store(generation + 1, std::memory_order_release);
    return;
  }
  for (int i = 0; shared.generation.load(std::memory_order_acquire) == generation; ++i) {
    if (i > spins) sched_yield();
  }
}

Shared* share(const MpiRanks& world) {
  char path[] = "/dev/shm/mpi_latency_XXXXXX";
  int file = world.rank == 0 ? mkstemp(path) : -1;
  if (world.rank == 0 && (file < 0 || ftruncate(file, sizeof(Shared)) != 0))
    stop("cannot create a file in /dev/shm", 1);
  MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (world.rank != 0) file = open(path, O_RDWR);
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) stop("cannot map " + std::string(path) + "; are all ranks here?", 1);
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) unlink(path);
  return static_cast<Shared*>(memory);
}

// One size on one rank: its buffers and what happens to them around an iteration.
class LatencyCase {
 public:
  LatencyCase(const MpiRanks& world, const Options& options, std::int64_t bytes)
      : world_(world),
        options_(options),
        count_(bytes / static_cast<std::int64_t>(sizeof(float))),
        input_(static_cast<std::size_t>(options.in_place ? 0 : count_)),
        output_(static_cast<std::size_t>(count_)) {}

  // Small integers, so that every order of additions gives the same exact sum.
  void produce(int iteration) {
    std::vector<float>& buffer = options_.in_place ? output_ : input_;
    for (std::int64_t i = 0; i < count_; ++i)
      buffer[static_cast<std::size_t>(i)] = static_cast<float>((i + iteration) % 16 + world_.rank);
  }

  void reduce() {
    const void* input = options_.in_place ? MPI_IN_PLACE : input_.data();
    MPI_Allreduce(input, output_.data(), static_cast<int>(count_), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }

  std::int64_t consume(int iteration) const {
    const int n = world_.ranks;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t right = (i + iteration) % 16 * n + n * (n - 1) / 2;
      wrong += output_[static_cast<std::size_t>(i)] != static_cast<float>(right) ? 1 : 0;
    }
    return wrong;
  }

  // Last arrival to last completion of one iteration; the same value on every rank.
  std::int64_t timed(int iteration) {
    if (options_.produced) produce(iteration);
    Slot& mine = world_.shared->slots[world_.rank];
    barrier(world_);
    mine.arrival_ns = now_ns();
    reduce();
    mine.completion_ns = now_ns();
    barrier(world_);
    std::int64_t arrival = 0;
    std::int64_t completion = 0;
    for (int r = 0; r < world_.ranks; ++r) {
      arrival = std::max(arrival, world_.shared->slots[r].arrival_ns);
      completion = std::max(completion, world_.shared->slots[r].completion_ns);
    }
    if (options_.produced) world_.shared->wrong += consume(iteration);
    return completion - arrival;
  }

  // Rank 0 turns the time of the warm-up into a number of iterations for all.
  int agree_on_iterations() {
    std::int64_t warm = 0;
    for (int i = 0; i < 5; ++i) warm = timed(i);
    if (world_.rank == 0) {
      const double wanted =
          options_.seconds * 1e9 / static_cast<double>(std::max<std::int64_t>(warm, 1));
      world_.shared->iterations = static_cast<int>(std::clamp(wanted, 7.0, 2000.0));
    }
    barrier(world_);
    return world_.shared->iterations;
  }

  void clear() {
    std::fill(input_.begin(), input_.end(), 0.0F);
    std::fill(output_.begin(), output_.end(), 0.0F);
  }

 private:
  const MpiRanks& world_;
  const Options& options_;
  std::int64_t count_;
  std::vector<float> input_;
  std::vector<float> output_;
};

std::int64_t at_quantile(const std::vector<std::int64_t>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

void measure(const MpiRanks& world, const Options& options, std::int64_t bytes,
             const std::string& library) {
  LatencyCase one(world, options, bytes);
  one.produce(0);
  one.reduce();
  world.shared->wrong += one.consume(0);
  one.clear();
  const int iterations = one.agree_on_iterations();
  std::vector<std::int64_t> samples;
  for (int i = 0; i < iterations; ++i) samples.push_back(one.timed(i));
  barrier(world);
  if (world.shared->wrong != 0) stop("the sum is wrong at " + std::to_string(bytes) + " bytes", 3);
  if (world.rank != 0) return;
  std::sort(samples.begin(), samples.end());
  std::printf(
      "{\"library\": \"%s\", \"ranks\": %d, \"bytes\": %lld, \"in_place\": %s, \"buffers\": "
      "\"%s\", "
      "\"iterations\": %d, \"median_ns\": %lld, \"min_ns\": %lld, \"p95_ns\": %lld}\n",
      library.c_str(), world.ranks, static_cast<long long>(bytes),
      options.in_place ? "true" : "false", options.produced ? "produced" : "hot", iterations,
      static_cast<long long>(at_quantile(samples, 0.5)), static_cast<long long>(samples.front()),
      static_cast<long long>(at_quantile(samples, 0.95)));
  std::fflush(stdout);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seconds" && i + 1 < argc) {
      options.seconds = std::atof(argv[++i]);
    } else if (word == "--out-of-place") {
      options.in_place = false;
    } else if (word == "--hot") {
      options.produced = false;
    } else if (word == "--no-pin") {
      options.pin = false;
    } else {
      const long long bytes = std::atoll(word.c_str());
      if (bytes < 4 || bytes % 4 != 0 || bytes > (1LL << 32))
        stop("'" + word + "' is neither an option nor a multiple of 4 bytes up to 2^32", 2);
      options.sizes.push_back(bytes);
    }
  }
  if (options.sizes.empty()) stop("name at least one size in bytes", 2);
  return options;
}

void pin(int rank) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(cpus[static_cast<std::size_t>(rank) % cpus.size()], &mine);
  sched_setaffinity(0, sizeof(mine), &mine);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MpiRanks world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
  if (world.ranks > most_ranks) stop("at most 64 ranks", 2);
  const Options options = parse(argc, argv);
  if (options.pin) pin(world.rank);
  world.shared = share(world);

  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string library(text, static_cast<std::size_t>(length));
  library = library.substr(0, library.find_first_of(",\n"));
  std::replace(library.begin(), library.end(), '\t', ' ');

  for (const std::int64_t bytes : options.sizes) measure(world, options, bytes, library);
  MPI_Finalize();
  return 0;
}
