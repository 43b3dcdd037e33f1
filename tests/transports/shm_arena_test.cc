// Processes see the arena at different addresses. Here each rank is a thread with a mapping of its
// own of one memory file, which shows the same and lets sanitizers look on.
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/transports/kept_threads.h"
#include "tests/transports/small_values.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/play/schedule_communicator.h"
#include "transports/shm/shm_world.h"

namespace collbench {
namespace {

constexpr std::size_t heap_bytes = 8 << 20;  // a staged segment and a plan's snapshot of it

struct Mapping {
  explicit Mapping(int file, std::size_t size) : bytes(size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    EXPECT_NE(memory, MAP_FAILED);
    begin = static_cast<std::byte*>(memory);
  }
  ~Mapping() { munmap(begin, bytes); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::byte* begin = nullptr;
  std::size_t bytes;
};

// body(communicator, data): `data` is room for heap_bytes / 2 bytes inside this rank's mapping.
void on_mappings(int ranks, std::string_view algorithm,
                 const std::function<void(Communicator&, std::byte*)>& body,
                 const ShmOptions& options = {}) {
  const int file = memfd_create("collbench-test", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  const std::size_t world = (shm_world_footprint(ranks) + 4095) / 4096 * 4096;
  const std::size_t per_rank = heap_bytes + heap_bytes / 2;
  const std::size_t bytes = world + per_rank * static_cast<std::size_t>(ranks);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(bytes)), 0);
  const Mapping first(file, bytes);
  create_shm_world(first.begin, ranks, options);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  kept_threads().run(ranks, [&](Rank r) {
    const Mapping mine(file, bytes);
    std::byte* const part = mine.begin + world + per_rank * static_cast<std::size_t>(r);
    try {
      const ShmView view{.world = mine.begin,
                         .shared_begin = mine.begin,
                         .shared_bytes = bytes,
                         .heap = part,
                         .heap_bytes = heap_bytes};
      const AlgorithmSpec spec{std::string(algorithm), {}};
      const auto communicator = make_schedule_communicator(
          [&](Bytes, DataType) { return make_schedule(spec, ranks); }, make_shm_endpoint(view, r),
          "test",
          [&](Bytes bytes, const Collective& collective) {
            const bool has_it = find_algorithm(spec.name).implements(collective.kind);
            return has_it ? std::optional(make_schedule(spec, ranks, bytes, collective))
                          : std::nullopt;
          });
      body(*communicator, part + heap_bytes);
      communicator->barrier();  // nobody unmaps what another may still read
    } catch (const std::exception& error) {
      failures[static_cast<std::size_t>(r)] = std::current_exception();
      abort_shm_world(mine.begin, error.what());
    }
  });
  close(file);
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void expect_sums(Communicator& communicator, float* in, float* out, std::int64_t count) {
  const int n = communicator.ranks();
  for (std::int64_t i = 0; i < count; ++i) {
    in[i] = static_cast<float>((i % 97) * (communicator.rank() + 1));
  }
  const Region from{reinterpret_cast<std::byte*>(in), count, DataType::f32};
  const Region to{reinterpret_cast<std::byte*>(out), count, DataType::f32};
  communicator.all_reduce(from, to, ReduceOp::sum);
  for (std::int64_t i = 0; i < count; ++i) {
    const float expected = static_cast<float>((i % 97) * n * (n + 1) / 2);
    if (out[i] != expected) {
      throw WrongResult("element " + std::to_string(i) + " is " + std::to_string(out[i]) +
                        ", not " + std::to_string(expected));
    }
  }
}

class Arena : public testing::TestWithParam<const char*> {};

TEST_P(Arena, SumsBuffersInsideWhereverItIsMapped) {
  on_mappings(4, GetParam(), [](Communicator& communicator, std::byte* data) {
    auto* in = reinterpret_cast<float*>(data);
    for (const std::int64_t count : {1, 5, 13, 1000, 100000}) {
      expect_sums(communicator, in, in, count);
      expect_sums(communicator, in, in + 100000, count);
    }
  });
}

TEST_P(Arena, StagesPrivateBuffers) {
  const auto sum_all = [](Communicator& communicator, std::byte*) {
    std::vector<float> in(700001);
    std::vector<float> out(700001);
    for (const std::int64_t count : {1, 13, 14, 1000, 700001}) {
      expect_sums(communicator, in.data(), in.data(), count);
      expect_sums(communicator, in.data(), out.data(), count);
    }
  };
  on_mappings(4, GetParam(), sum_all, {.peer_memory = false});
}

// With a core for every rank, parts are folded from and to private memory.
TEST(SharedArena, FoldsPrivateBuffersInPartsWhenCoresSuffice) {
  for (const int n : {2, 3, 5}) {
    const auto sum_all = [](Communicator& communicator, std::byte*) {
      std::vector<float> in(700001);
      std::vector<float> out(700001);
      for (const std::int64_t count : {1, 510, 511, 1000, 131072, 131073, 700001}) {
        expect_sums(communicator, in.data(), in.data(), count);
        expect_sums(communicator, in.data(), out.data(), count);
      }
    };
    on_mappings(n, "direct", sum_all, {.cores = n, .peer_memory = false});
  }
}

// The first sum finds out that every rank reaches every other, the later ones make use of it.
TEST(SharedArena, FoldsPrivateBuffersThroughTheKernel) {
  for (const std::string_view algorithm : {"direct", "parameter-server", "reduce-broadcast"}) {
    for (const int n : {2, 3, 7}) {
      on_mappings(n, algorithm, [](Communicator& communicator, std::byte*) {
        std::vector<float> in(700001);
        std::vector<float> out(700001);
        for (const std::int64_t count : {524288, 524289, 700001}) {
          expect_sums(communicator, in.data(), in.data(), count);
          expect_sums(communicator, in.data(), out.data(), count);
        }
      });
    }
  }
}

// As staging and shared buffers do: the order of a fold is the schedule's.
TEST(SharedArena, SumsAreTheSameBitsHoweverPrivateBuffersAreReached) {
  constexpr std::int64_t count = 600003;
  std::vector<std::vector<float>> results;
  for (const bool peer_memory : {false, true}) {
    std::vector<float> sums(count);
    const auto sum_rough = [&](Communicator& communicator, std::byte*) {
      std::vector<float> data(count);
      for (int repeat = 0; repeat < 2; ++repeat) {
        for (std::int64_t i = 0; i < count; ++i) {
          data[static_cast<std::size_t>(i)] =
              1.0F / static_cast<float>(1 + i % 1009 + 17 * communicator.rank());
        }
        const Region whole{reinterpret_cast<std::byte*>(data.data()), count, DataType::f32};
        communicator.all_reduce(whole, whole, ReduceOp::sum);
      }
      if (communicator.rank() == 0) sums = data;
    };
    on_mappings(5, "direct", sum_rough, {.peer_memory = peer_memory});
    results.push_back(sums);
  }
  EXPECT_EQ(results[0], results[1]);
}

// Shown to all, staged, and through the kernel; the first large one finds out whether that works.
TEST(SharedArena, PlaysTheHalvesOnPrivateBuffers) {
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    for (const int n : {2, 3, 7}) {
      const auto perform_all = [&](Communicator& communicator, std::byte*) {
        for (const std::int64_t count : {5, 510, 4000, 700001, 700001}) {
          for (const bool in_place : {true, false}) {
            const std::string error = collective_error(communicator, {kind}, DataType::f32,
                                                       ReduceOp::sum, count, in_place);
            if (!error.empty()) throw WrongResult(error);
          }
        }
      };
      const ShmOptions options{.peer_memory = n != 3};
      on_mappings(n, "direct", perform_all, options);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Arena,
                         testing::Values("direct", "ring", "recursive-doubling", "tree"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(SharedArena, BroadcastsPrivateBuffers) {
  on_mappings(3, "direct", [](Communicator& communicator, std::byte*) {
    std::vector<float> data(500000, static_cast<float>(communicator.rank()));
    const Region whole{reinterpret_cast<std::byte*>(data.data()), 500000, DataType::f32};
    communicator.broadcast(whole, 2);
    if (data.front() != 2.0F || data.back() != 2.0F) throw WrongResult("broadcast");
  });
}

}  // namespace
}  // namespace collbench
