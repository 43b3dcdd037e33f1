// A workload: a model as a table of layers, for steps that are timed but not computed.
//
// A table is CSV with one row per layer in forward order, and what its columns are in the first row
// that is no comment:
//
//   # sample: 224x224x3 image          # source: where the figures are from
//   # batch: 32  # device: v100  # optimizer_us: 410       (only where times were measured)
//   layer,kind,tensors,forward_flops,activations,forward_us,weight_us,input_us
//   conv1,conv,9408,236027904,802816,310,290,0
//
// `tensors` are elements joined by "+", empty without parameters; flops (two per multiply and add)
// and activations (elements of the output) are of one sample. The last three columns are times of a
// whole batch: of the forward pass, of the gradients of the parameters, and of that of the input.
// They are optional; without them a roofline (training/simulated/compute.h) stands in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "training/model.h"

namespace collbench {

/// Times of one layer.
struct LayerTimes {
  Seconds forward{0};
  Seconds weight{0};  // gradients of its parameters, which are ready then
  Seconds input{0};   // gradient of its input
};

struct WorkloadLayer {
  std::string name;
  std::string kind;                   // "conv", "linear", "bn", ...
  std::vector<std::int64_t> tensors;  // elements of each
  double forward_flops = 0;           // of a sample
  double activations = 0;             // elements of its output of a sample
};

/// Times measured on some device, for a whole batch.
struct MeasuredTimes {
  std::int64_t batch = 0;
  std::string device;
  std::vector<LayerTimes> layers;
  Seconds optimizer{0};
};

struct Workload {
  std::string name;
  std::string sample;  // what one sample is, in words
  std::string source;
  std::vector<WorkloadLayer> layers;  // in forward order
  std::optional<MeasuredTimes> measured;

  std::int64_t parameters() const;
  double forward_flops() const;  // of a sample
};

/// Reads a table. `name` becomes the workload's and leads messages. Throws InvalidArgument, with
/// the line, for a table that is malformed, has no layers or no parameters, or more than 2^40 of
/// them.
Workload parse_workload(std::string_view text, const std::string& name);

/// The table of a workload; parse_workload() gives it back.
std::string to_table(const Workload& workload);

/// The shipped workload of that name or, if `name` has a dot or a slash, that of a file. Throws
/// InvalidArgument with the nearest name, and Unavailable if the file cannot be read.
Workload find_workload(const std::string& name);

/// The names of the shipped tables training/workloads/*.csv.
std::vector<std::string> shipped_workloads();

/// The tensors in the order in which their gradients become ready: layers from the last to the
/// first, in each the last tensor first.
std::vector<Tensor> tensors_of(const Workload& workload);

}  // namespace collbench
