#include "bench/meeting.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/line_socket.h"
#include "core/error.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto between_words = std::chrono::seconds(5);
constexpr auto between_attempts = std::chrono::milliseconds(100);

/// When to give up, and when to say again who is missing.
class Patience {
 public:
  explicit Patience(const Meeting& meeting)
      : meeting_(meeting),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(meeting.timeout.count()))),
        next_word_(Clock::now() + between_words) {}

  /// Throws once the time is over; now and then tells `missing`.
  void check(const std::string& missing) {
    const auto now = Clock::now();
    if (now >= end_) {
      throw TransportError(fmt::format("rank {} waited {} for {} at the meeting {}", meeting_.rank,
                                       to_string(meeting_.timeout), missing, meeting_.address));
    }
    if (now < next_word_) return;
    next_word_ = now + between_words;
    if (meeting_.on_waiting) {
      meeting_.on_waiting(fmt::format("waiting for {} at {}", missing, meeting_.address));
    }
  }

 private:
  const Meeting& meeting_;
  Clock::time_point end_;
  Clock::time_point next_word_;
};

/// The secret itself does not travel.
std::string digest(const std::string& token) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : token) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return fmt::format("{:016x}", hash);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& address, bool to_listen) {
  const std::size_t colon = address.rfind(':');
  require(colon != std::string::npos && colon > 0,
          fmt::format("the meeting '{}' is not HOST:PORT", address));
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = to_listen ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  const std::string host = address.substr(0, colon);
  const int failure = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (failure != 0) {
    throw TransportError(
        fmt::format("cannot find the host of the meeting {}: {}", address, gai_strerror(failure)));
  }
  return {found, freeaddrinfo};
}

LineSocket new_socket() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw TransportError(fmt::format("socket: {}", std::strerror(errno)));
  return LineSocket(descriptor);
}

LineSocket listen_at(const std::string& address) {
  const Addresses where = resolve(address, true);
  LineSocket listener = new_socket();
  const int on = 1;
  setsockopt(listener.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener.descriptor(), where->ai_addr, where->ai_addrlen) != 0 ||
      listen(listener.descriptor(), 512) != 0) {
    throw TransportError(
        fmt::format("rank 0 cannot listen at the meeting {}: {}", address, std::strerror(errno)));
  }
  return listener;
}

bool readable(int descriptor, std::chrono::milliseconds patience) {
  pollfd fd{descriptor, POLLIN, 0};
  return poll(&fd, 1, static_cast<int>(patience.count())) > 0;
}

/// The line of a guest: who it is, or why it is refused.
struct Guest {
  Rank rank = -1;
  std::string address;
  std::string refusal;
};

Guest read_guest(const std::string& line, const std::string& host, const Meeting& meeting) {
  std::istringstream words(line);
  std::string name;
  std::string token;
  int ranks = 0;
  int port = 0;
  Guest guest;
  words >> name >> guest.rank >> ranks >> port >> token;
  if (!words || name != "collbench-meeting-1") {
    guest.refusal = fmt::format("{} came to the meeting {} without being a worker of this version",
                                host, meeting.address);
  } else if (token != digest(meeting.token)) {
    guest.refusal = fmt::format("rank {} at {} belongs to another run", guest.rank, host);
  } else if (ranks != meeting.ranks || guest.rank < 1 || guest.rank >= ranks) {
    guest.refusal = fmt::format("rank {} was started for {} ranks, rank 0 for {}", guest.rank,
                                ranks, meeting.ranks);
  }
  guest.address = fmt::format("{}:{}", host, port);
  return guest;
}

class Host {
 public:
  Host(const Meeting& meeting, int port)
      : meeting_(meeting),
        patience_(meeting),
        listener_(listen_at(meeting.address)),
        guests_(static_cast<std::size_t>(meeting.ranks)),
        addresses_(guests_.size()) {
    addresses_[0] =
        fmt::format("{}:{}", meeting.address.substr(0, meeting.address.rfind(':')), port);
  }

  std::vector<std::string> run() {
    try {
      while (!missing().empty()) {
        if (readable(listener_.descriptor(), between_attempts)) admit();
        watch_guests();
        if (!missing().empty()) patience_.check(missing());
      }
    } catch (const TransportError& error) {
      tell_all(fmt::format("error {}", error.what()));
      throw;
    }
    tell_all(fmt::format("ok {}", fmt::join(addresses_, " ")));
    return addresses_;
  }

 private:
  std::string missing() const {
    std::vector<Rank> ranks;
    for (std::size_t r = 1; r < addresses_.size(); ++r) {
      if (addresses_[r].empty()) ranks.push_back(static_cast<Rank>(r));
    }
    if (ranks.empty()) return "";
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
  }

  void admit() {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    LineSocket guest(
        accept4(listener_.descriptor(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC));
    if (guest.descriptor() < 0) return;
    char host[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &from.sin_addr, host, sizeof host);
    // A stranger that connects and says nothing must not hold up the meeting for long.
    std::optional<std::string> line;
    while (!line && readable(guest.descriptor(), std::chrono::seconds(2)) && guest.receive()) {
      line = guest.take_line();
    }
    if (!line) return;
    const Guest who = read_guest(*line, host, meeting_);
    if (!who.refusal.empty()) {
      guest.send("error " + who.refusal);
      throw TransportError(who.refusal);
    }
    const auto place = static_cast<std::size_t>(who.rank);
    if (!addresses_[place].empty()) {
      const std::string twice = fmt::format("rank {} was started twice", who.rank);
      guest.send("error " + twice);
      throw TransportError(twice);
    }
    addresses_[place] = who.address;
    guests_[place] = std::move(guest);
  }

  void watch_guests() {
    for (std::size_t r = 1; r < guests_.size(); ++r) {
      LineSocket& guest = guests_[r];
      if (guest.descriptor() < 0 || !readable(guest.descriptor(), std::chrono::milliseconds(0))) {
        continue;
      }
      if (!guest.receive()) throw TransportError(fmt::format("rank {} was lost at the start", r));
    }
  }

  void tell_all(const std::string& line) {
    for (LineSocket& guest : guests_) {
      if (guest.descriptor() >= 0) guest.send(line);
    }
  }

  const Meeting& meeting_;
  Patience patience_;
  LineSocket listener_;
  std::vector<LineSocket> guests_;      // by rank
  std::vector<std::string> addresses_;  // by rank; "" until it has come
};

LineSocket connect_to_host(const Meeting& meeting, Patience& patience) {
  const Addresses where = resolve(meeting.address, false);
  for (;;) {
    LineSocket socket = new_socket();
    if (connect(socket.descriptor(), where->ai_addr, where->ai_addrlen) == 0) return socket;
    patience.check("rank 0");
    std::this_thread::sleep_for(between_attempts);
  }
}

std::vector<std::string> attend(const Meeting& meeting, int port) {
  Patience patience(meeting);
  LineSocket host = connect_to_host(meeting, patience);
  host.send(fmt::format("collbench-meeting-1 {} {} {} {}", meeting.rank, meeting.ranks, port,
                        digest(meeting.token)));
  std::optional<std::string> line;
  while (!line) {
    if (readable(host.descriptor(), between_attempts)) {
      if (!host.receive()) throw TransportError("rank 0 was lost at the start");
      line = host.take_line();
    }
    if (!line) patience.check("the ranks that rank 0 waits for");
  }
  if (line->starts_with("error ")) throw TransportError(line->substr(6));
  std::istringstream words(*line);
  std::string word;
  std::vector<std::string> addresses;
  for (words >> word; words >> word;) addresses.push_back(word);
  if (std::ssize(addresses) != meeting.ranks) {
    throw TransportError(
        fmt::format("what listens at {} is no worker of this run", meeting.address));
  }
  return addresses;
}

}  // namespace

std::vector<std::string> meet(const Meeting& meeting, int port) {
  return meeting.rank == 0 ? Host(meeting, port).run() : attend(meeting, port);
}

}  // namespace collbench
