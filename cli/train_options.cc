#include "cli/train_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/remote.h"
#include "cli/train_runs.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/version.h"
#include "training/engines/engine.h"

namespace collbench {
namespace {

constexpr const char* what_to_train = "What to train";
constexpr const char* how = "How";
constexpr const char* worker_processes = "Workers in several processes (multi-worker-mirrored)";
constexpr const char* input = "Data";
constexpr const char* state = "State";

constexpr OptionRow training_rows[] = {
    {what_to_train, "model", "", "NAME", "mlp", "mlp, mnist-cnn, resnet56, resnet20 or dense2"},
    {what_to_train, "widths", "", "N[,..]", "",
     "units of each hidden layer of mlp; 128 by default"},
    {what_to_train, "optimizer", "", "NAME", "",
     "sgd or adam; default: that of the model's tutorial"},
    {what_to_train, "lr", "", "X", "", "learning rate; default: that of the tutorial"},
    {what_to_train, "momentum", "", "X", "0", "momentum of sgd"},
    {what_to_train, "batch", "", "N", "64", "global batch; a multiple of the workers"},
    {what_to_train, "epochs", "", "N", "3", "epochs, each with a line of results"},
    {what_to_train, "steps", "", "N", "", "steps per epoch; default: one pass over the data"},
    {what_to_train, "seed", "", "N", "1", "seed of weights, order and synthetic data"},

    {how, "strategy", "", "NAME", "mirrored",
     "mirrored, multi-worker-mirrored, central-storage, parameter-server, tpu"},
    {how, "workers", "W", "N", "2", "replicas"},
    {how, "servers", "", "N", "1",
     "parameter servers; on a simulated network each has its own host"},
    {how, "algo", "A", "NAME", "ring",
     "the all-reduce: 'collbench algos' lists them; or auto, the default with --topo"},
    {how, "backend", "B", "NAME", "auto",
     "how gradients move: shm, gloo (threads), grpc (processes); auto: shm, or grpc on hosts"},
    {how, "engine", "E", "NAME", "auto",
     "onednn or plain (CPU), cudnn (GPUs); auto: one of the CPU's"},
    {how, "datatype", "d", "TYPE", "f32", "f32 or f64"},
    {how, "buckets", "", "RULE", "ddp",
     "ddp (1, then 25 MiB), ddp-initial, tf[:SIZE], one, tensor, a size; auto: the best"},
    {how, "wire", "", "TYPE", "",
     "f16 or bf16: type of gradients on the wire; default: --datatype"},
    {how, "sharding", "", "NAME", "none",
     "optimizer: divide its memory among ranks (ZeRO-1); full: parameters and gradients too "
     "(FSDP)"},
    {how, "loss-scaling", "", "NAME", "exact",
     "exact: 1/global batch; tf: mean of the replicas' means, as Keras"},
    {how, "devices", "", "cpu:N[,..]", "", "mirrored: the cores of the replicas, one for each"},
    {how, "no-overlap", "", "", "", "all-reduce only when the backward pass is over"},

    {worker_processes, "isolate", "", "", "",
     "start --workers processes here, this one being rank 0"},
    {worker_processes, "replicas", "", "N", "1",
     "replicas in each worker, threads that share its part of --batch"},
    {worker_processes, "communication", "", "NAME", "",
     "auto, ring, nccl: TensorFlow's names for --algo"},
    {worker_processes, "transport", "", "NAME", "raw",
     "raw, tcp (fast short messages) or tf-recvbuf (TensorFlow's)"},
    {worker_processes, "timeout", "T", "TIME", "60",
     "how long to wait for a worker, in seconds or 5m"},

    {input, "data", "", "FOLDER", "",
     "folder of MNIST (IDX) or CIFAR-10 (binary); default: synthetic"},
    {input, "autoshard", "", "POLICY", "auto", "auto, off, file, data: TensorFlow's policies"},
    {input, "drop-remainder", "", "WHEN", "on",
     "on, off: leave out samples that do not fill a batch"},
    {input, "samples", "", "N", "1024", "synthetic samples; a quarter more is held out"},

    {state, "checkpoint", "", "FOLDER", "", "folder for checkpoints, which the chief writes"},
    {state, "save-every", "", "N", "epoch", "steps between checkpoints, or epoch"},
    {state, "resume", "", "", "", "continue from the last checkpoint, if there is one"},
    {state, "tensorboard", "", "FOLDER", "", "event files of the chief for TensorBoard"},

    {output_group, "json", "J", "FILE", "",
     "results and the times of every rank; - is standard output"},
    {output_group, "progress", "", "WHEN", "auto", "auto, on, off"},
};

}  // namespace

std::span<const OptionRow> train_option_rows() {
  static const std::vector<OptionRow> all = concatenated(
      {training_rows, worker_option_rows(), workload_option_rows(), network_option_rows()});
  return all;
}

DataType wire_of(const Settings& settings) {
  const DataType type = parse_data_type(settings.text("wire"));
  require(type == DataType::f16 || type == DataType::bf16,
          fmt::format("{}: f16 or bf16, not {}", settings.label("wire"), to_string(type)));
  return type;
}

TrainingPlan plan_of(const Settings& settings) {
  TrainingPlan plan;
  std::vector<int> widths;
  if (settings.given("widths")) {
    for (const std::string& word : settings.list("widths")) {
      widths.push_back(static_cast<int>(parse_count(settings.label("widths"), word, 1, 1 << 20)));
    }
  }
  plan.model = make_model(settings.text("model"), widths);
  const bool other = settings.given("optimizer");
  plan.optimizer.name = other ? settings.text("optimizer") : plan.model.optimizer;
  plan.optimizer.learning_rate = plan.model.learning_rate;
  if (plan.optimizer.name != plan.model.optimizer) {
    plan.optimizer.learning_rate = plan.optimizer.name == "adam" ? 0.001 : 0.01;  // Keras's
  }
  if (settings.given("lr")) plan.optimizer.learning_rate = settings.number("lr");
  plan.optimizer.momentum = settings.number("momentum");
  plan.type = parse_data_type(settings.text("datatype"));
  plan.engine = find_engine(settings.text("engine"), plan.type).name;
  plan.global_batch = settings.count("batch", 1);
  plan.epochs = settings.count("epochs", 1);
  if (settings.given("steps")) plan.steps = settings.count("steps", 1);
  plan.seed = settings.seed();
  plan.buckets = settings.text("buckets");
  plan.overlap = !settings.flag("no-overlap");
  if (settings.given("wire")) plan.wire = wire_of(settings);
  const bool exact = settings.one_of("loss-scaling", {"exact", "tf"}) == "exact";
  plan.loss_scaling = exact ? LossScaling::exact : LossScaling::tensorflow;
  plan.state_sharding = parse_state_sharding(settings.text("sharding"));
  plan.sharding = parse_auto_shard(settings.text("autoshard"));
  plan.drop_remainder = settings.one_of("drop-remainder", {"on", "off"}) == "on";
  plan.timeout = settings.duration("timeout");
  if (settings.text("save-every") != "epoch") plan.save_every = settings.count("save-every", 1);
  plan.central = settings.text("strategy") == "central-storage";
  plan.mean_before_sum = settings.text("strategy") == "tpu";
  return plan;
}

std::string gradient_algorithm(const Settings& settings, const std::string& usual) {
  const std::string_view option = settings.pick("algo", "communication");
  if (option == "algo") return settings.text("algo");
  if (option.empty()) {
    const Backend* const backend = backend_named(settings.text("backend"));
    return backend != nullptr && backend->is_black_box() ? backend->name : usual;
  }
  const std::string& name = settings.text("communication");
  if (name == "auto" || name == "ring") return name;
  const std::string label = settings.label("communication");
  if (name == "nccl" && settings.text("engine") == "cudnn") return name;
  if (name == "nccl") {
    throw Unavailable(fmt::format(
        "{}: nccl sums on GPUs, and replicas compute on the CPU here. (TensorFlow warns and uses "
        "ring.) Use ring or auto, or --engine cudnn",
        label));
  }
  throw InvalidArgument(fmt::format("{}: auto, ring or nccl, not '{}'", label, name));
}

void require_backend(const Settings& settings, const Backend& used, const std::string& users) {
  if (settings.text("backend") == "auto") return;
  const Backend& asked = find_backend(settings.text("backend"));
  require(&asked == &used, fmt::format("{}: {} have {} between them, not {}; leave it out",
                                       settings.label("backend"), users, used.name, asked.name));
}

Samples samples_of(const Settings& settings, const TrainingPlan& plan) {
  const std::string& folder = settings.text("data");
  if (!folder.empty()) return {dataset_in(folder, "train"), dataset_in(folder, "test")};
  const std::int64_t count = settings.count("samples", 1, 10'000'000);
  const auto part = [&](const char* name, std::int64_t size) {
    return synthetic_dataset(plan.model.input, plan.model.classes, size, plan.seed, name);
  };
  return {part("train", count), part("test", std::max<std::int64_t>(1, count / 4))};
}

std::vector<NamedValue> values_of(const Settings& settings, const TrainingPlan& plan,
                                  const Samples& samples) {
  TrainingPlan compared = plan;
  compared.data_digest = digest_of(samples.train);
  std::vector<NamedValue> values = settings_of(compared);
  std::string tensors = to_string(plan.model.input);
  for (const Tensor& tensor : tensors_of(plan.model)) {
    tensors += fmt::format(" {}:{}", tensor.name, tensor.count);
  }
  values.insert(values.begin(), {{"version", std::string(collbench_version())},
                                 {"data", samples.train.description}});
  values.insert(values.end(), {{"tensors", tensors},
                               {"engine", std::string(find_engine(plan.engine, plan.type).name)},
                               {"epochs", std::to_string(plan.epochs)},
                               {"algorithm", gradient_algorithm(settings)}});
  for (const char* name : {"sharding", "replicas", "buckets", "save-every"}) {
    values.emplace_back(name, settings.text(name));
  }
  const bool saves = settings.given("checkpoint");
  values.emplace_back("checkpoint", saves ? settings.text("checkpoint") : "none");
  values.emplace_back("resume", settings.flag("resume") ? "yes" : "no");
  return values;
}

}  // namespace collbench
