#include "transports/grpc/control.h"

#include <algorithm>

#include "core/parse.h"

namespace collbench {

namespace {

using Kind = GrpcControl::Kind;

constexpr struct {
  Kind kind;
  char letter;
} letters[] = {{Kind::welcome, '+'}, {Kind::question, '?'}, {Kind::reply, '!'},
               {Kind::ready, 'r'},   {Kind::begin, 'g'},    {Kind::missing, 'm'}};

std::vector<Rank> read_ranks(std::string_view text, int ranks) {
  std::vector<Rank> found;
  for (const std::string& word : split_at(text, ',')) {
    const std::optional<Rank> rank = small_integer_in(word, 0, ranks - 1);
    if (!rank) break;
    found.push_back(*rank);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

std::string write_control(const GrpcControl& control) {
  std::string message;
  for (const auto& [kind, letter] : letters) {
    if (kind == control.kind) message = letter;
  }
  if (control.kind == Kind::reply) message += control.text.substr(0, longest_control - 1);
  if (control.kind != Kind::missing) return message;
  for (const Rank rank : control.ranks) {
    const std::string next = (message.size() > 1 ? "," : "") + std::to_string(rank);
    if (message.size() + next.size() > longest_control) break;
    message += next;
  }
  return message;
}

GrpcControl read_control(std::string_view message, int ranks) {
  GrpcControl control;
  if (message.empty() || message.size() > longest_control) return control;
  for (const auto& [kind, letter] : letters) {
    if (letter == message.front()) control.kind = kind;
  }
  message.remove_prefix(1);
  if (control.kind == Kind::missing) control.ranks = read_ranks(message, ranks);
  if (control.kind == Kind::reply) {
    control.text = message;
    for (char& c : control.text) {
      if (c < ' ' || c > '~') c = '?';
    }
  }
  return control;
}

Rank joining_parent(Rank rank) { return rank == 0 ? -1 : rank & (rank - 1); }

std::vector<Rank> joining_children(Rank rank, int ranks) {
  std::vector<Rank> children;
  for (std::int64_t bit = 1; bit < ranks && (rank & bit) == 0; bit *= 2) {
    if (rank + bit < ranks) children.push_back(static_cast<Rank>(rank + bit));
  }
  return children;
}

}  // namespace collbench
