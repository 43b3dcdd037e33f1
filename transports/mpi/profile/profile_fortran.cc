// The same for Fortran: mpif.h and the modules mpi and, with Open MPI, mpi_f08. The program's
// arguments reach its MPI as they are (MPI_IN_PLACE is an address there), and only communicator,
// type and operator are translated, for what is recorded.
#include <cstddef>

#include <mpi.h>

#include "transports/mpi/profile/profile_parameters.h"
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
#define COLLBENCH_ADDRESS(name, i) Buffer
#define COLLBENCH_CALLED(lower, upper, count, after)                                      \
  COLLBENCH_BINDINGS(mpi_##lower, MPI_##upper,                                            \
                     (COLLBENCH_##count##_PARAMETERS(COLLBENCH_ADDRESS, ), Buffer error), \
                     (COLLBENCH_##count##_ARGUMENTS, error), const CallInScope call, after)
#define COLLBENCH_TIMED(name, lower, upper, count) COLLBENCH_CALLED(lower, upper, count, )
// Compilers pass the length by value, behind the rest.
#define COLLBENCH_TEXT(name, lower, upper, count)                                              \
  COLLBENCH_BINDINGS(                                                                          \
      mpi_##lower, MPI_##upper,                                                                \
      (COLLBENCH_##count##_PARAMETERS(COLLBENCH_ADDRESS, ), Buffer error, std::size_t length), \
      (COLLBENCH_##count##_ARGUMENTS, error, length), const CallInScope call, )
#define COLLBENCH_MAKER(name, lower, upper, count, comm) \
  COLLBENCH_CALLED(lower, upper, count, name_communicator(a, comm, error))

namespace collbench {

#include "transports/mpi/profile/profile_functions.inc"

}  // namespace collbench
