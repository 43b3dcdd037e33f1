// The messages of a bootstrap: lines of words, each with a proof of the job's token.
//
//   host:  collbench-meeting-2 NUMBER                                  (to whoever connects)
//   guest: hello VERSION RANK RANKS PORT RELAY-PORT HOST NUMBER PROOF  (HOST "-": as you see me)
//   guest: gone                                                        (its timeout has passed)
//   host:  wait TEXT                                                   (now and then)
//   host:  PROOF error TEXT | PROOF table HOST:PORT.. | PROOF ask HOST:PORT | - error TEXT
//
// Numbers are random and of one connection, so that a proof is worth nothing on another. Nothing
// received is trusted before its proof: lines have a bounded length, their words are of few kinds,
// and error messages do not repeat them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "algorithms/schedule.h"

namespace collbench {

constexpr std::size_t longest_hello = 1024;  // bytes

std::string greeting_line(const std::string& number);
/// The number of a greeting; nothing if it is none of this protocol.
std::optional<std::string> greeted_number(std::string_view line);

/// How a guest introduces itself.
struct BootstrapGuest {
  std::string version;
  Rank rank = -1;
  int ranks = 0;
  int port = 0;        // where it listens for the run
  int relay_port = 0;  // where it gives the table to others; 0: nowhere
  std::string host;    // where others reach it; "": where the connection comes from
  std::string number;
};
std::string guest_line(const BootstrapGuest& guest, const std::string& token,
                       const std::string& host_number);

/// A guest's line, read; `fault` is why it is none of ours, and the rest is empty then.
struct ReadGuest {
  BootstrapGuest guest;
  bool proved = false;  // it knows the token
  std::string fault;
};
ReadGuest read_guest(std::string_view line, const std::string& token,
                     const std::string& host_number);

/// A line of the host to a guest of that number: "error ...", "table ..." or "ask ...".
std::string proved_line(const std::string& words, const std::string& token,
                        const std::string& guest_number);
/// The words of such a line; nothing if whoever sent it does not know the token.
std::optional<std::string> proved_words(std::string_view line, const std::string& token,
                                        const std::string& guest_number);

}  // namespace collbench
