// The part of NVML: machines by name.
#include <cstring>
#include <vector>

#include "tests/transports/gpu_stand_in/stand_in.h"

namespace {

constexpr int success = 0;
constexpr int no_such_link = 2;
constexpr int driver_not_loaded = 9;

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

// GPUs of the same kind; those of one switch, of one socket.
struct Machine {
  const char* name;
  unsigned gpus;
  int major;
  int minor;
  unsigned switch_links;
  unsigned peer_links;  // to the only other GPU
  unsigned gpus_per_socket;
  unsigned pcie_generation;
  unsigned power_mw;
  unsigned clock_most;
};

const Machine& machine() {
  static constexpr Machine h100{"NVIDIA H100 80GB HBM3", 8, 9, 0, 18, 0, 4, 5, 700'000, 1980};
  static constexpr Machine h200{"NVIDIA H200", 1, 9, 0, 18, 0, 1, 5, 700'000, 1980};
  static constexpr Machine v100{"Tesla V100-SXM2-16GB", 2, 7, 0, 0, 2, 2, 3, 300'000, 1530};
  static constexpr Machine a40{"NVIDIA A40", 4, 8, 6, 0, 0, 2, 4, 300'000, 1740};
  const std::string wanted = stand_in::setting("STAND_IN_MACHINE", "8xh100");
  if (wanted == "h200") return h200;
  if (wanted == "2xv100") return v100;
  return wanted == "4xa40" ? a40 : h100;
}

// Handles are numbers from one.
unsigned number(void* device) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}
unsigned socket_of(unsigned gpu) { return gpu / machine().gpus_per_socket; }
void fill(PciInfo* pci, unsigned gpu) {
  *pci = {};
  pci->bus = 0x10 + gpu * 0x10;
}
int give(unsigned* place, unsigned value) {
  *place = value;
  return success;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return stand_in::setting("STAND_IN_MACHINE", "") == "none" ? driver_not_loaded : success;
}
int nvmlShutdown() { return success; }
const char* nvmlErrorString(int error) {
  return error == driver_not_loaded ? "Driver Not Loaded" : "Not Supported";
}
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "580.65.06", length);
  return success;
}
int nvmlDeviceGetCount_v2(unsigned* count) { return give(count, machine().gpus); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index) + 1);
  return success;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::strncpy(name, machine().name, length);
  return success;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* pci) {
  fill(pci, number(device));
  return success;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* total_free_used) {
  total_free_used[0] = 80ULL << 30;
  total_free_used[1] = total_free_used[0];
  total_free_used[2] = 0;
  return success;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = machine().major;
  *minor = machine().minor;
  return success;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  return give(mhz, type == 2 ? 2619 : machine().clock_most - 60);
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) { return give(mhz, machine().clock_most); }
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  return give(milliwatts, machine().power_mw);
}
/// Idle, and GPU 3 of a large machine too warm.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = number(device) == 3 && machine().gpus == 8 ? 0x21 : 0x01;
  return success;
}
int nvmlDeviceGetEccMode(void*, int* now, int* later) {
  *now = *later = 1;
  return success;
}
int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* later) {
  *now = *later = 0;
  return machine().major >= 8 ? success : 3;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
  return give(generation, machine().pcie_generation);
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) { return give(width, 16); }
int nvmlDeviceGetCpuAffinity(void* device, unsigned, unsigned long* words) {
  words[0] = socket_of(number(device)) == 0 ? 0x00000000000000ffUL : 0x000000000000ff00UL;
  return success;
}
int nvmlDeviceGetMemoryAffinity(void* device, unsigned, unsigned long* words, int) {
  words[0] = 1UL << socket_of(number(device));
  return success;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  const Machine& here = machine();
  *active = 1;
  return link < here.switch_links + here.peer_links ? success : no_such_link;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* type) {
  *type = machine().switch_links > 0 ? 2 : 0;
  return success;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, PciInfo* pci) {
  fill(pci, 1 - number(device) % 2);
  return success;
}
int nvmlDeviceGetTopologyCommonAncestor(void* a, void* b, int* level) {
  *level = socket_of(number(a)) != socket_of(number(b)) ? 50 : machine().gpus == 4 ? 10 : 40;
  return success;
}

}  // extern "C"
