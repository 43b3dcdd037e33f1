// A queue of events in the order of (time, sequence), fast when many share one time.
//
// Simulated machines are symmetric, so thousands of events fall on one moment. Events of equal time
// form a list in the order of arrival, and a heap holds the lists: appending to a known time and
// taking the next of a list are O(1), only new times cost O(log times).
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <limits>
#include <vector>

namespace collbench {

/// Each id 0 .. ids-1 waits for at most one event. Thread safety: belongs to one thread.
class EventQueue {
 public:
  void resize(std::size_t ids) { nodes_.resize(ids); }
  bool empty() const { return heap_.empty(); }
  bool holds(std::int32_t id) const { return node(id).list >= 0; }
  /// Requires that the queue is not empty.
  double next_time() const { return heap_[0].time; }
  /// Events up to here belong to the moment that begins at `time`.
  static double moment_end(double time) {
    return time + 4 * std::numeric_limits<double>::epsilon() * time;
  }

  /// Requires that `id` waits for nothing yet.
  void push(std::int32_t id, double time) {
    assert(!holds(id));
    Recent& recent = recent_[slot(time)];
    const std::int32_t list =
        recent.list >= 0 && recent.time == time ? recent.list : new_list(time, recent);
    List& to = lists_[static_cast<std::size_t>(list)];
    node(id) = {-1, to.tail, list};
    if (to.tail >= 0) {
      node(to.tail).next = id;
    } else {
      to.head = id;
    }
    to.tail = id;
  }

  /// Takes the first event. Requires that the queue is not empty.
  std::int32_t pop() {
    const std::int32_t id = lists_[static_cast<std::size_t>(heap_[0].list)].head;
    remove(id);
    return id;
  }

  /// Requires that `id` waits.
  void remove(std::int32_t id) {
    Node& gone = node(id);
    List& list = lists_[static_cast<std::size_t>(gone.list)];
    (gone.previous >= 0 ? node(gone.previous).next : list.head) = gone.next;
    (gone.next >= 0 ? node(gone.next).previous : list.tail) = gone.previous;
    if (list.head < 0) drop_list(gone.list);
    gone.list = -1;
  }

 private:
  struct Node {
    std::int32_t next = -1;
    std::int32_t previous = -1;
    std::int32_t list = -1;  // -1: not queued
  };
  struct List {
    std::int32_t head = -1;
    std::int32_t tail = -1;
    std::size_t place = 0;  // in the heap
  };
  struct Entry {
    double time;
    std::uint64_t sequence;
    std::int32_t list;
    bool operator<(const Entry& other) const {
      return time < other.time || (time == other.time && sequence < other.sequence);
    }
  };
  struct Recent {
    double time = 0;
    std::int32_t list = -1;
  };

  Node& node(std::int32_t id) { return nodes_[static_cast<std::size_t>(id)]; }
  const Node& node(std::int32_t id) const { return nodes_[static_cast<std::size_t>(id)]; }
  static std::size_t slot(double time) {
    return static_cast<std::size_t>((std::bit_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15u) >>
                                    (64 - recent_bits));
  }

  std::int32_t new_list(double time, Recent& recent);
  void drop_list(std::int32_t list);
  void settle(std::size_t place, Entry entry);

  static constexpr int recent_bits = 10;
  std::vector<Node> nodes_;
  std::vector<List> lists_;
  std::vector<std::int32_t> free_lists_;
  std::vector<Entry> heap_;  // four children per entry
  std::array<Recent, std::size_t{1} << recent_bits> recent_;
  std::uint64_t sequence_ = 0;
};

}  // namespace collbench
