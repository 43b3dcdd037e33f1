// A job for `collbench profile`: steps that compute (sleep) and then all-reduce, as training does,
// with an all-gather among half of the ranks and a loss that all know at the end of each. One rank
// may be late. Built by tests/cli and bench/studies/mpi_profile.py.
//
//   profiled_job STEPS BYTES COMPUTE_US [LATE_RANK LATE_US [FOLLOWER]]
//                                FOLLOWER waits for a message of the late rank in each step
//   profiled_job orders          two communicators of all, which ranks use in different orders
//   profiled_job calls N         N broadcasts of nothing: prints nanoseconds of each
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <mpi.h>
#include <unistd.h>

namespace {

int rank_in_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void time_calls(int calls) {
  float nothing = 0;
  const auto call = [&](int n) {
    for (int i = 0; i < n; ++i) MPI_Bcast(&nothing, 0, MPI_FLOAT, 0, MPI_COMM_WORLD);
  };
  call(calls / 10);
  const double start = MPI_Wtime();
  call(calls);
  const double seconds = MPI_Wtime() - start;
  if (rank_in_world() == 0) std::printf("%.2f\n", seconds / calls * 1e9);
}

void use_in_orders() {
  const bool is_odd = rank_in_world() % 2 != 0;
  constexpr int counts[] = {1000, 10};
  std::vector<float> data[] = {std::vector<float>(1000), std::vector<float>(10)};
  MPI_Comm made[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (MPI_Comm& one : made) MPI_Comm_dup(MPI_COMM_WORLD, &one);
  for (int i = 0; i < 2; ++i) {
    const int which = is_odd ? 1 - i : i;
    MPI_Iallreduce(MPI_IN_PLACE, data[which].data(), counts[which], MPI_FLOAT, MPI_SUM, made[which],
                   &requests[which]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (MPI_Comm& one : made) MPI_Comm_free(&one);
}

/// Ranks of the world; -1: none.
struct Followed {
  int late = -1;
  int follower = -1;
};

void follow(const Followed& followed) {
  if (followed.follower < 0) return;
  int message = 0;
  if (rank_in_world() == followed.late) {
    MPI_Send(&message, 1, MPI_INT, followed.follower, 0, MPI_COMM_WORLD);
  }
  if (rank_in_world() == followed.follower) {
    MPI_Recv(&message, 1, MPI_INT, followed.late, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

void train(int steps, int bytes, unsigned compute_us, unsigned late_us, const Followed& followed) {
  const int count = bytes / static_cast<int>(sizeof(float));
  std::vector<float> gradient(static_cast<std::size_t>(count));
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_in_world() % 2, rank_in_world(), &half);
  int halves = 0;
  MPI_Comm_size(half, &halves);
  std::vector<int> gathered(static_cast<std::size_t>(halves));
  const double start = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    usleep(compute_us + late_us);
    follow(followed);
    MPI_Allreduce(MPI_IN_PLACE, gradient.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(&step, 1, MPI_INT, gathered.data(), 1, MPI_INT, half);
    double loss = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  const double seconds = MPI_Wtime() - start;
  MPI_Comm_free(&half);
  if (rank_in_world() == 0) std::printf("%.6f\n", seconds);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc == 3 && std::strcmp(argv[1], "calls") == 0) {
    time_calls(std::atoi(argv[2]));
  } else if (argc == 2 && std::strcmp(argv[1], "orders") == 0) {
    use_in_orders();
  } else if (argc >= 4) {
    const bool is_late = argc >= 6 && std::atoi(argv[4]) == rank_in_world();
    train(std::atoi(argv[1]), std::atoi(argv[2]), static_cast<unsigned>(std::atoi(argv[3])),
          is_late ? static_cast<unsigned>(std::atoi(argv[5])) : 0,
          argc == 7 ? Followed{std::atoi(argv[4]), std::atoi(argv[6])} : Followed{});
  } else {
    std::fputs(
        "profiled_job STEPS BYTES COMPUTE_US [LATE_RANK LATE_US [FOLLOWER]] | calls N | orders\n",
        stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
}
