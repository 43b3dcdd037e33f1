// MPI's functions for C: each records the call and does what the program's MPI does.
#include <mpi.h>

#include "transports/mpi/profile/profiler.h"

using collbench::CallInScope;
using collbench::MpiHandle;
using collbench::MpiOp;
using collbench::ProfiledKind;
using collbench::Profiler;

// What is recorded sees the parameters.
#define COLLBENCH_COLLECTIVE(name, parameters, arguments, ...)                               \
  extern "C" int MPI_##name parameters {                                                     \
    static const auto real = collbench::mpi_function<decltype(&PMPI_##name)>("PMPI_" #name); \
    const CallInScope call(__VA_ARGS__);                                                     \
    return real arguments;                                                                   \
  }
#define COLLBENCH_LIST(...) __VA_ARGS__
// The call that blocks and `later`, which returns a request.
#define COLLBENCH_BOTH(name, later, parameters, arguments, kind, vector, op)                     \
  COLLBENCH_COLLECTIVE(name, parameters, arguments, ProfiledKind::kind, (MpiHandle)comm, vector, \
                       op)                                                                       \
  COLLBENCH_COLLECTIVE(later, (COLLBENCH_LIST parameters, MPI_Request * request),                \
                       (COLLBENCH_LIST arguments, request), ProfiledKind::kind, (MpiHandle)comm, \
                       vector, op, true)
#define COLLBENCH_ONE \
  { count, nullptr, (MpiHandle)type }
#define COLLBENCH_EACH \
  { 0, counts, (MpiHandle)type }
#define COLLBENCH_OP Profiler::op_of((MpiHandle)op)

COLLBENCH_BOTH(Allreduce, Iallreduce,
               (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm),
               (send, receive, count, type, op, comm), all_reduce, COLLBENCH_ONE, COLLBENCH_OP)
COLLBENCH_BOTH(Reduce, Ireduce,
               (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm),
               (send, receive, count, type, op, root, comm), reduce, COLLBENCH_ONE, COLLBENCH_OP)
COLLBENCH_BOTH(Reduce_scatter, Ireduce_scatter,
               (const void* send, void* receive, const int* counts, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm),
               (send, receive, counts, type, op, comm), reduce_scatter, COLLBENCH_EACH,
               COLLBENCH_OP)
COLLBENCH_BOTH(Reduce_scatter_block, Ireduce_scatter_block,
               (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm),
               (send, receive, count, type, op, comm), reduce_scatter, COLLBENCH_ONE, COLLBENCH_OP)

// The receiving side says what there is: the sending one may be MPI_IN_PLACE.
COLLBENCH_BOTH(Allgather, Iallgather,
               (const void* send, int sent, MPI_Datatype sent_type, void* receive, int count,
                MPI_Datatype type, MPI_Comm comm),
               (send, sent, sent_type, receive, count, type, comm), all_gather, COLLBENCH_ONE,
               MpiOp::none)
COLLBENCH_BOTH(Allgatherv, Iallgatherv,
               (const void* send, int sent, MPI_Datatype sent_type, void* receive,
                const int* counts, const int* places, MPI_Datatype type, MPI_Comm comm),
               (send, sent, sent_type, receive, counts, places, type, comm), all_gather,
               COLLBENCH_EACH, MpiOp::none)
COLLBENCH_BOTH(Bcast, Ibcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
               (buffer, count, type, root, comm), broadcast, COLLBENCH_ONE, MpiOp::none)
COLLBENCH_COLLECTIVE(Barrier, (MPI_Comm comm), (comm), ProfiledKind::barrier, (MpiHandle)comm, {})

extern "C" int MPI_Init(int* count, char*** words) {
  static const auto real = collbench::mpi_function<decltype(&PMPI_Init)>("PMPI_Init");
  const int code = real(count, words);
  Profiler::instance().begin();
  return code;
}

extern "C" int MPI_Init_thread(int* count, char*** words, int required, int* provided) {
  static const auto real = collbench::mpi_function<decltype(&PMPI_Init_thread)>("PMPI_Init_thread");
  const int code = real(count, words, required, provided);
  Profiler::instance().begin();
  return code;
}

extern "C" int MPI_Finalize() {
  static const auto real = collbench::mpi_function<decltype(&PMPI_Finalize)>("PMPI_Finalize");
  Profiler::instance().finish();
  return real();
}
