#include "training/local_replica.h"

#include <algorithm>

#include "training/elements.h"

namespace collbench {

std::unique_ptr<Network> make_network(const TrainingPlan& plan, std::int64_t samples) {
  auto network = find_engine(plan.engine, plan.type).make_network(plan.model, samples, plan.type);
  network->set_parameters(initial_parameters(plan.model, plan.seed));
  return network;
}

std::unique_ptr<Optimizer> make_optimizer(const TrainingPlan& plan) {
  return find_engine(plan.engine, plan.type)
      .make_optimizer(plan.optimizer, parameters_of(plan.model), plan.type);
}

void load(const TrainingState& state, Network& network) {
  network.set_parameters(state.parameters);
  set_values(network.statistics(), state.statistics);
}

void store(Network& network, TrainingState& state) {
  state.parameters = network.copy_of_parameters();
  state.statistics = values_of(network.statistics());
}

Evaluation evaluate(Network& network, const Dataset& held_out, std::int64_t batch,
                    const std::function<void()>& after_batch) {
  Score total;
  const std::int64_t size = held_out.shape.size();
  for (std::int64_t first = 0; first < held_out.size(); first += batch) {
    const std::int64_t count = std::min(batch, held_out.size() - first);
    const Score score = network.evaluate(
        {{held_out.images.data() + first * size, static_cast<std::size_t>(count * size)},
         {held_out.labels.data() + first, static_cast<std::size_t>(count)}});
    total.loss += score.loss;
    total.correct += score.correct;
    after_batch();
  }
  const auto samples = static_cast<double>(held_out.size());
  return {mean_loss(total.loss, held_out.size()), static_cast<double>(total.correct) / samples};
}

double gradient_scale(const TrainingPlan& plan, const StepSize& size, int replicas) {
  const bool exact = plan.loss_scaling == LossScaling::exact;
  const double scale = 1.0 / static_cast<double>(exact ? size.all : size.mine * replicas);
  return plan.mean_before_sum ? scale * replicas : scale;
}

LocalReplica::LocalReplica(const TrainingPlan& plan, const Dataset& data, int replicas, int number)
    : plan_(plan),
      replicas_(replicas),
      input_(data, input_of(plan), replicas, number),
      network_(make_network(plan, input_.largest())) {}

StepSize LocalReplica::read(std::int64_t step) {
  return size_ = input_.read(step, images_, labels_);
}

Score LocalReplica::forward() {
  return has_samples() ? network_->forward({images_, labels_}) : Score{};
}

void LocalReplica::backward(const GradientsReady& ready) {
  has_samples() ? network_->backward(gradient_scale(plan_, size_, replicas_), ready)
                : network_->clear_gradients();
}

}  // namespace collbench
