#include "tests/transports/mpi_endpoint_ranks.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "transports/mpi/mpi_endpoint.h"

// Of any MPI, whose requests, statuses, types and communicators may be anything.
extern "C" int PMPI_Test(void* request, int* flag, void* status);
extern "C" int PMPI_Irecv(void* into, int count, void* type, int source, int tag,
                          void* communicator, void* request);

namespace collbench {
namespace {

int blind_looks = 0;  // that find nothing whatever has come
std::vector<void*> received_into;

// Messages of many pieces, to be reduced and not, whose ends are awaited in another order than
// that in which they come.
int play_out_of_order() {
  const auto endpoint = make_mpi_endpoint(Seconds{20});
  constexpr std::int64_t count = 300'007;
  std::vector<std::vector<std::int32_t>> vectors;
  std::vector<Region> regions;
  for (int i = 0; i < 4; ++i) {
    vectors.emplace_back(count, endpoint->rank() == 0 ? i + 1 : 10);
    regions.push_back({reinterpret_cast<std::byte*>(vectors.back().data()), count, DataType::i32});
  }
  std::vector<Endpoint::Ticket> tickets;
  const Rank source = 0;
  for (int i = 0; i < 4; ++i) {
    const Region& region = regions[static_cast<std::size_t>(i)];
    if (endpoint->rank() == 0) {
      tickets.push_back(endpoint->send(1, region));
    } else if (i == 1) {
      tickets.push_back(endpoint->recv(0, region));
    } else {
      tickets.push_back(endpoint->recv_reduce({&source, 1}, region, region, {}));
    }
  }
  while (!endpoint->try_wait(tickets[3])) continue;
  for (const std::size_t i : {1, 0, 2}) endpoint->wait(tickets[i]);
  if (endpoint->rank() == 0) return 0;
  const std::vector<std::int32_t> right{11, 2, 13, 14};
  for (std::size_t i = 0; i < 4; ++i) {
    if (vectors[i] != std::vector<std::int32_t>(count, right[i])) return 1;
  }
  return 0;
}

// A rank that shares its core is given it back after a look that found nothing, and what it awaits
// may have come meanwhile: a try looks again before it says no. So it does where the first look of
// two messages that are there misses them.
int try_twice() {
  const auto endpoint = make_mpi_endpoint(Seconds{20});
  std::vector<std::int32_t> values(3, endpoint->rank() + 1);
  const auto value = [&](int i) {
    return Region{reinterpret_cast<std::byte*>(&values[static_cast<std::size_t>(i)]), 1,
                  DataType::i32};
  };
  if (endpoint->rank() == 1) {
    for (const int i : {0, 1, 2}) endpoint->wait(endpoint->send(0, value(i)));
    return 0;
  }
  std::vector<Endpoint::Ticket> tickets;
  for (const int i : {0, 1, 2}) tickets.push_back(endpoint->recv(1, value(i)));
  endpoint->wait(tickets[2]);  // the last sent, so the others are there
  for (const int i : {0, 1}) {
    blind_looks = 1;
    if (!endpoint->try_wait(tickets[static_cast<std::size_t>(i)])) return 1;
  }
  return values == std::vector<std::int32_t>(3, 2) ? 0 : 1;
}

// A long message that is only to be added to goes where the sum will be, unless another transfer
// still has that memory. All messages are there before the first is asked for.
int sum_in_place_of_others() {
  const auto endpoint = make_mpi_endpoint(Seconds{20});
  constexpr std::int64_t count = 50'000;
  std::vector<std::vector<std::int32_t>> vectors;
  for (const int value : {1, 2, 4}) vectors.emplace_back(count, value);
  const auto region = [&](std::size_t i) {
    return Region{reinterpret_cast<std::byte*>(vectors[i].data()), count, DataType::i32};
  };
  std::int32_t word = 0;
  const Region last{reinterpret_cast<std::byte*>(&word), 1, DataType::i32};
  const Rank source = 1;
  std::vector<Endpoint::Ticket> tickets;
  if (endpoint->rank() == 1) {
    for (const std::size_t i : {0, 1, 2}) tickets.push_back(endpoint->send(0, region(i)));
    tickets.push_back(endpoint->send(0, last));
    for (const Endpoint::Ticket ticket : tickets) endpoint->wait(ticket);
    return 0;
  }
  received_into.clear();
  tickets.push_back(endpoint->recv_reduce({&source, 1}, region(0), region(1), {}));
  tickets.push_back(endpoint->recv_reduce({&source, 1}, region(2), region(0), {}));
  tickets.push_back(endpoint->recv_reduce({&source, 1}, region(1), region(2), {}));
  const auto arrives_in = [&](std::size_t message, std::size_t vector) {
    return received_into[message] == vectors[vector].data();
  };
  if (!arrives_in(0, 1) || arrives_in(1, 0) || arrives_in(2, 2)) return 1;
  endpoint->wait(endpoint->recv(1, last));
  for (const std::size_t i : {0, 1, 2}) endpoint->wait(tickets[i]);
  const std::vector<std::int32_t> right{6, 2, 6};
  for (const std::size_t i : {0, 1, 2}) {
    if (vectors[i] != std::vector<std::int32_t>(count, right[i])) return 1;
  }
  return 0;
}

// Vectors of the two that follow, and what is in them.
constexpr std::int64_t long_count = 50'000;
class LongVectors {
 public:
  LongVectors(int vectors, std::int32_t value)
      : vectors_(static_cast<std::size_t>(vectors), std::vector<std::int32_t>(long_count, value)) {}
  Region region(std::size_t i) {
    return {reinterpret_cast<std::byte*>(vectors_[i].data()), long_count, DataType::i32};
  }
  bool has(std::size_t i, std::int32_t value) const {
    return vectors_[i] == std::vector<std::int32_t>(long_count, value);
  }

 private:
  std::vector<std::vector<std::int32_t>> vectors_;
};

// A transfer that is complete has its memory no longer, though others begun before are open.
int sum_where_another_was() {
  const auto endpoint = make_mpi_endpoint(Seconds{20});
  LongVectors vectors(2, endpoint->rank() + 1);
  std::int32_t word = 0;
  const Region open{reinterpret_cast<std::byte*>(&word), 1, DataType::i32};
  const Rank source = 1;
  if (endpoint->rank() == 1) {
    const Endpoint::Ticket last = endpoint->recv(0, open);
    for (const std::size_t i : {0, 1}) endpoint->wait(endpoint->send(0, vectors.region(i)));
    endpoint->wait(last);
    return 0;
  }
  const Endpoint::Ticket first = endpoint->send(1, open);
  received_into.clear();
  for (const std::size_t into : {1, 0}) {
    endpoint->wait(
        endpoint->recv_reduce({&source, 1}, vectors.region(1 - into), vectors.region(into), {}));
  }
  endpoint->wait(first);
  const bool is_direct =
      received_into[0] == vectors.region(1).data && received_into[1] == vectors.region(0).data;
  return is_direct && vectors.has(1, 3) && vectors.has(0, 5) ? 0 : 1;
}

// Long sums that replace their own term need staging memory, which two have at a time: the next one
// gets it when one is complete, or when it is waited for itself.
int stage_two_sums() {
  const auto endpoint = make_mpi_endpoint(Seconds{20});
  const Rank source = 1;
  for (const bool in_order : {true, false}) {
    constexpr int sums = 5;
    LongVectors vectors(sums, endpoint->rank() + 1);
    std::vector<Endpoint::Ticket> tickets;
    received_into.clear();
    for (std::size_t i = 0; i < sums; ++i) {
      const Region region = vectors.region(i);
      tickets.push_back(endpoint->rank() == 1
                            ? endpoint->send(0, region)
                            : endpoint->recv_reduce({&source, 1}, region, region, {}));
    }
    if (endpoint->rank() == 0 && received_into.size() != 2) return 1;
    if (!in_order) endpoint->wait(tickets.back());
    for (std::size_t i = 0; i < sums - (in_order ? 0 : 1); ++i) {
      endpoint->wait(tickets[i]);
      if (endpoint->rank() == 0 && in_order &&
          received_into.size() != std::min<std::size_t>(i + 3, sums)) {
        return 1;
      }
    }
    for (std::size_t i = 0; endpoint->rank() == 0 && i < sums; ++i) {
      if (!vectors.has(i, 3)) return 1;
    }
  }
  return 0;
}

// Far more messages than may be underway at once, each longer than MPI sends unasked, both ways
// before either rank waits.
int flood() {
  const auto endpoint = make_mpi_endpoint(Seconds{20});
  constexpr std::int64_t messages = 600;
  constexpr std::int64_t count = 20'000;
  const Rank other = 1 - endpoint->rank();
  std::vector<std::int32_t> sent(messages * count, endpoint->rank() + 1);
  std::vector<std::int32_t> received(messages * count);
  const auto part = [&](std::vector<std::int32_t>& of, std::int64_t message) {
    return Region{reinterpret_cast<std::byte*>(of.data() + message * count), count, DataType::i32};
  };
  std::vector<Endpoint::Ticket> tickets;
  for (std::int64_t i = 0; i < messages; ++i) {
    tickets.push_back(endpoint->send(other, part(sent, i)));
  }
  for (std::int64_t i = 0; i < messages; ++i) {
    tickets.push_back(endpoint->recv(other, part(received, i)));
  }
  for (const Endpoint::Ticket ticket : tickets) endpoint->wait(ticket);
  return received == std::vector<std::int32_t>(messages * count, other + 1) ? 0 : 1;
}

}  // namespace

int play_endpoint(const std::string& part) {
  if (part == "order") return play_out_of_order();
  if (part == "twice") return try_twice();
  if (part == "sums") return sum_in_place_of_others();
  if (part == "freed") return sum_where_another_was();
  if (part == "staged") return stage_two_sums();
  return part == "flood" ? flood() : 2;
}

}  // namespace collbench

extern "C" int MPI_Irecv(void* into, int count, void* type, int source, int tag, void* communicator,
                         void* request) {
  collbench::received_into.push_back(into);
  return PMPI_Irecv(into, count, type, source, tag, communicator, request);
}

extern "C" int MPI_Test(void* request, int* flag, void* status) {
  if (collbench::blind_looks == 0) return PMPI_Test(request, flag, status);
  --collbench::blind_looks;
  *flag = 0;
  return 0;
}
