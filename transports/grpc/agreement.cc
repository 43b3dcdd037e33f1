#include "transports/grpc/agreement.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "transports/grpc/control.h"

namespace collbench {

namespace {

constexpr std::uint64_t longest_text = 1 << 16;
constexpr std::size_t differences_told = 3;

Region region_of(void* data, std::size_t bytes) {
  return {static_cast<std::byte*>(data), static_cast<std::int64_t>(bytes), DataType::u8};
}

void send_text(Endpoint& endpoint, Rank to, std::string text) {
  std::uint64_t length = text.size();
  endpoint.wait(endpoint.send(to, region_of(&length, sizeof(length))));
  if (length > 0) endpoint.wait(endpoint.send(to, region_of(text.data(), text.size())));
}

std::string recv_text(Endpoint& endpoint, Rank from) {
  std::uint64_t length = 0;
  endpoint.wait(endpoint.recv(from, region_of(&length, sizeof(length))));
  if (length > longest_text) {
    throw TransportError("rank " + std::to_string(from) +
                         " is not comparing settings: it plays another part of the run than rank " +
                         std::to_string(endpoint.rank()));
  }
  std::string text(length, '\0');
  if (length > 0) endpoint.wait(endpoint.recv(from, region_of(text.data(), text.size())));
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string name_of(const std::string& line) { return line.substr(0, line.find('=')); }

// The line of `lines` that sets what `line` sets, or that it is missing.
std::string counterpart(const std::vector<std::string>& lines, const std::string& line) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const std::string& other) {
    return name_of(other) == name_of(line);
  });
  return found == lines.end() ? "no " + name_of(line) : *found;
}

}  // namespace

std::string settings_difference(Rank rank, const std::string& theirs, const std::string& ours) {
  if (theirs == ours) return "";  // also where one name is there twice
  const std::vector<std::string> their_lines = lines_of(theirs);
  const std::vector<std::string> our_lines = lines_of(ours);
  std::vector<std::string> told;
  const auto tell = [&](const std::string& their, const std::string& our) {
    if (their == our) return;
    told.push_back("rank " + std::to_string(rank) + " has " + their + " where rank 0 has " + our);
  };
  for (const std::string& line : our_lines) tell(counterpart(their_lines, line), line);
  for (const std::string& line : their_lines) {
    const std::string our = counterpart(our_lines, line);
    if (our.starts_with("no ") && name_of(our) != name_of(line)) tell(line, our);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(told.size(), differences_told); ++i) {
    text += (i == 0 ? "" : "; ") + told[i];
  }
  return text;
}

void agree(Endpoint& endpoint, const std::string& settings) {
  require(settings.size() <= longest_text, "grpc: the settings to agree on exceed 64 KiB");
  const Rank rank = endpoint.rank();
  const Rank parent = joining_parent(rank);
  const std::vector<Rank> children = joining_children(rank, endpoint.ranks());
  const std::string first = parent < 0 ? settings : recv_text(endpoint, parent);
  for (const Rank child : children) send_text(endpoint, child, first);
  std::string verdict = parent < 0 ? "" : settings_difference(rank, settings, first);
  for (const Rank child : children) {
    const std::string difference = recv_text(endpoint, child);
    if (difference.empty() || verdict.size() + difference.size() > longest_text / 2) continue;
    verdict += (verdict.empty() ? "" : "; ") + difference;
  }
  if (parent >= 0) {
    send_text(endpoint, parent, verdict);
    verdict = recv_text(endpoint, parent);
  }
  for (const Rank child : children) send_text(endpoint, child, verdict);
  if (!verdict.empty()) throw TransportError("the ranks disagree: " + verdict);
}

}  // namespace collbench
