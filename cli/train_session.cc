#include "cli/train_session.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "core/error.h"
#include "core/stop_request.h"

namespace collbench {
namespace {

// The last of `files` is damaged.
std::string advice_without(const std::vector<std::string>& files) {
  const auto whole = std::find_if(files.rbegin() + 1, files.rend(), [](const std::string& path) {
    return damage_of(read_checkpoint(path)).empty();
  });
  if (whole == files.rend()) return "No older one is whole: another --checkpoint begins anew";
  return fmt::format("Remove it to go on from {}, which is whole", *whole);
}

/// "[=====>    ]": TensorFlow's bar.
std::string bar(std::int64_t done, std::int64_t all) {
  constexpr std::int64_t width = 20;
  const std::int64_t full = all == 0 ? width : done * width / all;
  std::string text(static_cast<std::size_t>(full), '=');
  if (full < width) text += '>';
  text.resize(static_cast<std::size_t>(width), '.');
  return "[" + text + "]";
}

}  // namespace

TrainSession::TrainSession(const Settings& settings, const TrainingPlan& plan, bool chief)
    : settings_(settings),
      plan_(plan),
      chief_(chief),
      line_(chief && use_progress(settings.text("progress"))),
      folder_(settings.text("checkpoint")) {
  for (const char* name : {"save-every", "resume"}) {
    require(!folder_.empty() || !settings.given(name),
            fmt::format("{} needs --checkpoint FOLDER", settings.label(name)));
  }
  if (!chief) return;
  require_writable(settings, {"json", "trace"});
  const auto latest = CheckpointFolder(folder_).latest();
  require(folder_.empty() || settings.flag("resume") || !latest,
          fmt::format("{}: the folder holds checkpoints of another run, up to '{}'; --resume goes "
                      "on from it, another folder begins anew",
                      settings.label("checkpoint"), latest.value_or("")));
  if (!folder_.empty()) lock_ = CheckpointFolder(folder_).lock();
  if (settings.given("tensorboard")) {
    events_ = std::make_unique<EventFile>(settings.text("tensorboard"));
  }
}

void TrainSession::use(const Dataset& samples, int replicas) {
  if (folder_.empty()) return;
  plan_.data_digest = digest_of(samples);
  const InputPipeline pipeline(samples, input_of(plan_), replicas, 0);
  plan_.data_division = pipeline.division();
  if (pipeline.sharding() != AutoShard::data) plan_.steps_per_pass = pipeline.steps_per_pass();
}

std::string TrainSession::file_to_resume() const {
  if (!settings_.flag("resume")) return "";
  const std::vector<std::string> files = CheckpointFolder(folder_).files();
  if (files.empty()) return "";
  const std::string& latest = files.back();
  std::string file = read_checkpoint(latest);
  try {
    decode_checkpoint(file, plan_, latest);  // refused here with the name of the file
  } catch (const InvalidArgument& error) {
    if (damage_of(file).empty()) throw;
    throw InvalidArgument(fmt::format("{}. {}", error.what(), advice_without(files)));
  }
  return file;
}

void TrainSession::resume(const std::string& file) {
  if (!file.empty()) start_ = decode_checkpoint(file, plan_, "the checkpoint of rank 0");
}

void TrainSession::begin(std::int64_t steps_per_epoch) {
  steps_per_epoch_ = steps_per_epoch;
  if (!chief_ || !settings_.flag("resume")) return;
  if (start_) {
    std::cerr << fmt::format("{}collbench: going on after step {}\n", speaker(), start_->step);
  } else {
    std::cerr << fmt::format("{}collbench: no checkpoint in '{}' yet: beginning anew\n", speaker(),
                             folder_);
  }
}

Samples TrainSession::prepare() {
  Samples samples = samples_of(settings_, plan_);
  check(plan_, samples.train, plan_.replicas);
  use(samples.train, plan_.replicas);
  resume(file_to_resume());
  begin(collbench::steps_per_epoch(plan_, samples.train, plan_.replicas));
  watch_stop_signals();
  return samples;
}

ReplicaHooks TrainSession::hooks() {
  ReplicaHooks hooks;
  hooks.stop_wanted = [] { return !stop_signal_name().empty(); };
  if (start_) hooks.start = &*start_;
  if (chief_) hooks.on_step = [this](const Progress& now) { show(now); };
  if (folder_.empty()) return hooks;
  hooks.save = [this](const TrainingState& state) {
    CheckpointFolder(folder_).save(encode_checkpoint(plan_, state), state.step);
  };
  return hooks;
}

void TrainSession::show(const Progress& now) {
  const std::int64_t in_epoch = (now.steps - 1) % steps_per_epoch_ + 1;
  const double rate = static_cast<double>(now.samples) / now.elapsed.count();
  line_.show(fmt::format("epoch {}/{} {} {}/{} - loss: {:.4f} - accuracy: {:.4f} - {:.0f} images/s",
                         (now.steps - 1) / steps_per_epoch_ + 1, plan_.epochs,
                         bar(in_epoch, steps_per_epoch_), in_epoch, steps_per_epoch_, now.loss,
                         now.accuracy, rate));
  if (!events_) return;
  events_->add(now.steps, {{"train/loss", now.loss},
                           {"train/accuracy", now.accuracy},
                           {"train/images_per_second", rate}});
}

int TrainSession::finish(const ReplicaReport& report, Rank rank,
                         const std::function<void()>& show) {
  line_.clear();
  const std::int64_t step = report.first_step + std::ssize(report.steps);
  if (events_ && report.held_out_accuracy >= 0) {
    events_->add(step, {{"test/accuracy", report.held_out_accuracy}});
  }
  show();
  if (report.stopped_by < 0) return exit_ok;
  const std::string kept = folder_.empty() ? "nothing is saved without --checkpoint"
                                           : "the state is saved, --resume goes on";
  if (report.stopped_by == rank || !stop_signal_name().empty()) {
    std::cerr << fmt::format("{}collbench: {} after step {}: {}\n", speaker(), stop_signal_name(),
                             step, kept);
    return interrupt_exit_code();
  }
  throw TransportError(
      fmt::format("rank {} was asked to stop after step {}: {}", report.stopped_by, step, kept));
}

}  // namespace collbench
