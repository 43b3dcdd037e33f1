#include "topologies/import/rates.h"

#include <array>

#include <fmt/format.h>

namespace collbench {
namespace {

constexpr const char* nccl = "NCCL 2.30.7 src/graph/topo.h";

LinkClass rate(std::string name, double nominal_GBps, double reached_GBps, std::string source) {
  return {.name = std::move(name),
          .nominal = {nominal_GBps * 1e9},
          .efficiency = reached_GBps / nominal_GBps,
          .source = std::move(source)};
}

struct Generation {
  double at_most;  // upper end, of compute capabilities or of GT/s
  const char* name;
  double nominal_GBps;  // per link and direction; PCIe: x16
  double reached_GBps;  // the same in NCCL
};

template <std::size_t n>
const Generation& find_generation(const std::array<Generation, n>& table, double value) {
  for (const Generation& row : table) {
    if (value <= row.at_most) return row;
  }
  return table.back();
}

double cpu_GBps(const std::string& arch, const std::string& vendor, int family, int model) {
  if (arch == "ppc64") return 32;
  if (arch == "arm64") return 6;
  if (vendor == "AuthenticAMD") return 16;
  if (vendor == "GenuineIntel" && family == 6) {
    if (model >= 0xCF) return 40;
    if (model >= 0x8F) return 22;
    return model >= 0x55 ? 10 : 6;
  }
  return 10;
}

}  // namespace

LinkClass nvlink_class(int sm) {
  static constexpr std::array<Generation, 6> table{{{69, "nvlink1", 20, 18},
                                                    {79, "nvlink2", 25, 20},
                                                    {85, "nvlink3", 25, 20},
                                                    {89, "nvlink3 (4 lanes)", 14.0625, 12},
                                                    {99, "nvlink4", 25, 20.6},
                                                    {1e9, "nvlink5", 50, 40.1}}};
  const Generation& row = find_generation(table, sm);
  return rate(row.name, row.nominal_GBps, row.reached_GBps,
              fmt::format("nominal: the interface, per link; efficiency: {}, {} of {} GB/s", nccl,
                          row.reached_GBps, row.nominal_GBps));
}

LinkClass xgmi_class(const std::string& gcn) {
  struct Family {
    const char* set;
    double nominal_GBps;
    double reached_GBps;
  };
  static constexpr std::array<Family, 4> table{
      {{"95", 76.8, 48}, {"94", 64, 48}, {"90a", 50, 36}, {"910", 50, 36}}};
  const std::string set = gcn.starts_with("gfx") ? gcn.substr(3) : gcn;
  Family found{"", 46, 24};  // MI50 to MI100; RCCL takes others for them
  for (const Family& family : table) {
    if (set.starts_with(family.set)) found = family;
  }
  return rate("xgmi", found.nominal_GBps, found.reached_GBps,
              fmt::format("nominal: AMD's data sheets, per link; efficiency: ROCm/rccl, "
                          "src/graph/topo.h, {} of {} GB/s",
                          found.reached_GBps, found.nominal_GBps));
}

LinkClass pcie_class(double gigatransfers, int width) {
  // 8b/10b coding below 8 GT/s, 128b/130b up to 32, 242 of 256 bytes of a flit at 64.
  static constexpr std::array<Generation, 6> table{{{2.5, "1", 4, 3},
                                                    {5, "2", 8, 6},
                                                    {8, "3", 15.754, 12},
                                                    {16, "4", 31.508, 24},
                                                    {32, "5", 63.015, 48},
                                                    {1e9, "6", 121, 96}}};
  const bool known = gigatransfers > 0 && width > 0;
  const double lanes = width > 0 ? width : 16;
  const Generation& row = find_generation(table, gigatransfers > 0 ? gigatransfers : 8);
  return rate(fmt::format("pcie{} x{}", row.name, lanes), row.nominal_GBps * lanes / 16,
              row.reached_GBps * lanes / 16,
              fmt::format("nominal: PCI Express{}; efficiency: {}, {} GB/s at x16",
                          known ? "" : ", generation or width assumed as NCCL does", nccl,
                          row.reached_GBps));
}

LinkClass cpu_class(const std::string& arch, const std::string& vendor, int family, int model) {
  const double GBps = cpu_GBps(arch, vendor, family, model);
  const bool known = !arch.empty() || !vendor.empty();
  return rate("cpu to cpu", GBps, GBps, known ? nccl : "assumed: as Intel Skylake in NCCL");
}

LinkClass port_class(double megabits, Seconds latency) {
  const double GBps = megabits > 0 ? megabits / 8000 : 1.25;
  LinkClass port = rate(fmt::format("port {:g} Gb/s", GBps * 8), GBps, GBps,
                        megabits > 0 ? "speed in the file" : "assumed: 10 Gb/s, as NCCL does");
  port.latency = latency;
  port.level = 1;
  return port;
}

Costs nccl_costs(bool has_nvlink, bool has_amd_cpus) {
  const auto us = [](double value) { return Seconds{value * 1e-6}; };
  const char* source = "NCCL 2.30.7 src/graph/tuning.cc, ring latencies";
  const auto inside = [&](double nvlink, double pci) { return us(has_nvlink ? nvlink : pci); };
  Costs costs;
  costs.per_collective = us(6.6);
  const double gap_us = has_amd_cpus ? 2 : 1;  // netOverhead there; three times of it for Simple
  costs.message_gap = {us(0), us(gap_us)};
  costs.protocols = {
      {"LL", 2, {inside(0.6, 1.0), us(2.7)}, {}, source},
      {"LL128", 128.0 / 120, {inside(1.9, 2.5), us(4.0)}, {}, source},
      {"Simple", 1, {inside(3.4, 5.7), us(14.0)}, {}, source, {us(0), us(2 * gap_us)}}};
  return costs;
}

}  // namespace collbench
