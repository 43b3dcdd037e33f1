#include "bench/measure/worker_case.h"

#include "bench/measure/case_endpoint.h"
#include "bench/measure/sampler.h"
#include "transports/nccl/gpu_survey.h"
#include "transports/world/core_order.h"

namespace collbench {
namespace {

std::string communicator_key(const Case& which) {
  return which.algorithm + " " + which.transport + case_endpoint_text(which);
}

// Leaves the communicator for this case in the context.
void make_ready(const Backend& backend, const Case& which, WorkerContext& context) {
  const std::string key = communicator_key(which);
  if (context.communicator && backend.keeps_communicator && context.communicator_key == key) {
    return;
  }
  context.communicator.reset();
  context.remarks.clear();
  context.communicator = backend.make_communicator(which, context);
  context.communicator_key = key;
}

}  // namespace

UserBuffers prepare_case(const Backend& backend, const Case& which, WorkerContext& context) {
  make_ready(backend, which, context);
  return {which,
          backend.user_memory != nullptr ? backend.user_memory(which, context)
                                         : allocate_pages(user_buffer_bytes(which)),
          backend.copies};
}

Measurement measure_prepared(const Backend& backend, const Case& which, const Sampling& sampling,
                             WorkerContext& context, const UserBuffers& buffers) {
  Measurement measured =
      sample(which, sampling, *context.communicator, *context.rendezvous, buffers);
  measured.warnings.insert(measured.warnings.end(), context.remarks.begin(), context.remarks.end());
  if (backend.on_gpus && context.rank == 0) {
    for (std::string& text : slowed_gpus(survey_gpus())) {
      measured.warnings.push_back(std::move(text));
    }
  }
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
    if (sampling.pin) pin_to_core(context.rank, sampling.cpus);
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
