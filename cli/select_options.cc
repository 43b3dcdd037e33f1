#include "cli/select_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/foreign/foreign_tables.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/require_known.h"
#include "core/text_file.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/nccl/import_nccl_graphs.h"
#include "topologies/specification.h"
#include "transports/waiting.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

constexpr const char* what_to_choose_for = "What to choose for";
constexpr const char* knowledge = "What is known";

constexpr OptionRow select_rows[] = {
    {what_to_choose_for, "bytes", "b", "SIZE", "1M", "vector of one worker; K, M, G are binary"},
    {what_to_choose_for, "workers", "W", "N[,..]", "8", "ranks; 8,64 or 8:64:x2"},
    {what_to_choose_for, "nodes", "", "N", "auto",
     "nodes they are spread over; auto asks the machine"},
    {what_to_choose_for, "datatype", "d", "TYPE", "f32", "f16, bf16, f32, f64, i32, i64, u8"},
    {what_to_choose_for, "op", "", "OP", "sum", "sum, prod, min, max, avg"},
    {what_to_choose_for, "devices", "", "KIND", "auto",
     "cpus, gpus, virtual-gpus, mixed; auto asks the machine"},
    {what_to_choose_for, "available", "", "NAME[,..]", "",
     "choose among these; all that fit if not given"},
    {what_to_choose_for, "replicas-may-differ", "", "", "",
     "allow algorithms whose sums differ in last bits"},

    {knowledge, "policy", "p", "NAME[,..]", "auto",
     "auto, model, measured, oracle, nccl, ompi, tf2, ...; or all"},
    {knowledge, "topo", "t", "SPEC", "", "machine; 'collbench topo list' has names; or a file"},
    {knowledge, "backend", "B", "NAME", "", "of this host instead of a machine: shm, grpc"},
    {knowledge, "cores", "", "N", "auto", "that workers of this host share"},
    {knowledge, "measured", "m", "FILE[,..]", "",
     "tables of measured times, as 'collbench run --json' and nccl-tests write them"},
    {knowledge, "nccl-graphs", "", "FILE", "", "what NCCL wrote to NCCL_GRAPH_DUMP_FILE"},

    {output_group, "explain", "x", "", "", "show what each expected time is the sum of"},
    {output_group, "table", "T", "", "", "choices over sizes and workers, with the crossovers"},
    {output_group, "export", "", "FORMAT", "",
     "the table for others: nccl-tuner, ompi, ucc, intel-mpi, json, cpp"},
    {output_group, "out", "o", "FILE", "", "write the export there"},
    {output_group, "minbytes", "", "SIZE", "1K", "smallest vector of tables and exports"},
    {output_group, "maxbytes", "e", "SIZE", "1G", "largest vector of them"},
    {output_group, "format", "", "NAME", "text", "text or json"},
    {output_group, "verbose", "v", "", "", "say where settings came from"},

    {settings_group, "config", "", "FILE", "", "read settings from FILE as well"},
};

Devices devices_of(const Settings& settings, const Machine* machine) {
  const std::string& text = settings.text("devices");
  if (text == "auto") {
    if (machine == nullptr) return Devices::cpus;
    const auto classes = machine->topology.classes();
    const bool gpus = std::any_of(classes.begin(), classes.end(), [](const LinkClass& c) {
      return c.name.find("nvlink") == 0 || c.name.find("infinity") == 0 || c.name.find("xgmi") == 0;
    });
    return gpus ? Devices::gpus : Devices::cpus;
  }
  const std::vector<std::string> names{"cpus", "gpus", "virtual-gpus", "mixed", "auto"};
  require_known(settings.label("devices"), text, names, "devices");
  return static_cast<Devices>(std::ranges::find(names, text) - names.begin());
}

void read_measured(const Settings& settings, Inquiry& inquiry) {
  if (settings.text("measured").empty()) return;
  std::vector<std::string> skipped;
  for (const MeasuredTable& table : read_tables(settings.text("measured"), skipped)) {
    inquiry.measured.insert(inquiry.measured.end(), table.times.begin(), table.times.end());
    inquiry.notes.insert(inquiry.notes.end(), table.notes.begin(), table.notes.end());
  }
  for (const std::string& file : skipped) inquiry.notes.push_back("no table: " + file);
  require(!inquiry.measured.empty(),
          fmt::format("{}: '{}' holds no measured time", settings.label("measured"),
                      settings.text("measured")));
}

/// A dump of NCCL knows the graphs, the machine the processor and the generation of its GPUs.
void read_graphs(const Settings& settings, Inquiry& inquiry) {
  const std::string& file = settings.text("nccl-graphs");
  if (file.empty()) return;
  inquiry.nccl = std::make_unique<NcclInputs>(import_nccl_graphs(read_text_file(file), file));
  if (inquiry.machines.empty()) {
    inquiry.notes.emplace_back(
        "without a machine (--topo) the graphs are taken for those of H100 and Intel CPUs");
    return;
  }
  const Question& first = inquiry.questions.front();
  const NcclInputs known = nccl_inputs(inquiry.machines.front(), first.workers, first.nodes);
  inquiry.nccl->compute_capability = known.compute_capability;
  inquiry.nccl->cpu = known.cpu;
  inquiry.nccl->ll128 = known.ll128;
  inquiry.nccl->hardware = known.hardware;
}

std::vector<const Policy*> policies_of(const Settings& settings) {
  std::vector<const Policy*> found;
  if (settings.text("policy") == "all") {
    for (const Policy& policy : policies()) found.push_back(&policy);
    return found;
  }
  for (const std::string& name : settings.list("policy")) {
    found.push_back(&find_policy(name));
  }
  return found;
}

int count_of(const Settings& settings, const char* name, int automatic) {
  return settings.text(name) == "auto" ? automatic : settings.count(name, 1, 1 << 24);
}

Question common_question(const Settings& settings) {
  Question question;
  question.bytes = settings.size("bytes");
  question.type = parse_data_type(settings.text("datatype"));
  question.op = parse_reduce_op(settings.text("op"));
  question.replicas_may_differ = settings.flag("replicas-may-differ");
  question.backend = settings.text("backend");
  if (!question.backend.empty()) question.kind = find_backend(question.backend).choice;
  question.cores = count_of(settings, "cores", usable_cores());
  if (settings.given("available")) question.available = settings.list("available");
  require(question.backend.empty() || settings.text("topo").empty(),
          "choose one of --backend (this host) and --topo (a machine)");
  return question;
}

}  // namespace

std::span<const OptionRow> select_option_rows() { return select_rows; }

Inquiry inquiry_of(const Settings& settings) {
  Inquiry inquiry;
  inquiry.policies = policies_of(settings);
  const Question common = common_question(settings);
  const std::vector<int> workers = settings.worker_counts("workers");
  inquiry.machines.reserve(workers.size());
  for (const int count : workers) {
    Question question = common;
    question.workers = count;
    if (!settings.text("topo").empty()) {
      inquiry.machines.push_back(machine(settings.text("topo"), count));
      question.machine = &inquiry.machines.back();
    }
    question.nodes = count_of(
        settings, "nodes",
        question.machine == nullptr ? 1 : nodes_of(question.machine->topology.layout(), count));
    question.devices = devices_of(settings, question.machine);
    inquiry.questions.push_back(std::move(question));
  }
  read_graphs(settings, inquiry);
  read_measured(settings, inquiry);
  for (Question& question : inquiry.questions) {
    question.nccl = inquiry.nccl.get();
    question.measured = inquiry.measured;
  }
  inquiry.network = !settings.text("topo").empty() ? settings.text("topo")
                    : common.backend.empty()
                        ? "a network that is not named"
                        : fmt::format("{} on {} cores", common.backend, common.cores);
  return inquiry;
}

}  // namespace collbench
