// Ranks that are processes show each other device memory, with a library that stands in for the
// driver: it aborts whoever frees memory that another process has open.
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "transports/cuda/neighbours.h"

namespace collbench {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr Bytes stage_bytes{4096};

// Device memory of a rank with one number in each element.
std::shared_ptr<std::byte> device_memory(int device, std::int64_t count, std::int32_t value) {
  const CudaDriver& driver = CudaDriver::instance();
  driver.use(device);
  const std::vector<std::int32_t> host(static_cast<std::size_t>(count), value);
  std::shared_ptr<std::byte> memory(driver.allocate({4 * count}), [&driver, device](std::byte* m) {
    driver.use(device);
    driver.free(m);
  });
  driver.upload(memory.get(), reinterpret_cast<const std::byte*>(host.data()), {4 * count});
  return memory;
}

std::int32_t first_of(const std::byte* memory) {
  std::int32_t value = 0;
  CudaDriver::instance().download(reinterpret_cast<std::byte*>(&value), memory, {4});
  return value;
}

void set_first(std::byte* memory, std::int32_t value) {
  CudaDriver::instance().upload(memory, reinterpret_cast<const std::byte*>(&value), {4});
}

CudaCall sum_of(std::int64_t count) {
  return {Collective{}, count, DataType::i32, ReduceOp::sum, true};
}

[[noreturn]] void unexpected(const std::string& what) { throw Error("not as expected: " + what); }

class CudaNeighboursTest : public testing::Test {
 protected:
  using Body = std::function<void(CudaNeighbours&)>;

  void SetUp() override { ::setenv("COLLBENCH_CUDA_LIBRARY", GPU_STAND_IN, 1); }
  void TearDown() override { ::unsetenv("STAND_IN_PEERS"); }

  // Runs `body` as every rank in a process and on a device of its own. What each threw, "" for
  // nothing, "died" where it said nothing; when one dies, the others are told.
  std::vector<std::string> run(int ranks, const Body& body, Seconds timeout = Seconds{60}) {
    const auto size = static_cast<std::size_t>(cuda_neighbours_footprint(ranks, stage_bytes).count);
    void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    auto* const arena = static_cast<std::byte*>(mapped);
    lay_out_cuda_neighbours(arena, ranks, timeout);
    std::vector<pollfd> said;
    std::vector<pid_t> children;
    for (Rank rank = 0; rank < ranks; ++rank) {
      int ends[2] = {-1, -1};
      EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
      children.push_back(fork());
      if (children.back() == 0) {
        const std::string text = as_rank({arena, stage_bytes, rank, ranks, rank}, body);
        if (write(ends[1], text.data(), text.size()) < 0) _exit(1);
        _exit(0);
      }
      close(ends[1]);
      said.push_back({ends[0], POLLIN, 0});
    }
    std::vector<std::string> outcomes = hear(said, arena);
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    munmap(mapped, size);
    return outcomes;
  }

 private:
  static std::string as_rank(const CudaNeighbourhood& where, const Body& body) {
    try {
      CudaNeighbours neighbours(where);
      body(neighbours);
      return "fine";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  static std::vector<std::string> hear(std::vector<pollfd>& said, std::byte* arena) {
    std::vector<std::string> outcomes(said.size());
    for (std::size_t open = said.size(); open > 0;) {
      poll(said.data(), said.size(), -1);
      for (std::size_t rank = 0; rank < said.size(); ++rank) {
        if (said[rank].revents == 0) continue;
        char text[1024];
        const ssize_t length = read(said[rank].fd, text, sizeof text);
        if (length > 0) outcomes[rank].append(text, static_cast<std::size_t>(length));
        if (length > 0) continue;
        if (outcomes[rank].empty()) {
          outcomes[rank] = "died";
          abort_cuda_neighbours(arena, "rank " + std::to_string(rank) + " died");
        }
        close(said[rank].fd);
        said[rank] = {-1, 0, 0};
        --open;
      }
    }
    return outcomes;
  }
};

TEST_F(CudaNeighboursTest, ReadAndWriteEachOthersMemory) {
  const auto outcomes = run(3, [](CudaNeighbours& neighbours) {
    const Rank rank = neighbours.rank();
    const auto in = device_memory(rank, 100, 10 + rank);
    const auto out = device_memory(rank, 50, 0);
    neighbours.adopt(in, {400});
    neighbours.adopt(out, {200});
    for (int turn = 0; turn < 3; ++turn) {
      // Part of the one and all of the other, and the other way round.
      std::byte* const a = in.get() + 40;
      const auto met = turn == 1 ? neighbours.meet(sum_of(50), out.get(), a)
                                 : neighbours.meet(sum_of(50), a, out.get());
      for (Rank r = 0; r < 3; ++r) {
        const std::byte* const from =
            turn == 1 ? met.out[static_cast<std::size_t>(r)] : met.in[static_cast<std::size_t>(r)];
        if (first_of(from) != 10 + r) unexpected("what rank " + std::to_string(r) + " shows");
      }
      const auto next = static_cast<std::size_t>((rank + 1) % 3);
      set_first(turn == 1 ? met.in[next] : met.out[next], 100 * turn + rank);
      neighbours.meet({}, nullptr, nullptr);
      if (first_of(out.get()) != 100 * turn + (rank + 2) % 3) unexpected("what was written here");
    }
  });
  EXPECT_THAT(outcomes, Each("fine"));
}

TEST_F(CudaNeighboursTest, MemoryOutlivesItsOwnerUntilAllHaveClosedIt) {
  // The stand-in aborts a process that frees too early.
  const auto outcomes = run(4, [](CudaNeighbours& neighbours) {
    const Rank rank = neighbours.rank();
    auto memory = device_memory(rank, 10, rank);
    neighbours.adopt(memory, {40});
    const std::vector<std::byte*> shown = neighbours.show(memory.get());
    memory.reset();
    neighbours.meet({}, nullptr, nullptr);
    for (Rank r = 0; r < 4; ++r) {
      if (first_of(shown[static_cast<std::size_t>(r)]) != r) unexpected("memory of a rank");
    }
  });
  EXPECT_THAT(outcomes, Each("fine"));
}

TEST_F(CudaNeighboursTest, FreesNothingWhereARankIsLost) {
  const auto outcomes = run(3, [](CudaNeighbours& neighbours) {
    const Rank rank = neighbours.rank();
    auto memory = device_memory(rank, 10, rank);
    neighbours.adopt(memory, {40});
    neighbours.show(memory.get());
    neighbours.meet({}, nullptr, nullptr);
    if (rank == 1) raise(SIGKILL);
    memory.reset();
    neighbours.meet({}, nullptr, nullptr);
  });
  EXPECT_EQ(outcomes[1], "died");
  EXPECT_THAT(outcomes[0], HasSubstr("rank 1 died"));
  EXPECT_THAT(outcomes[2], HasSubstr("rank 1 died"));
}

TEST_F(CudaNeighboursTest, AnEndedWorldShowsOnTheGpuToo) {
  const auto outcomes = run(2, [](CudaNeighbours& neighbours) {
    if (neighbours.rank() == 1) raise(SIGKILL);
    const auto* const late = reinterpret_cast<const volatile std::int32_t*>(neighbours.late_page());
    while (*late == 0) usleep(1000);
    throw Error(neighbours.why_aborted());
  });
  EXPECT_EQ(outcomes[0], "rank 1 died");
}

TEST_F(CudaNeighboursTest, NamesTheRankThatDoesNotCome) {
  const auto outcomes = run(
      3,
      [](CudaNeighbours& neighbours) {
        if (neighbours.rank() != 2) neighbours.meet({}, nullptr, nullptr);
      },
      Seconds{1});
  EXPECT_THAT(outcomes[0], HasSubstr("rank 2"));
  EXPECT_THAT(outcomes[1], HasSubstr("rank 2"));
}

TEST_F(CudaNeighboursTest, RefuseToDisagreeAndWhatTheyDidNotGive) {
  auto outcomes = run(2, [](CudaNeighbours& neighbours) {
    const auto memory = device_memory(neighbours.rank(), 100, 0);
    neighbours.adopt(memory, {400});
    neighbours.meet(sum_of(100 - neighbours.rank()), memory.get(), memory.get());
  });
  EXPECT_THAT(outcomes,
              Each("the ranks disagree: rank 0 came for an all-reduce of 100 i32 elements, "
                   "operator sum, in place, rank 1 for an all-reduce of 99 i32 elements, "
                   "operator sum, in place"));
  outcomes = run(1, [](CudaNeighbours& neighbours) {
    const auto memory = device_memory(0, 100, 0);
    neighbours.meet(sum_of(100), memory.get(), memory.get());
  });
  EXPECT_THAT(outcomes[0], HasSubstr("memory that their communicator has given"));
}

TEST_F(CudaNeighboursTest, KnowWhoReachesWhom) {
  const Body body = [](CudaNeighbours& neighbours) {
    const auto memory = device_memory(neighbours.rank(), 10, 0);
    neighbours.adopt(memory, {40});
    const std::vector<std::byte*> shown = neighbours.show(memory.get());
    neighbours.note_reach(shown);
    const bool all = ::getenv("STAND_IN_PEERS") == nullptr;
    for (Rank a = 0; a < 3; ++a) {
      if ((shown[static_cast<std::size_t>(a)] != nullptr) != (all || a == neighbours.rank())) {
        unexpected("an address of rank " + std::to_string(a));
      }
      for (Rank b = 0; b < 3; ++b) {
        if (neighbours.reaches(a, b) != (all || a == b)) unexpected("who reaches whom");
      }
    }
    // Everybody stages in host memory that the others see.
    *neighbours.stage(neighbours.rank()) = static_cast<std::byte>(7 + neighbours.rank());
    neighbours.meet({}, nullptr, nullptr);
    for (Rank r = 0; r < 3; ++r) {
      if (*neighbours.stage(r) != static_cast<std::byte>(7 + r)) unexpected("a stage");
    }
  };
  EXPECT_THAT(run(3, body), Each("fine"));
  ::setenv("STAND_IN_PEERS", "none", 1);
  EXPECT_THAT(run(3, body), Each("fine"));
}

TEST_F(CudaNeighboursTest, TheDriverOpensNoHandleOfItsOwnProcess) {
  const auto outcomes = run(1, [](CudaNeighbours&) {
    const auto memory = device_memory(0, 10, 0);
    CudaDriver::instance().open(CudaDriver::instance().share(memory.get()));
  });
  EXPECT_THAT(outcomes[0], HasSubstr("cuIpcOpenMemHandle failed"));
}

}  // namespace
}  // namespace collbench
