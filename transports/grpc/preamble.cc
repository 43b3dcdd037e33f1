#include "transports/grpc/preamble.h"

#include <vector>

#include "core/keyed_digest.h"
#include "core/parse.h"

namespace collbench {

namespace {

constexpr const char* uses[] = {"grpc", "elements"};

std::string proof(std::string_view token, ConnectionUse use, const GrpcIdentity& identity) {
  const std::string part = std::string("connection for ") + uses[static_cast<std::size_t>(use)];
  return proof_of(token, {part, identity.rank, 0, identity.ranks, identity.number, ""});
}

// The words of our header's line in what begins like `start`; none if it is not whole or has no
// such line.
std::vector<std::string> header_words(std::string_view text, std::string_view start) {
  if (!text.starts_with(start) || !text.ends_with(preamble_names::end)) return {};
  const std::string name = std::string("\r\n") + preamble_names::header + ": ";
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + name.size());
  return split_at(rest.substr(0, rest.find('\r')), ' ');
}

}  // namespace

std::string preamble_value(ConnectionUse use, const GrpcIdentity& identity,
                           const std::string& token) {
  return uses[static_cast<std::size_t>(use)] + (' ' + std::to_string(identity.rank)) + ' ' +
         std::to_string(identity.ranks) + ' ' + identity.number + ' ' + proof(token, use, identity);
}

std::optional<Preamble> read_preamble(std::string_view text) {
  const std::vector<std::string> words = header_words(text, preamble_names::start);
  if (words.size() != 5) return std::nullopt;
  Preamble preamble;
  preamble.identity = {small_integer_in(words[1]).value_or(-1),
                       small_integer_in(words[2]).value_or(-1), words[3]};
  preamble.proof = words[4];
  const bool for_elements = words[0] == uses[static_cast<std::size_t>(ConnectionUse::elements)];
  if (!for_elements && words[0] != uses[0]) return std::nullopt;
  preamble.use = for_elements ? ConnectionUse::elements : ConnectionUse::grpc;
  const bool is_whole = preamble.identity.rank >= 0 && preamble.identity.ranks >= 1 &&
                        is_greeting_number(preamble.identity.number);
  return is_whole ? std::optional(preamble) : std::nullopt;
}

bool is_proved(const Preamble& preamble, const std::string& token) {
  return same_secret(preamble.proof, proof(token, preamble.use, preamble.identity));
}

ElementProofs element_proofs(const std::string& token, const GrpcIdentity& caller, Rank to,
                             const std::string& listener_number) {
  const auto of = [&](std::string_view part) {
    return proof_of(token, {part, caller.rank, to, caller.ranks, caller.number, listener_number});
  };
  return {of("listener of elements"), of("caller of elements")};
}

std::string elements_answer(const std::string& number, const std::string& proof) {
  return std::string(preamble_names::granted) + preamble_names::header + ": " + number + ' ' +
         proof + preamble_names::end;
}

std::optional<ElementsAnswer> read_elements_answer(std::string_view text) {
  const std::vector<std::string> words = header_words(text, preamble_names::granted);
  if (words.size() != 2 || !is_greeting_number(words[0])) return std::nullopt;
  return ElementsAnswer{words[0], words[1]};
}

}  // namespace collbench
