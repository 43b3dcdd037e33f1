// What Open MPI really plays: its all-reduce functions, as the program's own symbols, which the
// dynamic linker prefers to the library's. Each notes that it was called and passes the call on.
//
// Open MPI has no other way to ask: rules that it cannot read are ignored in silence, and its
// messages about them are left out of builds without debugging. The names are those of 4.x; other
// libraries have no such functions, and these are never called then.
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>

#include "transports/mpi/mpi_choice.h"

namespace collbench {
namespace {

// Of the thread that calls MPI.
const char* last_name = nullptr;
unsigned last_segment = 0;
int depth_of_calls = 0;  // one that does not suit so few elements may call another

template <typename... More>
int pass_on(const char* name, const char* symbol, const void* in, void* out, int count,
            MPI_Datatype type, MPI_Op op, MPI_Comm comm, void* module, More... more) {
  using Function = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, void*, More...);
  // Looked up at each call: a call costs more, and there is one template for several symbols.
  const auto call = reinterpret_cast<Function>(dlsym(RTLD_NEXT, symbol));
  if (depth_of_calls++ == 0) {
    last_name = name;
    last_segment = 0;
    if constexpr (sizeof...(more) > 0) last_segment = (more, ...);
  }
  const int code = call(in, out, count, type, op, comm, module, more...);
  --depth_of_calls;
  return code;
}

}  // namespace

std::string last_played() {
  if (last_name == nullptr) return "";
  return last_segment == 0 ? last_name : fmt::format("{}:segment={}", last_name, last_segment);
}

std::string played_name(const MpiAlgorithm& algorithm) {
  std::string name = algorithm.name.substr(algorithm.name.find(':') + 1);
  name = name.substr(0, name.find(':'));
  return algorithm.segment.count == 0 ? name
                                      : fmt::format("{}:segment={}", name, algorithm.segment.count);
}

}  // namespace collbench

// __func__ of a C function is its symbol.
#define COLLBENCH_WATCHED(function, name)                                                        \
  extern "C" int ompi_coll_base_allreduce_intra_##function(const void* in, void* out, int count, \
                                                           MPI_Datatype type, MPI_Op op,         \
                                                           MPI_Comm comm, void* module) {        \
    return collbench::pass_on(name, __func__, in, out, count, type, op, comm, module);           \
  }

COLLBENCH_WATCHED(basic_linear, "linear")
COLLBENCH_WATCHED(nonoverlapping, "nonoverlapping")
COLLBENCH_WATCHED(recursivedoubling, "recursive-doubling")
COLLBENCH_WATCHED(ring, "ring")
COLLBENCH_WATCHED(redscat_allgather, "rabenseifner")

extern "C" int ompi_coll_base_allreduce_intra_ring_segmented(const void* in, void* out, int count,
                                                             MPI_Datatype type, MPI_Op op,
                                                             MPI_Comm comm, void* module,
                                                             unsigned segment) {
  return collbench::pass_on("segmented-ring", __func__, in, out, count, type, op, comm, module,
                            segment);
}
