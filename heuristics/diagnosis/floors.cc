#include "heuristics/diagnosis/floors.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "core/plain_text.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using namespace literals;

constexpr const char* azure = "Azure/azurehpc-health-checks, conf/";
constexpr const char* oracle = "oracle-quickstart/oci-hpc, ncclscout.py";
constexpr const char* maintainers = "NVIDIA/nccl-tests issue 212";

constexpr VendorFloor floor_rows[] = {
    {"Azure NHC", "ND A100 v4", "a100", 8, 1, 228, 16_GiB, azure},
    {"Azure NHC", "ND H100 v5", "h100", 8, 1, 460, 16_GiB, azure},
    {"Azure NHC", "ND H200 v5", "h200", 8, 1, 431, 16_GiB, azure},
    {"Azure NHC", "NDv2", "v100", 8, 1, 110, 8_GiB, azure},
    {"Azure NHC", "NC48 A100 v4", "a100", 2, 1, 193, 16_GiB, azure},
    {"Azure NHC", "NC80 H100 v5", "h100", 2, 1, 208, 16_GiB, azure},
    {"Azure NHC", "NC96 A100 v4", "a100", 4, 1, 25, 16_GiB, azure},
    {"Oracle OCI", "pairs of A100 nodes", "a100", 16, 2, 185, {}, oracle},
    {"Oracle OCI", "pairs of H100 nodes", "h100", 16, 2, 440, {}, oracle},
    {"Oracle OCI, older", "pairs of H100 nodes", "h100", 16, 2, 365, {}, oracle},
    {"Oracle OCI", "pairs of H200 nodes", "h200", 16, 2, 440, {}, oracle},
    {"Oracle OCI", "pairs of B200 nodes", "b200", 16, 2, 440, {}, oracle},
    {"Oracle OCI", "pairs of B300 nodes", "b300", 16, 2, 750, {}, oracle},
    {"Oracle OCI", "pairs of MI300X nodes", "mi300x", 16, 2, 350, {}, oracle},
    {"Oracle OCI", "pairs of MI355X nodes", "mi355x", 16, 2, 400, {}, oracle},
    {"NCCL's maintainers", "8 H100, rings", "h100", 8, 1, 370, {}, maintainers},
    {"NCCL's maintainers", "8 H100, NVLS", "h100", 8, 1, 480, {}, maintainers},
};

struct GpuRow {
  const char* part;  // of the device's name, in lower case; the first that fits counts
  int per_node;
  const char* machine;
};
constexpr GpuRow gpu_rows[] = {
    {"gh200", 4, "alps-gh200"}, {"gb200", 4, "gb200-nvl72"}, {"gb300", 4, "gb300-nvl72"},
    {"h200", 8, "hgx-h200"},    {"h20", 8, "hgx-h200"},      {"h100", 8, "dgx-h100"},
    {"b200", 8, "hgx-b200"},    {"b300", 8, "dgx-b300"},     {"a100", 8, "dgx-a100"},
    {"v100", 16, "dgx-2"},      {"v100", 8, "dgx-1-v100"},   {"v100", 4, "abci-v100"},
    {"mi300x", 8, "mi300x"},
};

/// The shipped machine that the text calls by its name, "2x AWS p4de.24xlarge", "GCP A3 Mega VM" or
/// "DGX A100", if a node of it has as many GPUs. Names that are those of GPUs ("oci-h100") are
/// none.
std::optional<ShippedMachine> machine_named_in(std::string_view hardware, int per_node) {
  std::string text = lower_case(hardware);
  std::replace(text.begin(), text.end(), '-', ' ');
  std::optional<ShippedMachine> found;
  std::size_t longest = 0;
  for (const ShippedMachine& each : shipped_machines()) {
    std::string words = each.name;
    for (const std::string_view cloud : {"aws-", "google-", "azure-"}) {
      if (words.starts_with(cloud)) words.erase(0, cloud.size());
    }
    const bool is_name =
        words != each.name || words.starts_with("dgx-") || words.starts_with("hgx-");
    std::replace(words.begin(), words.end(), '-', ' ');
    if (!is_name || words.size() <= longest || !names_gpu(text, words)) continue;
    if (per_node > machine(each.name).topology.hosts()) continue;
    longest = words.size();
    found = each;
  }
  return found;
}

/// Nothing where that is not enough to know.
const GpuRow* row_of_gpus(std::string_view hardware, int per_node) {
  const std::string text = lower_case(hardware);
  // Cards in PCIe slots, "NVL" among them, are joined in as many ways as there are servers.
  if (mentions(text, "pcie") || names_gpu(text, "nvl")) return nullptr;
  for (const GpuRow& row : gpu_rows) {
    if (!mentions(text, row.part) || per_node > row.per_node) continue;
    const bool fewer = row.part == std::string_view("v100") && per_node != row.per_node;
    if (!fewer) return &row;
  }
  return nullptr;
}

}  // namespace

bool names_gpu(std::string_view text, std::string_view gpu) {
  for (std::size_t at = text.find(gpu); at != text.npos; at = text.find(gpu, at + 1)) {
    const auto is_part = [&](std::size_t i) {
      return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0;
    };
    // "cluster:2xdgx-h100" and "8xh100": a count stands before the name.
    const bool begins = at == 0 || !is_part(at - 1) || text[at - 1] == 'x';
    if (begins && !is_part(at + gpu.size())) return true;
  }
  return false;
}

std::vector<VendorFloor> floors_of(std::string_view hardware, const Scale& scale) {
  std::string text = lower_case(hardware);
  const int per_node = scale.nodes > 0 ? scale.ranks_per_node() : scale.ranks;
  if (const auto named = machine_named_in(hardware, per_node)) {
    text += " " + lower_case(named->summary);  // "aws p5.48xlarge: 8 h100, .."
  }
  std::vector<VendorFloor> found;
  for (const VendorFloor& row : floor_rows) {
    const bool same_scale = row.ranks == scale.ranks && row.nodes == scale.nodes;
    if (same_scale && names_gpu(text, row.gpu)) found.push_back(row);
  }
  return found;
}

std::string machine_of_gpus(std::string_view hardware, int per_node) {
  if (const auto named = machine_named_in(hardware, per_node)) return named->name;
  const GpuRow* const row = row_of_gpus(hardware, per_node);
  return row == nullptr ? "" : row->machine;
}

bool names_its_machine(std::string_view hardware, int per_node) {
  return machine_named_in(hardware, per_node).has_value();
}

std::vector<std::string> other_machines_of_gpus(std::string_view hardware, int per_node) {
  std::vector<std::string> found;
  const GpuRow* const row = row_of_gpus(hardware, per_node);
  if (row == nullptr || names_its_machine(hardware, per_node)) return found;
  for (const ShippedMachine& each : shipped_machines()) {
    const std::string summary = lower_case(each.summary);  // "aws p4d.24xlarge: 8 a100, 4 efa .."
    const bool as_many = mentions(summary, fmt::format(": {} {}", row->per_node, row->part));
    if (as_many && names_gpu(summary, row->part) && each.name != row->machine) {
      found.push_back(each.name);
    }
  }
  return found;
}

}  // namespace collbench
