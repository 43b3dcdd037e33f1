#include "transports/world/joined_memory.h"

#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace collbench {

JoinedMemory::JoinedMemory(const Backend& backend, const WorldSpec& spec, Rank rank,
                           Seconds timeout, std::span<const pid_t> processes,
                           const std::string& paths)
    : backend_(backend), spec_(spec), over_(eventfd(0, EFD_CLOEXEC)) {
  const Bytes control = Control::bytes(spec.ranks);
  const bool has_arena = backend.arena_bytes != nullptr;
  if (paths.empty()) {
    control_memory_ = SharedMemory::create(control);
    control_ = Control::create(control_memory_.data(), spec.ranks);
    if (has_arena) {
      arena_ = SharedMemory::create(backend.arena_bytes(spec));
      backend.lay_out_arena(spec, arena_.data(), timeout);
    }
  } else {
    const std::size_t space = paths.find(' ');
    control_memory_ = SharedMemory::open(paths.substr(0, space), control);
    control_ = Control::attach(control_memory_.data());
    if (has_arena) arena_ = SharedMemory::open(paths.substr(space + 1), backend.arena_bytes(spec));
  }
  rendezvous_.emplace(*control_, rank, timeout);
  watch(processes);
}

std::string JoinedMemory::paths() const {
  const bool has_arena = arena_.data() != nullptr;
  return control_memory_.path() + (has_arena ? " " + arena_.path() : "");
}

JoinedMemory::~JoinedMemory() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(over_.number(), &one, sizeof one);
  if (watcher_.joinable()) watcher_.join();
}

void JoinedMemory::abort(const Fault& fault) const {
  control_->abort(fault);
  if (backend_.abort != nullptr) backend_.abort(spec_, arena_.data(), fault.what);
}

// Asleep until something ends, so it takes nothing from what is measured.
void JoinedMemory::watch(std::span<const pid_t> processes) {
  std::vector<pollfd> ends;
  std::vector<Descriptor> handles;
  for (const pid_t process : processes) {
    handles.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    ends.push_back({.fd = handles.back().number(), .events = POLLIN, .revents = 0});
  }
  ends.push_back({.fd = over_.number(), .events = POLLIN, .revents = 0});
  watcher_ = std::thread([this, ends, handles = std::move(handles)]() mutable {
    while (poll(ends.data(), ends.size(), -1) < 0) continue;
    if (ends.back().revents != 0) return;
    for (std::size_t rank = 0; rank + 1 < ends.size(); ++rank) {
      if (ends[rank].revents == 0) continue;
      abort({FaultKind::transport, static_cast<Rank>(rank), fmt::format("rank {} ended", rank)});
      return;
    }
  });
}

}  // namespace collbench
