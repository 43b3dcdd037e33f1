#include "simulator/event_queue.h"

#include <algorithm>

namespace collbench {

std::int32_t EventQueue::new_list(double time, Recent& recent) {
  std::int32_t list = 0;
  if (free_lists_.empty()) {
    list = static_cast<std::int32_t>(lists_.size());
    lists_.emplace_back();
  } else {
    list = free_lists_.back();
    free_lists_.pop_back();
    lists_[static_cast<std::size_t>(list)] = {};
  }
  // A list that another one displaces here is never appended to again, so that of two lists of
  // equal time the older one holds the earlier events.
  recent = {time, list};
  heap_.emplace_back();
  settle(heap_.size() - 1, {time, sequence_++, list});
  return list;
}

void EventQueue::drop_list(std::int32_t list) {
  const std::size_t place = lists_[static_cast<std::size_t>(list)].place;
  Recent& recent = recent_[slot(heap_[place].time)];
  if (recent.list == list) recent.list = -1;
  free_lists_.push_back(list);
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place < heap_.size()) settle(place, last);
}

// Puts `entry` into the free `place`, moving it up or down to where the heap wants it.
void EventQueue::settle(std::size_t place, Entry entry) {
  const auto put = [this](std::size_t at, const Entry& moved) {
    heap_[at] = moved;
    lists_[static_cast<std::size_t>(moved.list)].place = at;
  };
  while (place > 0 && entry < heap_[(place - 1) / 4]) {
    put(place, heap_[(place - 1) / 4]);
    place = (place - 1) / 4;
  }
  for (;;) {
    const std::size_t first = 4 * place + 1;
    if (first >= heap_.size()) break;
    const auto begin = heap_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = heap_.begin() + static_cast<std::ptrdiff_t>(std::min(first + 4, heap_.size()));
    const auto least = std::min_element(begin, end);
    if (!(*least < entry)) break;
    const auto from = static_cast<std::size_t>(least - heap_.begin());
    put(place, heap_[from]);
    place = from;
  }
  put(place, entry);
}

}  // namespace collbench
