#include "training/workloads/workload.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/suggest.h"
#include "training/file_content.h"
#include "training/workloads/shipped_workloads.h"

namespace collbench {

std::int64_t Workload::parameters() const {
  std::int64_t sum = 0;
  for (const WorkloadLayer& layer : layers) {
    for (const std::int64_t count : layer.tensors) sum += count;
  }
  return sum;
}

double Workload::forward_flops() const {
  double sum = 0;
  for (const WorkloadLayer& layer : layers) sum += layer.forward_flops;
  return sum;
}

std::string to_table(const Workload& workload) {
  std::string text = fmt::format("# sample: {}\n# source: {}\n# parameters: {}\n", workload.sample,
                                 workload.source, workload.parameters());
  const bool timed = workload.measured.has_value();
  if (timed) {
    text +=
        fmt::format("# batch: {}\n# device: {}\n# optimizer_us: {:.3f}\n", workload.measured->batch,
                    workload.measured->device, workload.measured->optimizer.count() * 1e6);
  }
  text += "layer,kind,tensors,forward_flops,activations";
  text += timed ? ",forward_us,weight_us,input_us\n" : "\n";
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    const WorkloadLayer& layer = workload.layers[i];
    text += fmt::format("{},{},{},{:.0f},{:.0f}", layer.name, layer.kind,
                        fmt::join(layer.tensors, "+"), layer.forward_flops, layer.activations);
    if (timed) {
      const LayerTimes& times = workload.measured->layers[i];
      text += fmt::format(",{:.3f},{:.3f},{:.3f}", times.forward.count() * 1e6,
                          times.weight.count() * 1e6, times.input.count() * 1e6);
    }
    text += '\n';
  }
  return text;
}

std::vector<std::string> shipped_workloads() {
  std::vector<std::string> names;
  for (const ShippedFile& file : shipped_workload_files()) names.emplace_back(file.name);
  return names;
}

Workload find_workload(const std::string& name) {
  for (const ShippedFile& file : shipped_workload_files()) {
    if (file.name == name) return parse_workload(file.text, name);
  }
  const std::vector<std::string> known = shipped_workloads();
  require(name.find_first_of("./") != std::string::npos,
          fmt::format("unknown workload '{}'.{} Known are {}, or the path of a table", name,
                      did_you_mean(name, known), fmt::join(known, ", ")));
  return parse_workload(file_content(name, "workload"), name);
}

std::vector<Tensor> tensors_of(const Workload& workload) {
  std::vector<Tensor> tensors;
  std::int64_t first = 0;
  for (std::size_t i = workload.layers.size(); i-- > 0;) {
    const WorkloadLayer& layer = workload.layers[i];
    for (std::size_t k = layer.tensors.size(); k-- > 0;) {
      Tensor& tensor = tensors.emplace_back();
      tensor.name = fmt::format("{}/{}", layer.name, k);
      tensor.layer = static_cast<int>(i);
      tensor.first = first;
      tensor.count = layer.tensors[k];
      first += tensor.count;
    }
  }
  return tensors;
}

}  // namespace collbench
