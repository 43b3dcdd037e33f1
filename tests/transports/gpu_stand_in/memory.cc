// The part of device memory: of this process, and of others that have told a handle of theirs.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/transports/gpu_stand_in/stand_in.h"

namespace stand_in {
namespace {

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int invalid_context = 201;
constexpr int map_failed = 205;
constexpr int peer_access_unsupported = 217;
constexpr std::size_t memory_of_a_device = std::size_t{1} << 30;
constexpr std::size_t page = 4096;

// Behind the bytes of each block, where every process that has it open sees it.
struct Ledger {
  std::atomic<int> opened;
};

struct Block {
  std::byte* real = nullptr;
  std::size_t size = 0;
  int file = -1;  // of a block of our own
  int device = -1;
  Ledger& ledger() const { return *reinterpret_cast<Ledger*>(real + size); }
};

// What is in the 64 bytes of a handle.
struct Handle {
  int process;
  int file;
  int device;
  std::size_t size;
};
using HandleBytes = std::array<std::byte, 64>;

std::mutex memory_mutex;
std::map<std::uintptr_t, Block> blocks;
std::size_t allocated = 0;

// Maps the file of a block, and an address for it that nobody can touch.
void* place(Block block) {
  void* const real =
      mmap(nullptr, block.size + page, PROT_READ | PROT_WRITE, MAP_SHARED, block.file, 0);
  void* const given = mmap(nullptr, block.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  block.real = static_cast<std::byte*>(real);
  blocks[reinterpret_cast<std::uintptr_t>(given)] = block;
  return given;
}

void unplace(std::map<std::uintptr_t, Block>::iterator found) {
  munmap(found->second.real, found->second.size + page);
  munmap(reinterpret_cast<void*>(found->first), found->second.size);
  blocks.erase(found);
}

}  // namespace

std::byte* behind(const void* device_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(device_address);
  const std::lock_guard lock(memory_mutex);
  auto found = blocks.upper_bound(address);
  if (found == blocks.begin()) return nullptr;
  --found;
  const std::size_t offset = address - found->first;
  return offset < found->second.size ? found->second.real + offset : nullptr;
}

void* allocate(std::size_t bytes) {
  const std::lock_guard lock(memory_mutex);
  if (bytes == 0 || allocated + bytes > memory_of_a_device) return nullptr;
  const std::size_t length = (bytes + page - 1) / page * page;
  const int file = memfd_create("stand-in", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(length + page)) != 0) return nullptr;
  allocated += length;
  return place({nullptr, length, file, current_device()});
}

bool release(void* device_address) {
  const std::lock_guard lock(memory_mutex);
  const auto found = blocks.find(reinterpret_cast<std::uintptr_t>(device_address));
  if (found == blocks.end() || found->second.file < 0) return false;
  if (found->second.ledger().opened > 0) {
    std::fputs("stand-in: memory is freed that another process has open\n", stderr);
    std::abort();
  }
  close(found->second.file);
  allocated -= found->second.size;
  unplace(found);
  return true;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

int cuIpcGetMemHandle(HandleBytes* bytes, std::uint64_t pointer) {
  const std::lock_guard lock(memory_mutex);
  const auto found = blocks.find(static_cast<std::uintptr_t>(pointer));
  if (found == blocks.end() || found->second.file < 0) return invalid_value;
  const Handle handle{getpid(), found->second.file, found->second.device, found->second.size};
  *bytes = {};
  std::memcpy(bytes->data(), &handle, sizeof handle);
  return success;
}

int cuIpcOpenMemHandle_v2(std::uint64_t* pointer, HandleBytes bytes, unsigned) {
  Handle handle{};
  std::memcpy(&handle, bytes.data(), sizeof handle);
  if (handle.process == getpid()) return invalid_context;
  if (handle.device != current_device() && setting("STAND_IN_PEERS", "all") == "none") {
    return peer_access_unsupported;
  }
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return map_failed;
  const std::lock_guard lock(memory_mutex);
  void* const given = place({nullptr, handle.size, file, handle.device});
  close(file);
  Block& block = blocks[reinterpret_cast<std::uintptr_t>(given)];
  block.file = -1;
  ++block.ledger().opened;
  *pointer = reinterpret_cast<std::uint64_t>(given);
  return success;
}

int cuIpcCloseMemHandle(std::uint64_t pointer) {
  const std::lock_guard lock(memory_mutex);
  const auto found = blocks.find(static_cast<std::uintptr_t>(pointer));
  if (found == blocks.end() || found->second.file >= 0) return invalid_value;
  --found->second.ledger().opened;
  unplace(found);
  return success;
}

}  // extern "C"
