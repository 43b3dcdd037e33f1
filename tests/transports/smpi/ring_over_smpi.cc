// One all-reduce of ours over MPI's messages, as a program for SimGrid's SMPI: `smpirun ...
// ALGORITHM BYTES [TIMEOUT]` prints the simulated seconds until the last rank has the sum. The
// timeout, in seconds, is for one message. Exit status 3 if the sum is wrong, 4 if a rank gave up.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <mpi.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/mpi/mpi_endpoint.h"
#include "transports/mpi/mpi_session.h"
#include "transports/play/schedule_communicator.h"

int main(int argc, char** argv) {
  using namespace collbench;
  if (argc < 3 || argc > 4) return 2;
  const double timeout = argc == 4 ? std::atof(argv[3]) : std::numeric_limits<double>::infinity();
  auto endpoint = make_mpi_endpoint(Seconds{timeout});
  const int ranks = endpoint->ranks();
  const Rank rank = endpoint->rank();
  const auto communicator =
      make_schedule_communicator(make_schedule(argv[1], ranks), std::move(endpoint), argv[1]);
  const std::int64_t count = std::atol(argv[2]) / 4;
  std::vector<float> vector(static_cast<std::size_t>(count), static_cast<float>(rank + 1));
  const Region region{reinterpret_cast<std::byte*>(vector.data()), count, DataType::f32};
  MPI_Barrier(MPI_COMM_WORLD);
  // From the last arrival to the last completion, on the clock that all simulated ranks share.
  double arrival = communicator->now().count();
  try {
    communicator->all_reduce(region, region, ReduceOp::sum);
  } catch (const TransportError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
  double completion = communicator->now().count();
  double last_arrival = 0;
  double last_completion = 0;
  MPI_Reduce(&arrival, &last_arrival, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&completion, &last_completion, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  const std::vector<float> right(vector.size(), static_cast<float>(ranks * (ranks + 1) / 2));
  if (rank == 0) std::printf("%.17g\n", last_completion - last_arrival);
  end_mpi_session();
  return vector == right ? 0 : 3;
}
