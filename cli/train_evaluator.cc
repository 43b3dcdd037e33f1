// The evaluator beside a training cluster: it follows the checkpoints and says how good they are.

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/train_options.h"
#include "cli/train_runs.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/stop_request.h"
#include "training/checkpoint.h"
#include "training/event_file.h"
#include "training/local_replica.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds between_looks{100};

/// A model that takes the parameters of one checkpoint after the other.
class Evaluator {
 public:
  Evaluator(const Settings& settings, int replicas) : plan_(plan_of(settings)) {
    Samples samples = samples_of(settings, plan_);
    held_out_ = std::move(samples.held_out);
    if (settings.flag("resume")) {
      steps_ = plan_.epochs * steps_per_epoch(plan_, samples.train, replicas);
    }
    network_ = make_network(plan_, batch);
    if (settings.given("tensorboard")) {
      events_ = std::make_unique<EventFile>(settings.text("tensorboard"));
    }
  }

  /// Prints the row of a file; nothing if it was removed for newer ones meanwhile.
  std::optional<TrainingState> evaluate_file(const std::string& path) {
    std::string file;
    try {
      file = read_checkpoint(path);
    } catch (const Unavailable&) {
      return std::nullopt;
    }
    const TrainingState state = decode_checkpoint(file, plan_, path);
    load(state, *network_);
    const Evaluation result = evaluate(*network_, held_out_, batch);
    std::cout << fmt::format("{:>8}{:>12.6f}{:>12.4f}\n", state.step, result.loss, result.accuracy)
              << std::flush;
    if (events_) {
      events_->add(state.step,
                   {{"evaluation/loss", result.loss}, {"evaluation/accuracy", result.accuracy}});
    }
    return state;
  }

  /// Whether no state follows. With --resume the last one of the former run, which says that it is
  /// finished, may be that with which the run begins.
  bool is_last(const TrainingState& state) const { return state.finished && state.step >= steps_; }

 private:
  static constexpr std::int64_t batch = 64;
  TrainingPlan plan_;
  Dataset held_out_;
  std::int64_t steps_ = 0;  // of a run that resumes
  std::unique_ptr<Network> network_;
  std::unique_ptr<EventFile> events_;
};

}  // namespace

int evaluate_checkpoints(const Settings& settings, int replicas) {
  const std::string& folder = settings.text("checkpoint");
  require(!folder.empty(), "the evaluator follows checkpoints: it needs --checkpoint FOLDER");
  const Seconds patience = settings.duration("timeout");
  Evaluator evaluator(settings, replicas);
  watch_stop_signals();
  std::cout << fmt::format("{:>8}{:>12}{:>12}\n", "step", "loss", "accuracy") << std::flush;
  std::string seen;
  Clock::time_point news = Clock::now();
  for (;;) {
    const std::optional<std::string> latest = CheckpointFolder(folder).latest();
    if (latest && *latest != seen) {
      const std::optional<TrainingState> state = evaluator.evaluate_file(*latest);
      if (state && evaluator.is_last(*state)) return exit_ok;
      if (state) seen = *latest;
      news = Clock::now();
    }
    if (!stop_signal_name().empty()) return interrupt_exit_code();
    if (Clock::now() - news > patience) {
      throw TransportError(fmt::format("the evaluator saw no new checkpoint in '{}' for {}", folder,
                                       to_string(patience)));
    }
    std::this_thread::sleep_for(between_looks);
  }
}

}  // namespace collbench
