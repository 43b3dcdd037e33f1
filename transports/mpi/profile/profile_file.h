// The file that a profiled process writes while it runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transports/mpi/profile/profile_format.h"

namespace collbench {

/// Leaves a note in the folder, for `collbench profile` to show: the program's own output is not
/// ours.
void write_profile_problem(const char* folder, const char* text);

/// Thread safety: calls may begin and end on any number of threads; the rest belongs to one.
class ProfileFile {
 public:
  /// Makes and maps the file of this process in `folder`. False, with a note in it, if that fails:
  /// the program then runs without being profiled.
  bool open(const char* folder, std::uint64_t capacity, int rank, int ranks);
  /// Cuts off the room that was not used.
  void close(bool finished);

  bool is_open() const { return header_ != nullptr; }
  ProfileHeader& header() { return *header_; }
  /// Room for `most_profiled_communicators`.
  ProfiledCommunicator* communicators() { return communicators_; }
  /// The slot of a call that begins.
  MpiCallRecord& next() {
    const std::uint64_t number =
        std::atomic_ref(header_->calls).fetch_add(1, std::memory_order_relaxed);
    return calls_[number % capacity_];
  }

 private:
  ProfileHeader* header_ = nullptr;
  ProfiledCommunicator* communicators_ = nullptr;
  MpiCallRecord* calls_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::size_t bytes_ = 0;
  std::array<char, 4096> path_{};
};

}  // namespace collbench
