#include "bench/worker_case.h"

#include <sched.h>

#include "bench/sampler.h"

namespace collbench {
namespace {

// The processors of the process before any of its threads was pinned.
const cpu_set_t& usable_processors() {
  static const cpu_set_t usable = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  return usable;
}

std::string communicator_key(const Case& which) { return which.algorithm + " " + which.transport; }

// Leaves the communicator for this case in the context.
void make_ready(const Backend& backend, const Case& which, WorkerContext& context) {
  const std::string key = communicator_key(which);
  if (context.communicator && backend.keeps_communicator && context.communicator_key == key) {
    return;
  }
  context.communicator.reset();
  context.communicator = backend.make_communicator(which, context);
  context.communicator_key = key;
}

}  // namespace

void pin_to_core(Rank rank) {
  const cpu_set_t& usable = usable_processors();
  const int cores = CPU_COUNT(&usable);
  if (cores == 0) return;
  int left = rank % cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &usable) || left-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

UserBuffers prepare_case(const Backend& backend, const Case& which, WorkerContext& context) {
  make_ready(backend, which, context);
  return {which, backend.user_memory != nullptr ? backend.user_memory(which, context)
                                                : allocate_pages(user_buffer_bytes(which))};
}

Measurement measure_prepared(const Backend& backend, const Case& which, const Sampling& sampling,
                             WorkerContext& context, const UserBuffers& buffers) {
  Measurement measured =
      sample(which, sampling, *context.communicator, *context.rendezvous, buffers);
  if (backend.measure_bound != nullptr) measured.bound = backend.measure_bound(which, context);
  if (!backend.keeps_communicator) context.communicator.reset();
  return measured;
}

CaseOutcome run_worker_case(const Backend& backend, const Case& which, const Sampling& sampling,
                            Control control, WorkerContext& context) {
  SharedRendezvous rendezvous(control, context.rank, sampling.timeout);
  context.rendezvous = &rendezvous;
  context.timeout = sampling.timeout;
  try {
    if (sampling.pin) pin_to_core(context.rank);
    const UserBuffers buffers = prepare_case(backend, which, context);
    return measure_prepared(backend, which, sampling, context, buffers);
  } catch (...) {
    Fault fault = current_fault(context.rank);
    control.abort(fault);
    if (backend.abort != nullptr) backend.abort(context.arena, fault.what);
    context.communicator.reset();
    return fault;
  }
}

}  // namespace collbench
