// The same as profile_timed.cc for Fortran, whose arguments are all addresses.
#include "transports/mpi/profile/fortran_bindings.h"

namespace collbench {
namespace {

/// `error` is optional in mpi_f08.
void name_communicator(Buffer parent, Buffer made, Buffer error) {
  if (error != nullptr && *static_cast<Int>(error) != MPI_SUCCESS) return;
  Profiler::instance().made(comm_of(static_cast<Int>(parent)), comm_of(static_cast<Int>(made)));
}

}  // namespace

#define COLLBENCH_3_PARAMETERS (Buffer a, Buffer b, Buffer c)
#define COLLBENCH_3_ARGUMENTS (a, b, c)
#define COLLBENCH_4_PARAMETERS (Buffer a, Buffer b, Buffer c, Buffer d)
#define COLLBENCH_4_ARGUMENTS (a, b, c, d)
#define COLLBENCH_5_PARAMETERS (Buffer a, Buffer b, Buffer c, Buffer d, Buffer e)
#define COLLBENCH_5_ARGUMENTS (a, b, c, d, e)
#define COLLBENCH_6_PARAMETERS (Buffer a, Buffer b, Buffer c, Buffer d, Buffer e, Buffer f)
#define COLLBENCH_6_ARGUMENTS (a, b, c, d, e, f)
#define COLLBENCH_7_PARAMETERS \
  (Buffer a, Buffer b, Buffer c, Buffer d, Buffer e, Buffer f, Buffer g)
#define COLLBENCH_7_ARGUMENTS (a, b, c, d, e, f, g)
#define COLLBENCH_8_PARAMETERS \
  (Buffer a, Buffer b, Buffer c, Buffer d, Buffer e, Buffer f, Buffer g, Buffer h)
#define COLLBENCH_8_ARGUMENTS (a, b, c, d, e, f, g, h)
#define COLLBENCH_9_PARAMETERS \
  (Buffer a, Buffer b, Buffer c, Buffer d, Buffer e, Buffer f, Buffer g, Buffer h, Buffer i)
#define COLLBENCH_9_ARGUMENTS (a, b, c, d, e, f, g, h, i)
#define COLLBENCH_10_PARAMETERS                                                              \
  (Buffer a, Buffer b, Buffer c, Buffer d, Buffer e, Buffer f, Buffer g, Buffer h, Buffer i, \
   Buffer j)
#define COLLBENCH_10_ARGUMENTS (a, b, c, d, e, f, g, h, i, j)
#define COLLBENCH_11_PARAMETERS                                                              \
  (Buffer a, Buffer b, Buffer c, Buffer d, Buffer e, Buffer f, Buffer g, Buffer h, Buffer i, \
   Buffer j, Buffer k)
#define COLLBENCH_11_ARGUMENTS (a, b, c, d, e, f, g, h, i, j, k)
#define COLLBENCH_13_PARAMETERS                                                              \
  (Buffer a, Buffer b, Buffer c, Buffer d, Buffer e, Buffer f, Buffer g, Buffer h, Buffer i, \
   Buffer j, Buffer k, Buffer l, Buffer m)
#define COLLBENCH_13_ARGUMENTS (a, b, c, d, e, f, g, h, i, j, k, l, m)
#define COLLBENCH_TIMED(lower, upper, count)                                                      \
  COLLBENCH_BINDINGS(lower, upper, COLLBENCH_##count##_PARAMETERS, COLLBENCH_##count##_ARGUMENTS, \
                     const CallInScope call, )
// Of the communicator `a`; `comm` and `error` are the last two.
#define COLLBENCH_MAKER(lower, upper, count, comm, error)                                         \
  COLLBENCH_BINDINGS(lower, upper, COLLBENCH_##count##_PARAMETERS, COLLBENCH_##count##_ARGUMENTS, \
                     const CallInScope call, name_communicator(a, comm, error))

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
