// MPI's functions for C that are not recorded: those in which a process may wait are timed, and
// those that make communicators name them. Parameters are a, b, ... in MPI's order.
#include <mpi.h>

#include "transports/mpi/profile/profiler.h"

using collbench::CallInScope;
using collbench::MpiHandle;
using collbench::Profiler;

#define COLLBENCH_TIMED(name, parameters, arguments)                                         \
  extern "C" int MPI_##name parameters {                                                     \
    static const auto real = collbench::mpi_function<decltype(&PMPI_##name)>("PMPI_" #name); \
    const CallInScope call;                                                                  \
    return real arguments;                                                                   \
  }
// Of the communicator `a`.
#define COLLBENCH_MAKER(name, parameters, arguments, comm)                                   \
  extern "C" int MPI_##name parameters {                                                     \
    static const auto real = collbench::mpi_function<decltype(&PMPI_##name)>("PMPI_" #name); \
    const CallInScope call;                                                                  \
    const int code = real arguments;                                                         \
    if (code == MPI_SUCCESS) Profiler::instance().made((MpiHandle)a, (MpiHandle)*comm);      \
    return code;                                                                             \
  }

COLLBENCH_TIMED(Wait, (MPI_Request * a, MPI_Status* b), (a, b))
COLLBENCH_TIMED(Waitall, (int a, MPI_Request b[], MPI_Status c[]), (a, b, c))
COLLBENCH_TIMED(Waitany, (int a, MPI_Request b[], int* c, MPI_Status* d), (a, b, c, d))
COLLBENCH_TIMED(Waitsome, (int a, MPI_Request b[], int* c, int d[], MPI_Status e[]),
                (a, b, c, d, e))
COLLBENCH_TIMED(Test, (MPI_Request * a, int* b, MPI_Status* c), (a, b, c))
COLLBENCH_TIMED(Testall, (int a, MPI_Request b[], int* c, MPI_Status d[]), (a, b, c, d))
COLLBENCH_TIMED(Testany, (int a, MPI_Request b[], int* c, int* d, MPI_Status* e), (a, b, c, d, e))
COLLBENCH_TIMED(Testsome, (int a, MPI_Request b[], int* c, int d[], MPI_Status e[]),
                (a, b, c, d, e))
COLLBENCH_TIMED(Send, (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f),
                (a, b, c, d, e, f))
COLLBENCH_TIMED(Ssend, (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f),
                (a, b, c, d, e, f))
COLLBENCH_TIMED(Rsend, (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f),
                (a, b, c, d, e, f))
COLLBENCH_TIMED(Bsend, (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f),
                (a, b, c, d, e, f))
COLLBENCH_TIMED(Recv, (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Status* g),
                (a, b, c, d, e, f, g))
COLLBENCH_TIMED(Sendrecv,
                (const void* a, int b, MPI_Datatype c, int d, int e, void* f, int g, MPI_Datatype h,
                 int i, int j, MPI_Comm k, MPI_Status* l),
                (a, b, c, d, e, f, g, h, i, j, k, l))
COLLBENCH_TIMED(Sendrecv_replace,
                (void* a, int b, MPI_Datatype c, int d, int e, int f, int g, MPI_Comm h,
                 MPI_Status* i),
                (a, b, c, d, e, f, g, h, i))
COLLBENCH_TIMED(Probe, (int a, int b, MPI_Comm c, MPI_Status* d), (a, b, c, d))
COLLBENCH_TIMED(Iprobe, (int a, int b, MPI_Comm c, int* d, MPI_Status* e), (a, b, c, d, e))
COLLBENCH_TIMED(Mprobe, (int a, int b, MPI_Comm c, MPI_Message* d, MPI_Status* e), (a, b, c, d, e))
COLLBENCH_TIMED(Mrecv, (void* a, int b, MPI_Datatype c, MPI_Message* d, MPI_Status* e),
                (a, b, c, d, e))
COLLBENCH_TIMED(Alltoall,
                (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g),
                (a, b, c, d, e, f, g))
COLLBENCH_TIMED(Alltoallv,
                (const void* a, const int b[], const int c[], MPI_Datatype d, void* e,
                 const int f[], const int g[], MPI_Datatype h, MPI_Comm i),
                (a, b, c, d, e, f, g, h, i))
COLLBENCH_TIMED(Alltoallw,
                (const void* a, const int b[], const int c[], const MPI_Datatype d[], void* e,
                 const int f[], const int g[], const MPI_Datatype h[], MPI_Comm i),
                (a, b, c, d, e, f, g, h, i))
COLLBENCH_TIMED(Gather,
                (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g,
                 MPI_Comm h),
                (a, b, c, d, e, f, g, h))
COLLBENCH_TIMED(Gatherv,
                (const void* a, int b, MPI_Datatype c, void* d, const int e[], const int f[],
                 MPI_Datatype g, int h, MPI_Comm i),
                (a, b, c, d, e, f, g, h, i))
COLLBENCH_TIMED(Scatter,
                (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g,
                 MPI_Comm h),
                (a, b, c, d, e, f, g, h))
COLLBENCH_TIMED(Scatterv,
                (const void* a, const int b[], const int c[], MPI_Datatype d, void* e, int f,
                 MPI_Datatype g, int h, MPI_Comm i),
                (a, b, c, d, e, f, g, h, i))
COLLBENCH_TIMED(Scan, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
                (a, b, c, d, e, f))
COLLBENCH_TIMED(Exscan, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
                (a, b, c, d, e, f))
COLLBENCH_TIMED(Neighbor_allgather,
                (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g),
                (a, b, c, d, e, f, g))
COLLBENCH_TIMED(Neighbor_alltoall,
                (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g),
                (a, b, c, d, e, f, g))
COLLBENCH_TIMED(Neighbor_alltoallv,
                (const void* a, const int b[], const int c[], MPI_Datatype d, void* e,
                 const int f[], const int g[], MPI_Datatype h, MPI_Comm i),
                (a, b, c, d, e, f, g, h, i))
COLLBENCH_TIMED(Win_fence, (int a, MPI_Win b), (a, b))
COLLBENCH_TIMED(Win_unlock, (int a, MPI_Win b), (a, b))

COLLBENCH_MAKER(Comm_dup, (MPI_Comm a, MPI_Comm* b), (a, b), b)
COLLBENCH_MAKER(Comm_dup_with_info, (MPI_Comm a, MPI_Info b, MPI_Comm* c), (a, b, c), c)
COLLBENCH_MAKER(Comm_split, (MPI_Comm a, int b, int c, MPI_Comm* d), (a, b, c, d), d)
COLLBENCH_MAKER(Comm_split_type, (MPI_Comm a, int b, int c, MPI_Info d, MPI_Comm* e),
                (a, b, c, d, e), e)
COLLBENCH_MAKER(Comm_create, (MPI_Comm a, MPI_Group b, MPI_Comm* c), (a, b, c), c)
COLLBENCH_MAKER(Comm_create_group, (MPI_Comm a, MPI_Group b, int c, MPI_Comm* d), (a, b, c, d), d)
COLLBENCH_MAKER(Cart_create, (MPI_Comm a, int b, const int c[], const int d[], int e, MPI_Comm* f),
                (a, b, c, d, e, f), f)
COLLBENCH_MAKER(Cart_sub, (MPI_Comm a, const int b[], MPI_Comm* c), (a, b, c), c)
COLLBENCH_MAKER(Graph_create, (MPI_Comm a, int b, const int c[], const int d[], int e, MPI_Comm* f),
                (a, b, c, d, e, f), f)
COLLBENCH_MAKER(Dist_graph_create,
                (MPI_Comm a, int b, const int c[], const int d[], const int e[], const int f[],
                 MPI_Info g, int h, MPI_Comm* i),
                (a, b, c, d, e, f, g, h, i), i)
COLLBENCH_MAKER(Dist_graph_create_adjacent,
                (MPI_Comm a, int b, const int c[], const int d[], int e, const int f[],
                 const int g[], MPI_Info h, int i, MPI_Comm* j),
                (a, b, c, d, e, f, g, h, i, j), j)
COLLBENCH_MAKER(Intercomm_merge, (MPI_Comm a, int b, MPI_Comm* c), (a, b, c), c)
