#include "transports/world/bootstrap.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/host_port.h"
#include "core/keyed_digest.h"
#include "core/parse.h"
#include "transports/world/bootstrap_messages.h"
#include "transports/world/bootstrap_sockets.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto between_words = Seconds{5};  // or a quarter of the timeout
constexpr const char* gone = "gone";        // sent by a guest whose timeout has passed
constexpr auto between_looks = std::chrono::milliseconds(100);
constexpr auto between_signs = std::chrono::milliseconds(500);  // of life, to guests that wait
constexpr int children_each = 16;
constexpr std::size_t most_named = 32;
constexpr std::size_t strangers = 64;  // at once, beside the ranks

/// When to give up, and when to report again which ranks are missing.
class BootstrapPatience {
 public:
  explicit BootstrapPatience(const Bootstrap& bootstrap)
      : bootstrap_(bootstrap),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(bootstrap.timeout)),
        pause_(std::chrono::duration_cast<Clock::duration>(
            std::min(between_words, bootstrap.timeout / 4))),
        next_word_(Clock::now() + pause_) {}

  /// Throws after the timeout; until then reports now and then which ranks are missing.
  void check(const std::string& missing) {
    bootstrap_.while_waiting();
    const auto now = Clock::now();
    if (now >= end_) give_up(missing);
    if (now < next_word_) return;
    next_word_ = now + pause_;
    say(fmt::format("waiting for {} at {}", missing, bootstrap_.address));
  }
  [[noreturn]] void give_up(const std::string& missing) const {
    throw TransportError(fmt::format("rank {} waited {} for {} at the meeting {}", bootstrap_.rank,
                                     to_string(bootstrap_.timeout), missing, bootstrap_.address));
  }
  /// Whether others, which came a little earlier or later, may have given up by their own timeouts.
  bool nearly_over() const {
    return Clock::now() >=
           end_ - std::chrono::duration_cast<Clock::duration>(bootstrap_.timeout / 4);
  }
  void say(const std::string& text) const {
    if (bootstrap_.on_waiting) bootstrap_.on_waiting(text);
  }

 private:
  const Bootstrap& bootstrap_;
  Clock::time_point end_;
  Clock::duration pause_;
  Clock::time_point next_word_;
};

std::string names_of(const std::vector<Rank>& ranks) {
  const std::vector<Rank> named(
      ranks.begin(), ranks.begin() + std::min<std::ptrdiff_t>(most_named, std::ssize(ranks)));
  const std::string more =
      ranks.size() > most_named ? fmt::format(" and {} more", ranks.size() - most_named) : "";
  return fmt::format("rank{} {}{}", ranks.size() == 1 ? "" : "s", fmt::join(named, ", "), more);
}

/// Why a guest that knows the token cannot be the rank that it says to be; empty if it can.
std::string unfit(const BootstrapGuest& guest, const std::string& host,
                  const Bootstrap& bootstrap) {
  const std::string identity = fmt::format("rank {} at {}", guest.rank, host);
  if (guest.version != bootstrap.version) {
    return fmt::format("{} has version {} where rank {} has {}", identity, guest.version,
                       bootstrap.rank, bootstrap.version);
  }
  if (guest.ranks != bootstrap.ranks) {
    return fmt::format("{} was started for {} ranks, rank {} for {}", identity, guest.ranks,
                       bootstrap.rank, bootstrap.ranks);
  }
  if (guest.rank >= guest.ranks) return fmt::format("{} is not one of {}", identity, guest.ranks);
  return "";
}

/// Serves the table to this rank's children until all of them have it.
void hand_on(const Bootstrap& bootstrap, const std::string& table, Reception& reception,
             BootstrapPatience& patience) {
  std::vector<Rank> left = bootstrap_children(bootstrap.rank, bootstrap.ranks);
  const auto give = [&](Reception::Caller&& caller, const std::string& line) {
    const ReadGuest read = read_guest(line, bootstrap.token, caller.number);
    const auto found = std::find(left.begin(), left.end(), read.guest.rank);
    if (!read.proved || found == left.end()) return;
    if (caller.socket.send(proved_line(table, bootstrap.token, read.guest.number)))
      left.erase(found);
  };
  while (!left.empty()) {
    reception.serve(between_looks, give);
    if (!left.empty()) patience.check(names_of(left) + " to fetch the addresses");
  }
}

/// Rank 0's side.
class BootstrapHost {
 public:
  BootstrapHost(const Bootstrap& bootstrap, int port)
      : bootstrap_(bootstrap),
        patience_(bootstrap),
        address_(parse_host_port("the meeting", bootstrap.address)),
        reception_(to_string({bootstrap.listen, address_.port}), "rank 0",
                   static_cast<std::size_t>(bootstrap.ranks) + strangers),
        guests_(static_cast<std::size_t>(bootstrap.ranks)),
        missing_(bootstrap.ranks - 1) {
    allow_descriptors(descriptors_for(bootstrap.ranks));
    guests_[0].address = to_string({bootstrap.host.empty() ? address_.host : bootstrap.host, port});
  }

  std::vector<std::string> run() {
    try {
      gather();
    } catch (const TransportError& error) {
      for (const Guest& guest : guests_) tell(guest, fmt::format("error {}", error.what()));
      throw;
    }
    return hand_out();
  }

 private:
  struct Guest {
    mutable LineSocket socket;
    std::string number;
    std::string address;  // "" until it has come
    std::string relay;
    std::string host;
  };

  void gather() {
    const auto said = [this](Reception::Caller&& caller, const std::string& line) {
      admit(std::move(caller), line);
    };
    Clock::time_point looked = Clock::now();
    Clock::time_point signed_at = looked;
    while (missing_ > 0) {
      reception_.serve(between_looks, said);
      if (missing_ == 0 || Clock::now() - looked < between_looks) continue;
      looked = Clock::now();
      watch_guests();
      const std::string absent = absent_names();
      patience_.check(absent);
      if (looked - signed_at < between_signs) continue;
      signed_at = looked;
      for (const Guest& guest : guests_) {
        if (guest.socket.is_open()) guest.socket.send("wait " + absent);
      }
    }
  }

  std::vector<Rank> absent_ranks() const {
    std::vector<Rank> ranks;
    for (std::size_t r = 1; r < guests_.size(); ++r) {
      if (guests_[r].address.empty()) ranks.push_back(static_cast<Rank>(r));
    }
    return ranks;
  }

  std::string absent_names() const {
    return names_of(absent_ranks()) + (refused_.empty() ? "" : " (refused: " + refused_ + ")");
  }

  void admit(Reception::Caller&& caller, const std::string& line) {
    const ReadGuest read = read_guest(line, bootstrap_.token, caller.number);
    if (!read.proved) {
      const std::string why = read.fault.empty()
                                  ? fmt::format(
                                        "rank {} at {} belongs to another run: its token "
                                        "differs",
                                        read.guest.rank, caller.host)
                                  : fmt::format("a caller from {}: {}", caller.host, read.fault);
      caller.socket.send("- error " + why);
      if (++strangers_told_ <= most_named) patience_.say("refused " + why);
      refused_ = why;
      return;
    }
    Guest guest{std::move(caller.socket), read.guest.number, "", "", caller.host};
    std::string refusal = unfit(read.guest, guest.host, bootstrap_);
    if (refusal.empty() && read.guest.rank == 0) {
      refusal = fmt::format("rank 0 was started twice, here and at {}", guest.host);
    }
    const auto place = static_cast<std::size_t>(read.guest.rank);
    if (refusal.empty() && !guests_[place].address.empty()) {
      refusal = fmt::format("rank {} was started twice, at {} and at {}", place,
                            guests_[place].host, guest.host);
    }
    if (!refusal.empty()) {
      tell(guest, "error " + refusal);
      throw TransportError(refusal);
    }
    const std::string host = read.guest.host.empty() ? guest.host : read.guest.host;
    guest.address = to_string({host, read.guest.port});
    guest.relay = to_string({host, read.guest.relay_port});
    guests_[place] = std::move(guest);
    --missing_;
  }

  void watch_guests() {
    for (std::size_t r = 1; r < guests_.size(); ++r) {
      LineSocket& guest = guests_[r].socket;
      if (!guest.is_open() || !guest.readable(std::chrono::milliseconds(0))) continue;
      const bool lost = !guest.receive() || guest.received().size() > longest_hello;
      if (guest.take_line() == gone) {
        if (patience_.nearly_over()) patience_.give_up(absent_names());
        throw TransportError(fmt::format("{} did not come to the meeting {}: rank {} has gone",
                                         absent_names(), bootstrap_.address, r));
      }
      if (lost) throw TransportError(fmt::format("rank {} was lost at the start", r));
    }
  }

  void tell(const Guest& guest, const std::string& words) const {
    if (!guest.socket.is_open()) return;
    guest.socket.send(proved_line(words, bootstrap_.token, guest.number));
  }

  std::vector<std::string> hand_out() {
    std::vector<std::string> addresses;
    for (const Guest& guest : guests_) addresses.push_back(guest.address);
    const std::string table = fmt::format("table {}", fmt::join(addresses, " "));
    for (const Rank child : bootstrap_children(0, bootstrap_.ranks)) {
      tell(guests_[static_cast<std::size_t>(child)], table);
    }
    for (Rank parent = 1; parent < bootstrap_.ranks; ++parent) {
      for (const Rank child : bootstrap_children(parent, bootstrap_.ranks)) {
        tell(guests_[static_cast<std::size_t>(child)],
             "ask " + guests_[static_cast<std::size_t>(parent)].relay);
      }
    }
    return addresses;
  }

  const Bootstrap& bootstrap_;
  BootstrapPatience patience_;
  HostPort address_;
  Reception reception_;
  std::vector<Guest> guests_;  // by rank
  int missing_;
  std::size_t strangers_told_ = 0;
  std::string refused_;  // why, of the last stranger
};

/// Another rank's side.
class Attendance {
 public:
  Attendance(const Bootstrap& bootstrap, int port)
      : bootstrap_(bootstrap), patience_(bootstrap), port_(port) {}

  std::vector<std::string> run() {
    std::optional<Reception> relay;
    if (!bootstrap_children(bootstrap_.rank, bootstrap_.ranks).empty()) {
      relay.emplace(to_string(HostPort{bootstrap_.listen, 0}),
                    fmt::format("rank {}", bootstrap_.rank), children_each + strangers);
    }
    BootstrapGuest self;
    self.version = bootstrap_.version;
    self.rank = bootstrap_.rank;
    self.ranks = bootstrap_.ranks;
    self.port = port_;
    self.host = bootstrap_.host;
    if (relay) self.relay_port = relay->port();
    std::string answer = ask(bootstrap_.address, "rank 0", self);
    if (answer.starts_with("ask ")) {
      answer = ask(answer.substr(4), "the rank that has the addresses", self);
    }
    if (answer.starts_with("error ")) throw TransportError(answer.substr(6));
    const std::vector<std::string> addresses = addresses_in(answer);
    if (relay) hand_on(bootstrap_, answer, *relay, patience_);
    return addresses;
  }

 private:
  std::string ask(const std::string& address, const std::string& whom, BootstrapGuest self) {
    const auto check = [&](const std::string& why) {
      patience_.check(fmt::format("{} ({})", whom, why));
    };
    LineSocket host = connect_again(address, BackOff(static_cast<unsigned>(self.rank)), check);
    const std::optional<std::string> number =
        greeted_number(next_line(host, whom, whom, "its greeting", true));
    if (!number) {
      throw TransportError(fmt::format(
          "what listens at {} is not this version's meeting: has the run begun without rank {}?",
          address, self.rank));
    }
    self.number = random_digits();
    host.send(guest_line(self, bootstrap_.token, *number));
    std::string awaited = whom == "rank 0" ? "the ranks that rank 0 waits for" : whom;
    for (;;) {
      const std::string line = next_line(host, awaited, whom, "its answer", false);
      if (line.starts_with("wait ")) {
        awaited = line.substr(5, 500);
        continue;
      }
      if (const auto words = proved_words(line, bootstrap_.token, self.number)) return *words;
      throw TransportError(
          fmt::format("{} at {} does not know the token of this job{}", whom, address,
                      line.starts_with("- error ") ? ", and says: " + line.substr(8, 500) : ""));
    }
  }

  /// A line from `speaker`, which may itself be waiting for `whom`.
  std::string next_line(LineSocket& host, const std::string& whom, const std::string& speaker,
                        const char* what, bool greeting) {
    const auto begun = Clock::now();
    for (;;) {
      if (const std::optional<std::string> line = host.take_line()) return *line;
      if (host.readable(between_looks)) {
        if (!host.receive()) {
          throw TransportError(
              fmt::format("{} was lost at the start, before {}", greeting ? whom : "rank 0", what));
        }
        if (greeting && host.received().size() > longest_hello) return "";
      }
      try {
        // A live host reports now and then which ranks it waits for.
        const bool silent = !greeting && Clock::now() - begun > bootstrap_.timeout / 2;
        patience_.check(silent ? speaker + ", which says nothing more," : whom);
      } catch (const TransportError&) {
        if (!greeting) host.send(gone);  // or this rank would be blamed for the missing ones
        throw;
      }
    }
  }

  std::vector<std::string> addresses_in(const std::string& answer) const {
    std::vector<std::string> addresses = split_at(answer, ' ');
    addresses.erase(addresses.begin());
    if (!answer.starts_with("table ") || std::ssize(addresses) != bootstrap_.ranks) {
      throw TransportError(
          fmt::format("what listens at {} is not a worker of this run", bootstrap_.address));
    }
    return addresses;
  }

  const Bootstrap& bootstrap_;
  BootstrapPatience patience_;
  int port_;
};

}  // namespace

std::vector<Rank> bootstrap_children(Rank rank, int ranks) {
  std::vector<Rank> children;
  for (int i = 1; i <= children_each; ++i) {
    const std::int64_t child = std::int64_t{rank} * children_each + i;
    if (child < ranks) children.push_back(static_cast<Rank>(child));
  }
  return children;
}

std::vector<std::string> meet(const Bootstrap& bootstrap, int port) {
  return bootstrap.rank == 0 ? BootstrapHost(bootstrap, port).run()
                             : Attendance(bootstrap, port).run();
}

}  // namespace collbench
