#include "transports/world/bootstrap_messages.h"

#include <fmt/format.h>

#include "core/keyed_digest.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr std::string_view protocol = "collbench-meeting-2 ";
constexpr std::size_t number_length = 32;
constexpr std::size_t proof_length = 64;
constexpr int most_joining_ranks = 1 << 20;

bool is_hexadecimal(std::string_view word, std::size_t length) {
  return word.size() == length &&
         word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string words_before_proof(const BootstrapGuest& guest) {
  return fmt::format("hello {} {} {} {} {} {} {}", guest.version, guest.rank, guest.ranks,
                     guest.port, guest.relay_port, guest.host.empty() ? "-" : guest.host,
                     guest.number);
}

/// The guest that words describe, without proof; nothing if they describe none.
std::optional<BootstrapGuest> guest_of(const std::vector<std::string>& words) {
  BootstrapGuest guest;
  if (words.size() != 9 || words[0] != "hello") return std::nullopt;
  const auto rank = small_integer_in(words[2], 0, most_joining_ranks);
  const auto ranks = small_integer_in(words[3], 1, most_joining_ranks);
  if (!rank || !ranks) return std::nullopt;
  guest.version = words[1];
  guest.rank = *rank;
  guest.ranks = *ranks;
  guest.number = words[7];
  if (!is_hexadecimal(guest.number, number_length)) return std::nullopt;
  const auto port = small_integer_in(words[4], 1, 65'535);
  const auto relay_port = small_integer_in(words[5], 0, 65'535);
  if (!port || !relay_port) return std::nullopt;
  guest.port = *port;
  guest.relay_port = *relay_port;
  if (words[6] != "-") guest.host = words[6];
  return guest;
}

}  // namespace

std::string greeting_line(const std::string& number) { return std::string(protocol) + number; }

std::optional<std::string> greeted_number(std::string_view line) {
  if (!line.starts_with(protocol)) return std::nullopt;
  line.remove_prefix(protocol.size());
  if (!is_hexadecimal(line, number_length)) return std::nullopt;
  return std::string(line);
}

std::string guest_line(const BootstrapGuest& guest, const std::string& token,
                       const std::string& host_number) {
  const std::string words = words_before_proof(guest);
  return words + " " + keyed_digest(token, words + " " + host_number);
}

ReadGuest read_guest(std::string_view line, const std::string& token,
                     const std::string& host_number) {
  ReadGuest read;
  const std::vector<std::string> words = split_at(line, ' ');
  const std::optional<BootstrapGuest> guest = guest_of(words);
  if (!guest || !is_hexadecimal(words.back(), proof_length)) {
    read.fault = "what it says is not what a worker says";
    return read;
  }
  read.guest = *guest;
  const std::string said(line.substr(0, line.size() - proof_length - 1));
  read.proved = same_secret(words.back(), keyed_digest(token, said + " " + host_number));
  return read;
}

std::string proved_line(const std::string& words, const std::string& token,
                        const std::string& guest_number) {
  return keyed_digest(token, guest_number + " " + words) + " " + words;
}

std::optional<std::string> proved_words(std::string_view line, const std::string& token,
                                        const std::string& guest_number) {
  if (line.size() <= proof_length || line[proof_length] != ' ') return std::nullopt;
  std::string words(line.substr(proof_length + 1));
  const std::string proof = keyed_digest(token, guest_number + " " + words);
  if (!same_secret(line.substr(0, proof_length), proof)) return std::nullopt;
  return words;
}

}  // namespace collbench
