// Bindings of MPI for Fortran: their names, and their handles as those of C.
#pragma once

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
using Int = const MPI_Fint*;
using Buffer = void*;
using Out = MPI_Fint*;

template <typename Function>
[[maybe_unused]] auto looked_up(const char* name, MPI_Fint number) {
  static const auto function = mpi_function<Function>(name);
  return function(number);
}

inline MpiHandle comm_of(Int comm) { return (MpiHandle)COLLBENCH_FROM_FORTRAN(Comm, *comm); }

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
