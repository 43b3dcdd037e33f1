// Transfers under way, reused by number: what the tickets of an endpoint stand for.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "transports/endpoint.h"

namespace collbench {

/// Reused objects with stable addresses. Thread safety: none.
template <class Object>
class TicketPool {
 public:
  std::size_t take() {
    if (free_.empty()) {
      free_.push_back(objects_.size());
      objects_.push_back(std::make_unique<Object>());
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::size_t slot) { free_.push_back(slot); }
  Object& operator[](std::size_t slot) { return *objects_[slot]; }
  const Object& operator[](std::size_t slot) const { return *objects_[slot]; }

 private:
  std::vector<std::unique_ptr<Object>> objects_;
  std::vector<std::size_t> free_;
};

// The tickets of a pool of sends and one of receives: 0 is complete already, odd ones are sends,
// even ones receives.
inline Endpoint::Ticket send_ticket(std::size_t slot) { return 2 * slot + 1; }
inline Endpoint::Ticket receive_ticket(std::size_t slot) { return 2 * slot + 2; }
inline bool is_send(Endpoint::Ticket ticket) { return ticket % 2 == 1; }
/// Of a ticket that is not 0.
inline std::size_t slot_of(Endpoint::Ticket ticket) { return (ticket - 1) / 2; }

}  // namespace collbench
