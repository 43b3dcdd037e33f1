#include "training/parameter_window.h"

#include <algorithm>
#include <utility>

namespace collbench {

ParameterWindow::ParameterWindow(std::vector<Bucket> buckets, bool ahead, Actions actions)
    : buckets_(std::move(buckets)),
      ahead_(ahead),
      actions_(std::move(actions)),
      held_(buckets_.size(), false) {}

void ParameterWindow::begin(StepPass pass) { pass_ = pass; }

void ParameterWindow::need(std::int64_t first, std::int64_t end) {
  if (pass_ == StepPass::none) return;
  const auto bucket_of = [this](std::int64_t element) {
    const auto after = std::ranges::upper_bound(buckets_, element, {}, &Bucket::first);
    return static_cast<std::size_t>(after - buckets_.begin()) - 1;
  };
  const std::size_t lowest = bucket_of(first);
  const std::size_t highest = bucket_of(end - 1);
  if (pass_ == StepPass::forward) {
    for (std::size_t i = highest + 1; i < buckets_.size(); ++i) release(i);
    for (std::size_t i = highest + 1; i-- > lowest;) gather(i);
    if (ahead_ && lowest > 0) gather(lowest - 1);
  } else {
    for (std::size_t i = 0; i < lowest; ++i) release(i);
    for (std::size_t i = lowest; i <= highest; ++i) gather(i);
    if (ahead_ && highest + 1 < buckets_.size()) gather(highest + 1);
  }
  for (std::size_t i = lowest; i <= highest; ++i) actions_.wait(i);
}

void ParameterWindow::end() {
  for (std::size_t i = 0; pass_ == StepPass::backward && i < buckets_.size(); ++i) release(i);
  pass_ = StepPass::none;
}

void ParameterWindow::gather(std::size_t bucket) {
  if (held_[bucket]) return;
  held_[bucket] = true;
  actions_.gather(bucket);
}

void ParameterWindow::release(std::size_t bucket) {
  if (!held_[bucket]) return;
  held_[bucket] = false;
  actions_.release(bucket);
}

}  // namespace collbench
