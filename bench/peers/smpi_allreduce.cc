// One simulated MPI_Allreduce (float32 sum) by SMPI: simulated time from the common start of all
// ranks to the end of the last one.
//
//   smpicxx -O2 smpi_allreduce.cc -o smpi_allreduce
//   smpirun -np N -platform P.xml -hostfile H ... ./smpi_allreduce BYTES
//
// Buffers are SMPI_SHARED_MALLOC's, so all ranks fold into the same memory: sizes are simulated,
// the values are not looked at. smpi_compare.py has the settings. Prints the seconds.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 2 || std::atol(argv[1]) < 4) {
    std::fprintf(stderr, "usage: smpi_allreduce BYTES, a multiple of 4\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const long bytes = std::atol(argv[1]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto* const input = static_cast<float*>(SMPI_SHARED_MALLOC(static_cast<std::size_t>(bytes)));
  auto* const output = static_cast<float*>(SMPI_SHARED_MALLOC(static_cast<std::size_t>(bytes)));

  // All ranks begin at one simulated second, after whatever MPI_Init sends.
  timespec pause{0, std::lround((1 - MPI_Wtime()) * 1e9)};
  smpi_nanosleep(&pause, nullptr);
  const double begin = MPI_Wtime();
  MPI_Allreduce(input, output, static_cast<int>(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  const double end = MPI_Wtime();

  double first = 0;
  double last = 0;
  MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%.12g\n", last - first);
  SMPI_SHARED_FREE(input);
  SMPI_SHARED_FREE(output);
  MPI_Finalize();
  return 0;
}
