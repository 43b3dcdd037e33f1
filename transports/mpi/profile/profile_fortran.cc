// The same for Fortran: mpif.h and the modules mpi and, with Open MPI, mpi_f08. The program's
// arguments reach its MPI as they are (MPI_IN_PLACE is an address there), and only communicator,
// type and operator are translated, for what is recorded.
#include "transports/mpi/profile/fortran_bindings.h"

namespace collbench {
namespace {

MpiOp op_of(Int op) { return Profiler::op_of((MpiHandle)COLLBENCH_FROM_FORTRAN(Op, *op)); }
ProfiledVector one(Int count, Int type) {
  return {*count, nullptr, (MpiHandle)COLLBENCH_FROM_FORTRAN(Type, *type)};
}
ProfiledVector each(Int counts, Int type) {
  return {0, counts, (MpiHandle)COLLBENCH_FROM_FORTRAN(Type, *type)};
}

}  // namespace

#define COLLBENCH_RECORDED(...) const CallInScope call(__VA_ARGS__)

COLLBENCH_BINDINGS(mpi_allreduce, MPI_ALLREDUCE,
                   (Buffer send, Buffer receive, Int count, Int type, Int op, Int comm, Out error),
                   (send, receive, count, type, op, comm, error),
                   COLLBENCH_RECORDED(ProfiledKind::all_reduce, comm_of(comm), one(count, type),
                                      op_of(op)), )
COLLBENCH_BINDINGS(mpi_iallreduce, MPI_IALLREDUCE,
                   (Buffer send, Buffer receive, Int count, Int type, Int op, Int comm, Out request,
                    Out error),
                   (send, receive, count, type, op, comm, request, error),
                   COLLBENCH_RECORDED(ProfiledKind::all_reduce, comm_of(comm), one(count, type),
                                      op_of(op), true), )
COLLBENCH_BINDINGS(mpi_reduce, MPI_REDUCE,
                   (Buffer send, Buffer receive, Int count, Int type, Int op, Int root, Int comm,
                    Out error),
                   (send, receive, count, type, op, root, comm, error),
                   COLLBENCH_RECORDED(ProfiledKind::reduce, comm_of(comm), one(count, type),
                                      op_of(op)), )
COLLBENCH_BINDINGS(mpi_ireduce, MPI_IREDUCE,
                   (Buffer send, Buffer receive, Int count, Int type, Int op, Int root, Int comm,
                    Out request, Out error),
                   (send, receive, count, type, op, root, comm, request, error),
                   COLLBENCH_RECORDED(ProfiledKind::reduce, comm_of(comm), one(count, type),
                                      op_of(op), true), )
COLLBENCH_BINDINGS(mpi_reduce_scatter, MPI_REDUCE_SCATTER,
                   (Buffer send, Buffer receive, Int counts, Int type, Int op, Int comm, Out error),
                   (send, receive, counts, type, op, comm, error),
                   COLLBENCH_RECORDED(ProfiledKind::reduce_scatter, comm_of(comm),
                                      each(counts, type), op_of(op)), )
COLLBENCH_BINDINGS(mpi_ireduce_scatter, MPI_IREDUCE_SCATTER,
                   (Buffer send, Buffer receive, Int counts, Int type, Int op, Int comm,
                    Out request, Out error),
                   (send, receive, counts, type, op, comm, request, error),
                   COLLBENCH_RECORDED(ProfiledKind::reduce_scatter, comm_of(comm),
                                      each(counts, type), op_of(op), true), )
COLLBENCH_BINDINGS(mpi_reduce_scatter_block, MPI_REDUCE_SCATTER_BLOCK,
                   (Buffer send, Buffer receive, Int count, Int type, Int op, Int comm, Out error),
                   (send, receive, count, type, op, comm, error),
                   COLLBENCH_RECORDED(ProfiledKind::reduce_scatter, comm_of(comm), one(count, type),
                                      op_of(op)), )
COLLBENCH_BINDINGS(mpi_ireduce_scatter_block, MPI_IREDUCE_SCATTER_BLOCK,
                   (Buffer send, Buffer receive, Int count, Int type, Int op, Int comm, Out request,
                    Out error),
                   (send, receive, count, type, op, comm, request, error),
                   COLLBENCH_RECORDED(ProfiledKind::reduce_scatter, comm_of(comm), one(count, type),
                                      op_of(op), true), )
}  // namespace collbench

// The receiving side says what there is: the sending one may be MPI_IN_PLACE.
namespace collbench {

COLLBENCH_BINDINGS(mpi_allgather, MPI_ALLGATHER,
                   (Buffer send, Int sent, Int sent_type, Buffer receive, Int count, Int type,
                    Int comm, Out error),
                   (send, sent, sent_type, receive, count, type, comm, error),
                   COLLBENCH_RECORDED(ProfiledKind::all_gather, comm_of(comm), one(count, type)), )
COLLBENCH_BINDINGS(mpi_iallgather, MPI_IALLGATHER,
                   (Buffer send, Int sent, Int sent_type, Buffer receive, Int count, Int type,
                    Int comm, Out request, Out error),
                   (send, sent, sent_type, receive, count, type, comm, request, error),
                   COLLBENCH_RECORDED(ProfiledKind::all_gather, comm_of(comm), one(count, type),
                                      MpiOp::none, true), )
COLLBENCH_BINDINGS(mpi_allgatherv, MPI_ALLGATHERV,
                   (Buffer send, Int sent, Int sent_type, Buffer receive, Int counts, Int places,
                    Int type, Int comm, Out error),
                   (send, sent, sent_type, receive, counts, places, type, comm, error),
                   COLLBENCH_RECORDED(ProfiledKind::all_gather, comm_of(comm),
                                      each(counts, type)), )
COLLBENCH_BINDINGS(mpi_iallgatherv, MPI_IALLGATHERV,
                   (Buffer send, Int sent, Int sent_type, Buffer receive, Int counts, Int places,
                    Int type, Int comm, Out request, Out error),
                   (send, sent, sent_type, receive, counts, places, type, comm, request, error),
                   COLLBENCH_RECORDED(ProfiledKind::all_gather, comm_of(comm), each(counts, type),
                                      MpiOp::none, true), )
COLLBENCH_BINDINGS(mpi_bcast, MPI_BCAST,
                   (Buffer buffer, Int count, Int type, Int root, Int comm, Out error),
                   (buffer, count, type, root, comm, error),
                   COLLBENCH_RECORDED(ProfiledKind::broadcast, comm_of(comm), one(count, type)), )
COLLBENCH_BINDINGS(mpi_ibcast, MPI_IBCAST,
                   (Buffer buffer, Int count, Int type, Int root, Int comm, Out request, Out error),
                   (buffer, count, type, root, comm, request, error),
                   COLLBENCH_RECORDED(ProfiledKind::broadcast, comm_of(comm), one(count, type),
                                      MpiOp::none, true), )
COLLBENCH_BINDINGS(mpi_barrier, MPI_BARRIER, (Int comm, Out error), (comm, error),
                   COLLBENCH_RECORDED(ProfiledKind::barrier, comm_of(comm), {}), )
COLLBENCH_BINDINGS(mpi_init, MPI_INIT, (Out error), (error), , Profiler::instance().begin())
COLLBENCH_BINDINGS(mpi_init_thread, MPI_INIT_THREAD, (Int required, Out provided, Out error),
                   (required, provided, error), , Profiler::instance().begin())
COLLBENCH_BINDINGS(mpi_finalize, MPI_FINALIZE, (Out error), (error),
                   Profiler::instance().finish(), )

}  // namespace collbench
