// Shows which all-reduce Open MPI really plays, for checking files of dynamic rules.
//
// A library that is loaded before Open MPI's own and stands in for its six all-reduce functions:
// each says once per size on rank 0 that it was called and passes the call on. bench/peers/
// ompi_rules.py builds and runs it with this file's other half, a program that calls MPI_Allreduce
// for each size of its arguments (compiled with -DPROGRAM).
#ifdef PROGRAM
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; ++i) {
    const auto count = static_cast<int>(std::atol(argv[i]) / 4);
    std::vector<float> in(static_cast<std::size_t>(count), static_cast<float>(rank + 1));
    std::vector<float> out(in.size());
    double best = 1e9;
    for (int repeat = 0; repeat < 15; ++repeat) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      const double took = MPI_Wtime() - begin;
      best = took < best ? took : best;
    }
    for (const float value : out) {
      wrong += value != static_cast<float>(ranks * (ranks + 1) / 2) ? 1 : 0;
    }
    if (rank == 0)
      std::printf("%s bytes: best of 15 %.1f us, %d wrong\n", argv[i], best * 1e6, wrong);
    std::fflush(stdout);
  }
  MPI_Finalize();
  return wrong == 0 ? 0 : 3;
}
#else
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <mpi.h>

namespace {

bool on_rank_zero() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank != nullptr && std::strcmp(rank, "0") == 0;
}

void note(const char* name, int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  static std::set<std::pair<std::string, long>> seen;
  const long bytes = static_cast<long>(count) * size;
  // The barrier of the program and Open MPI's own start use small reductions of integers.
  if (type != MPI_FLOAT || !on_rank_zero() || !seen.insert({name, bytes}).second) return;
  std::printf("%ld bytes: %s\n", bytes, name);
  std::fflush(stdout);
}

// What Open MPI calls its functions, and what `note` calls them.
const std::string prefix = "ompi_coll_base_allreduce_intra_";

template <typename... More>
int pass_on(const char* name, const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
            MPI_Comm comm, void* module, More... more) {
  using Function = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, void*, More...);
  note(name, count, type);
  const auto call = reinterpret_cast<Function>(dlsym(RTLD_NEXT, (prefix + name).c_str()));
  return call(in, out, count, type, op, comm, module, more...);
}

}  // namespace

#define PLAIN(name)                                                                          \
  extern "C" int ompi_coll_base_allreduce_intra_##name(const void* in, void* out, int count, \
                                                       MPI_Datatype type, MPI_Op op,         \
                                                       MPI_Comm comm, void* module) {        \
    return pass_on(#name, in, out, count, type, op, comm, module);                           \
  }
PLAIN(basic_linear)
PLAIN(nonoverlapping)
PLAIN(recursivedoubling)
PLAIN(ring)
PLAIN(redscat_allgather)

extern "C" int ompi_coll_base_allreduce_intra_ring_segmented(const void* in, void* out, int count,
                                                             MPI_Datatype type, MPI_Op op,
                                                             MPI_Comm comm, void* module,
                                                             unsigned segment) {
  return pass_on("ring_segmented", in, out, count, type, op, comm, module, segment);
}
#endif
