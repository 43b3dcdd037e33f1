// MPI's functions for C: each records the call and does what the program's MPI does.
#include <mpi.h>

#include "transports/mpi/profile/profiler.h"

using collbench::CallInScope;
using collbench::MpiHandle;
using collbench::ProfiledKind;
using collbench::Profiler;

// Expressions in `recorded` see the parameters.
#define COLLBENCH_COLLECTIVE(name, parameters, arguments, recorded)                          \
  extern "C" int MPI_##name parameters {                                                     \
    static const auto real = collbench::mpi_function<decltype(&PMPI_##name)>("PMPI_" #name); \
    const CallInScope call recorded;                                                         \
    return real arguments;                                                                   \
  }
#define COLLBENCH_OP Profiler::op_of((MpiHandle)op)

COLLBENCH_COLLECTIVE(Allreduce,
                     (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm),
                     (send, receive, count, type, op, comm),
                     (ProfiledKind::all_reduce, (MpiHandle)comm, {count, nullptr, (MpiHandle)type},
                      COLLBENCH_OP))
COLLBENCH_COLLECTIVE(Iallreduce,
                     (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, MPI_Request* request),
                     (send, receive, count, type, op, comm, request),
                     (ProfiledKind::all_reduce, (MpiHandle)comm, {count, nullptr, (MpiHandle)type},
                      COLLBENCH_OP, true))
COLLBENCH_COLLECTIVE(Reduce,
                     (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                      int root, MPI_Comm comm),
                     (send, receive, count, type, op, root, comm),
                     (ProfiledKind::reduce, (MpiHandle)comm, {count, nullptr, (MpiHandle)type},
                      COLLBENCH_OP))
COLLBENCH_COLLECTIVE(Ireduce,
                     (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                      int root, MPI_Comm comm, MPI_Request* request),
                     (send, receive, count, type, op, root, comm, request),
                     (ProfiledKind::reduce, (MpiHandle)comm, {count, nullptr, (MpiHandle)type},
                      COLLBENCH_OP, true))
COLLBENCH_COLLECTIVE(Reduce_scatter,
                     (const void* send, void* receive, const int* counts, MPI_Datatype type,
                      MPI_Op op, MPI_Comm comm),
                     (send, receive, counts, type, op, comm),
                     (ProfiledKind::reduce_scatter, (MpiHandle)comm, {0, counts, (MpiHandle)type},
                      COLLBENCH_OP))
COLLBENCH_COLLECTIVE(Ireduce_scatter,
                     (const void* send, void* receive, const int* counts, MPI_Datatype type,
                      MPI_Op op, MPI_Comm comm, MPI_Request* request),
                     (send, receive, counts, type, op, comm, request),
                     (ProfiledKind::reduce_scatter, (MpiHandle)comm, {0, counts, (MpiHandle)type},
                      COLLBENCH_OP, true))
COLLBENCH_COLLECTIVE(Reduce_scatter_block,
                     (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm),
                     (send, receive, count, type, op, comm),
                     (ProfiledKind::reduce_scatter, (MpiHandle)comm,
                      {count, nullptr, (MpiHandle)type}, COLLBENCH_OP))
COLLBENCH_COLLECTIVE(Ireduce_scatter_block,
                     (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, MPI_Request* request),
                     (send, receive, count, type, op, comm, request),
                     (ProfiledKind::reduce_scatter, (MpiHandle)comm,
                      {count, nullptr, (MpiHandle)type}, COLLBENCH_OP, true))

// The receiving side says what there is: the sending one may be MPI_IN_PLACE.
COLLBENCH_COLLECTIVE(Allgather,
                     (const void* send, int sent, MPI_Datatype sent_type, void* receive, int count,
                      MPI_Datatype type, MPI_Comm comm),
                     (send, sent, sent_type, receive, count, type, comm),
                     (ProfiledKind::all_gather, (MpiHandle)comm, {count, nullptr, (MpiHandle)type}))
COLLBENCH_COLLECTIVE(Iallgather,
                     (const void* send, int sent, MPI_Datatype sent_type, void* receive, int count,
                      MPI_Datatype type, MPI_Comm comm, MPI_Request* request),
                     (send, sent, sent_type, receive, count, type, comm, request),
                     (ProfiledKind::all_gather, (MpiHandle)comm, {count, nullptr, (MpiHandle)type},
                      collbench::MpiOp::none, true))
COLLBENCH_COLLECTIVE(Allgatherv,
                     (const void* send, int sent, MPI_Datatype sent_type, void* receive,
                      const int* counts, const int* places, MPI_Datatype type, MPI_Comm comm),
                     (send, sent, sent_type, receive, counts, places, type, comm),
                     (ProfiledKind::all_gather, (MpiHandle)comm, {0, counts, (MpiHandle)type}))
COLLBENCH_COLLECTIVE(Iallgatherv,
                     (const void* send, int sent, MPI_Datatype sent_type, void* receive,
                      const int* counts, const int* places, MPI_Datatype type, MPI_Comm comm,
                      MPI_Request* request),
                     (send, sent, sent_type, receive, counts, places, type, comm, request),
                     (ProfiledKind::all_gather, (MpiHandle)comm, {0, counts, (MpiHandle)type},
                      collbench::MpiOp::none, true))
COLLBENCH_COLLECTIVE(Bcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
                     (buffer, count, type, root, comm),
                     (ProfiledKind::broadcast, (MpiHandle)comm, {count, nullptr, (MpiHandle)type}))
COLLBENCH_COLLECTIVE(Ibcast,
                     (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      MPI_Request* request),
                     (buffer, count, type, root, comm, request),
                     (ProfiledKind::broadcast, (MpiHandle)comm, {count, nullptr, (MpiHandle)type},
                      collbench::MpiOp::none, true))
COLLBENCH_COLLECTIVE(Barrier, (MPI_Comm comm), (comm), (ProfiledKind::barrier, (MpiHandle)comm, {}))

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
