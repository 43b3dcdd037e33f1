// A latency test in the manner of the OSU Micro-Benchmarks: the mean time of MPI_Allreduce by size,
// as their table. For bench/studies/ab_commands.py.
//
//   allreduce_table ITERATIONS BYTES...
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) std::puts("\n# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)");
  for (int i = 2; i < argc; ++i) {
    const int bytes = std::atoi(argv[i]);
    const int iterations = std::atoi(argv[1]);
    const int count = bytes / static_cast<int>(sizeof(float));
    std::vector<float> in(static_cast<std::size_t>(count));
    std::vector<float> out(in.size());
    double us = 0;
    for (int round = -iterations / 10; round < iterations; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (round >= 0) us += (MPI_Wtime() - start) * 1e6;
    }
    us /= iterations;
    double sum = 0;
    MPI_Reduce(&us, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%-10d %16.2f\n", bytes, sum / ranks);
  }
  MPI_Finalize();
}
