// The same for Fortran: mpif.h and the modules mpi and, with Open MPI, mpi_f08. The program's
// arguments reach its MPI as they are (MPI_IN_PLACE is an address there), and only communicator,
// type and operator are translated, for what is recorded.
#include <mpi.h>

#include "transports/mpi/profile/profiler.h"

// Open MPI's handles of C are looked up by those of Fortran, in others both are one number.
#ifdef OPEN_MPI
#define COLLBENCH_FROM_FORTRAN(Kind, number) \
  looked_up<decltype(&PMPI_##Kind##_f2c)>("PMPI_" #Kind "_f2c", number)
#else
#define COLLBENCH_FROM_FORTRAN(Kind, number) MPI_##Kind##_f2c(number)
#endif

namespace collbench {
namespace {

using Int = const MPI_Fint*;
using Buffer = void*;
using Out = MPI_Fint*;

template <typename Function>
[[maybe_unused]] auto looked_up(const char* name, MPI_Fint number) {
  static const auto function = mpi_function<Function>(name);
  return function(number);
}

MpiHandle comm_of(Int comm) { return (MpiHandle)COLLBENCH_FROM_FORTRAN(Comm, *comm); }

MpiOp op_of(Int op) { return Profiler::op_of((MpiHandle)COLLBENCH_FROM_FORTRAN(Op, *op)); }
ProfiledVector one(Int count, Int type) {
  return {*count, nullptr, (MpiHandle)COLLBENCH_FROM_FORTRAN(Type, *type)};
}
ProfiledVector each(Int counts, Int type) {
  return {0, counts, (MpiHandle)COLLBENCH_FROM_FORTRAN(Type, *type)};
}

/// `error` is optional in mpi_f08.
void name_communicator(Buffer parent, Buffer made, Buffer error) {
  if (error != nullptr && *static_cast<Int>(error) != MPI_SUCCESS) return;
  Profiler::instance().made(comm_of(static_cast<Int>(parent)), comm_of(static_cast<Int>(made)));
}

}  // namespace
}  // namespace collbench

// Compilers write the name of a binding in several ways, and mpi_f08 has its own. `before` and
// `after` stand round the call of the program's MPI.
#define COLLBENCH_BINDING(symbol, parameters, arguments, before, after)     \
  extern "C" void symbol parameters {                                       \
    static const auto real = mpi_function<void(*) parameters>("p" #symbol); \
    before;                                                                 \
    real arguments;                                                         \
    after;                                                                  \
  }
#define COLLBENCH_UPPER(symbol, parameters, arguments, before, after)       \
  extern "C" void symbol parameters {                                       \
    static const auto real = mpi_function<void(*) parameters>("P" #symbol); \
    before;                                                                 \
    real arguments;                                                         \
    after;                                                                  \
  }
#ifdef OPEN_MPI
#define COLLBENCH_F08(lower, parameters, arguments, before, after) \
  COLLBENCH_BINDING(lower##_f08_, parameters, arguments, before, after)
#else
#define COLLBENCH_F08(lower, parameters, arguments, before, after)
#endif
#define COLLBENCH_BINDINGS(lower, upper, parameters, arguments, before, after) \
  COLLBENCH_BINDING(lower##_, parameters, arguments, before, after)            \
  COLLBENCH_BINDING(lower##__, parameters, arguments, before, after)           \
  COLLBENCH_F08(lower, parameters, arguments, before, after)                   \
  COLLBENCH_UPPER(upper, parameters, arguments, before, after)
#define COLLBENCH_RECORDED(...) const CallInScope call(__VA_ARGS__)
#define COLLBENCH_LIST(...) __VA_ARGS__
// The call that blocks, and the one of MPI_I... that returns a request.
#define COLLBENCH_BOTH(lower, upper, parameters, arguments, kind, vector, op)             \
  COLLBENCH_BINDINGS(mpi_##lower, MPI_##upper, (COLLBENCH_LIST parameters, Out error),    \
                     (COLLBENCH_LIST arguments, error),                                   \
                     COLLBENCH_RECORDED(ProfiledKind::kind, comm_of(comm), vector, op), ) \
  COLLBENCH_BINDINGS(mpi_i##lower, MPI_I##upper,                                          \
                     (COLLBENCH_LIST parameters, Out request, Out error),                 \
                     (COLLBENCH_LIST arguments, request, error),                          \
                     COLLBENCH_RECORDED(ProfiledKind::kind, comm_of(comm), vector, op, true), )

namespace collbench {

COLLBENCH_BOTH(allreduce, ALLREDUCE,
               (Buffer send, Buffer receive, Int count, Int type, Int op, Int comm),
               (send, receive, count, type, op, comm), all_reduce, one(count, type), op_of(op))
COLLBENCH_BOTH(reduce, REDUCE,
               (Buffer send, Buffer receive, Int count, Int type, Int op, Int root, Int comm),
               (send, receive, count, type, op, root, comm), reduce, one(count, type), op_of(op))
COLLBENCH_BOTH(reduce_scatter, REDUCE_SCATTER,
               (Buffer send, Buffer receive, Int counts, Int type, Int op, Int comm),
               (send, receive, counts, type, op, comm), reduce_scatter, each(counts, type),
               op_of(op))
COLLBENCH_BOTH(reduce_scatter_block, REDUCE_SCATTER_BLOCK,
               (Buffer send, Buffer receive, Int count, Int type, Int op, Int comm),
               (send, receive, count, type, op, comm), reduce_scatter, one(count, type), op_of(op))

// The receiving side says what there is: the sending one may be MPI_IN_PLACE.
COLLBENCH_BOTH(allgather, ALLGATHER,
               (Buffer send, Int sent, Int sent_type, Buffer receive, Int count, Int type,
                Int comm),
               (send, sent, sent_type, receive, count, type, comm), all_gather, one(count, type),
               MpiOp::none)
COLLBENCH_BOTH(allgatherv, ALLGATHERV,
               (Buffer send, Int sent, Int sent_type, Buffer receive, Int counts, Int places,
                Int type, Int comm),
               (send, sent, sent_type, receive, counts, places, type, comm), all_gather,
               each(counts, type), MpiOp::none)
COLLBENCH_BOTH(bcast, BCAST, (Buffer buffer, Int count, Int type, Int root, Int comm),
               (buffer, count, type, root, comm), broadcast, one(count, type), MpiOp::none)
COLLBENCH_BINDINGS(mpi_barrier, MPI_BARRIER, (Int comm, Out error), (comm, error),
                   COLLBENCH_RECORDED(ProfiledKind::barrier, comm_of(comm), {}), )
COLLBENCH_BINDINGS(mpi_init, MPI_INIT, (Out error), (error), , Profiler::instance().begin())
COLLBENCH_BINDINGS(mpi_init_thread, MPI_INIT_THREAD, (Int required, Out provided, Out error),
                   (required, provided, error), , Profiler::instance().begin())
COLLBENCH_BINDINGS(mpi_finalize, MPI_FINALIZE, (Out error), (error),
                   Profiler::instance().finish(), )

}  // namespace collbench

// Only timed, or makers of communicators: all arguments are addresses.
#define COLLBENCH_3_PARAMETERS Buffer a, Buffer b, Buffer c
#define COLLBENCH_4_PARAMETERS COLLBENCH_3_PARAMETERS, Buffer d
#define COLLBENCH_5_PARAMETERS COLLBENCH_4_PARAMETERS, Buffer e
#define COLLBENCH_6_PARAMETERS COLLBENCH_5_PARAMETERS, Buffer f
#define COLLBENCH_7_PARAMETERS COLLBENCH_6_PARAMETERS, Buffer g
#define COLLBENCH_8_PARAMETERS COLLBENCH_7_PARAMETERS, Buffer h
#define COLLBENCH_9_PARAMETERS COLLBENCH_8_PARAMETERS, Buffer i
#define COLLBENCH_10_PARAMETERS COLLBENCH_9_PARAMETERS, Buffer j
#define COLLBENCH_11_PARAMETERS COLLBENCH_10_PARAMETERS, Buffer k
#define COLLBENCH_12_PARAMETERS COLLBENCH_11_PARAMETERS, Buffer l
#define COLLBENCH_13_PARAMETERS COLLBENCH_12_PARAMETERS, Buffer m
#define COLLBENCH_3_ARGUMENTS a, b, c
#define COLLBENCH_4_ARGUMENTS COLLBENCH_3_ARGUMENTS, d
#define COLLBENCH_5_ARGUMENTS COLLBENCH_4_ARGUMENTS, e
#define COLLBENCH_6_ARGUMENTS COLLBENCH_5_ARGUMENTS, f
#define COLLBENCH_7_ARGUMENTS COLLBENCH_6_ARGUMENTS, g
#define COLLBENCH_8_ARGUMENTS COLLBENCH_7_ARGUMENTS, h
#define COLLBENCH_9_ARGUMENTS COLLBENCH_8_ARGUMENTS, i
#define COLLBENCH_10_ARGUMENTS COLLBENCH_9_ARGUMENTS, j
#define COLLBENCH_11_ARGUMENTS COLLBENCH_10_ARGUMENTS, k
#define COLLBENCH_12_ARGUMENTS COLLBENCH_11_ARGUMENTS, l
#define COLLBENCH_13_ARGUMENTS COLLBENCH_12_ARGUMENTS, m
#define COLLBENCH_TIMED(lower, upper, count)                         \
  COLLBENCH_BINDINGS(lower, upper, (COLLBENCH_##count##_PARAMETERS), \
                     (COLLBENCH_##count##_ARGUMENTS), const CallInScope call, )
// Of the communicator `a`; `comm` and `error` are the last two.
#define COLLBENCH_MAKER(lower, upper, count, comm, error)                     \
  COLLBENCH_BINDINGS(lower, upper, (COLLBENCH_##count##_PARAMETERS),          \
                     (COLLBENCH_##count##_ARGUMENTS), const CallInScope call, \
                     name_communicator(a, comm, error))

namespace collbench {

COLLBENCH_TIMED(mpi_wait, MPI_WAIT, 3)
COLLBENCH_TIMED(mpi_waitall, MPI_WAITALL, 4)
COLLBENCH_TIMED(mpi_waitany, MPI_WAITANY, 5)
COLLBENCH_TIMED(mpi_waitsome, MPI_WAITSOME, 6)
COLLBENCH_TIMED(mpi_test, MPI_TEST, 4)
COLLBENCH_TIMED(mpi_testall, MPI_TESTALL, 5)
COLLBENCH_TIMED(mpi_testany, MPI_TESTANY, 6)
COLLBENCH_TIMED(mpi_testsome, MPI_TESTSOME, 6)
COLLBENCH_TIMED(mpi_send, MPI_SEND, 7)
COLLBENCH_TIMED(mpi_ssend, MPI_SSEND, 7)
COLLBENCH_TIMED(mpi_rsend, MPI_RSEND, 7)
COLLBENCH_TIMED(mpi_bsend, MPI_BSEND, 7)
COLLBENCH_TIMED(mpi_recv, MPI_RECV, 8)
COLLBENCH_TIMED(mpi_sendrecv, MPI_SENDRECV, 13)
COLLBENCH_TIMED(mpi_sendrecv_replace, MPI_SENDRECV_REPLACE, 10)
COLLBENCH_TIMED(mpi_probe, MPI_PROBE, 5)
COLLBENCH_TIMED(mpi_iprobe, MPI_IPROBE, 6)
COLLBENCH_TIMED(mpi_mprobe, MPI_MPROBE, 6)
COLLBENCH_TIMED(mpi_mrecv, MPI_MRECV, 6)
COLLBENCH_TIMED(mpi_alltoall, MPI_ALLTOALL, 8)
COLLBENCH_TIMED(mpi_alltoallv, MPI_ALLTOALLV, 10)
COLLBENCH_TIMED(mpi_alltoallw, MPI_ALLTOALLW, 10)
COLLBENCH_TIMED(mpi_gather, MPI_GATHER, 9)
COLLBENCH_TIMED(mpi_gatherv, MPI_GATHERV, 10)
COLLBENCH_TIMED(mpi_scatter, MPI_SCATTER, 9)
COLLBENCH_TIMED(mpi_scatterv, MPI_SCATTERV, 10)
COLLBENCH_TIMED(mpi_scan, MPI_SCAN, 7)
COLLBENCH_TIMED(mpi_exscan, MPI_EXSCAN, 7)
COLLBENCH_TIMED(mpi_neighbor_allgather, MPI_NEIGHBOR_ALLGATHER, 8)
COLLBENCH_TIMED(mpi_neighbor_alltoall, MPI_NEIGHBOR_ALLTOALL, 8)
COLLBENCH_TIMED(mpi_neighbor_alltoallv, MPI_NEIGHBOR_ALLTOALLV, 10)
COLLBENCH_TIMED(mpi_win_fence, MPI_WIN_FENCE, 3)
COLLBENCH_TIMED(mpi_win_unlock, MPI_WIN_UNLOCK, 3)

COLLBENCH_MAKER(mpi_comm_dup, MPI_COMM_DUP, 3, b, c)
COLLBENCH_MAKER(mpi_comm_dup_with_info, MPI_COMM_DUP_WITH_INFO, 4, c, d)
COLLBENCH_MAKER(mpi_comm_split, MPI_COMM_SPLIT, 5, d, e)
COLLBENCH_MAKER(mpi_comm_split_type, MPI_COMM_SPLIT_TYPE, 6, e, f)
COLLBENCH_MAKER(mpi_comm_create, MPI_COMM_CREATE, 4, c, d)
COLLBENCH_MAKER(mpi_comm_create_group, MPI_COMM_CREATE_GROUP, 5, d, e)
COLLBENCH_MAKER(mpi_cart_create, MPI_CART_CREATE, 7, f, g)
COLLBENCH_MAKER(mpi_cart_sub, MPI_CART_SUB, 4, c, d)
COLLBENCH_MAKER(mpi_graph_create, MPI_GRAPH_CREATE, 7, f, g)
COLLBENCH_MAKER(mpi_dist_graph_create, MPI_DIST_GRAPH_CREATE, 10, i, j)
COLLBENCH_MAKER(mpi_dist_graph_create_adjacent, MPI_DIST_GRAPH_CREATE_ADJACENT, 11, j, k)
COLLBENCH_MAKER(mpi_intercomm_merge, MPI_INTERCOMM_MERGE, 4, c, d)

}  // namespace collbench
