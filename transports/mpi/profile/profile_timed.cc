// The functions of profile_functions.inc for C, each with the parameters that mpi.h declares.
#include <cstddef>
#include <tuple>

#include <mpi.h>

#include "transports/mpi/profile/profile_parameters.h"
#include "transports/mpi/profile/profiler.h"

using collbench::CallInScope;
using collbench::MpiHandle;
using collbench::Profiler;

namespace {

template <typename Function>
struct ParametersOf;
template <typename... Parameters>
struct ParametersOf<int(Parameters...)> {
  template <std::size_t i>
  using At = std::tuple_element_t<i, std::tuple<Parameters...>>;
};

}  // namespace

#define COLLBENCH_PARAMETER(name, i) ParametersOf<decltype(PMPI_##name)>::At<i>
#define COLLBENCH_CALLED(name, count, after)                                                 \
  extern "C" int MPI_##name(COLLBENCH_##count##_PARAMETERS(COLLBENCH_PARAMETER, name)) {     \
    static const auto real = collbench::mpi_function<decltype(&PMPI_##name)>("PMPI_" #name); \
    const CallInScope call;                                                                  \
    const int code = real(COLLBENCH_##count##_ARGUMENTS);                                    \
    after;                                                                                   \
    return code;                                                                             \
  }
#define COLLBENCH_TIMED(name, lower, upper, count) COLLBENCH_CALLED(name, count, )
#define COLLBENCH_TEXT COLLBENCH_TIMED
#define COLLBENCH_MAKER(name, lower, upper, count, comm) \
  COLLBENCH_CALLED(                                      \
      name, count,                                       \
      if (code == MPI_SUCCESS) Profiler::instance().made((MpiHandle)a, (MpiHandle)*comm))

#include "transports/mpi/profile/profile_functions.inc"
