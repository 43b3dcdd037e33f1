#include "training/step.h"

#include <utility>

namespace collbench {

StepTimes run_step(StepCompute& compute, GradientSum& sum, std::int64_t elements, bool overlap) {
  StepTimes times;
  const Seconds begin = compute.now();
  Seconds last = begin;
  const auto lap = [&] {
    const Seconds before = std::exchange(last, compute.now());
    return last - before;
  };
  const auto lap_of_pass = [&] {
    const Seconds waited = sum.waited();
    times.exposed += waited;
    return lap() - waited;
  };
  compute.read();
  times.input = lap();
  sum.fetch();
  const Seconds fetching = lap();
  const GradientsReady ready = [&](std::int64_t end) {
    if (overlap) sum.start_up_to(end);
  };
  for (int batches = compute.micro_batches(); batches > 0; --batches) {
    compute.forward();
    times.forward += lap_of_pass();
    compute.backward(batches == 1 ? ready : nullptr);
    times.backward += lap_of_pass();
  }
  sum.start_up_to(elements);
  const GradientSum::Spent spent = sum.wait();
  times.communication = fetching + spent.time;
  times.busy = spent.processor;
  times.exposed += fetching + lap();
  compute.update();
  times.optimizer = lap();
  const GradientSum::Spent published = sum.publish();
  times.communication += published.time;
  times.busy += published.processor;
  times.exposed += lap();
  compute.check();
  times.checks = lap();
  times.whole = last - begin;
  return times;
}

}  // namespace collbench
