#include "transports/world/agreement.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "transports/world/shared_rendezvous.h"

namespace collbench {
namespace {

// What a rank answers that cannot take part is its reason, led by one of these.
constexpr char refused = 'r';
constexpr char failed = 'f';

}  // namespace

std::vector<std::string> gather_text(const std::string& mine, Rendezvous& rendezvous) {
  const auto length = static_cast<std::int64_t>(mine.size());
  const std::vector<std::int64_t> lengths = rendezvous.gather(std::span(&length, 1));
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<std::int64_t> words(static_cast<std::size_t>(longest / 8 + 1));
  std::memcpy(words.data(), mine.data(), mine.size());
  const std::vector<std::int64_t> all = rendezvous.gather(words);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    const auto* start = reinterpret_cast<const char*>(all.data() + r * words.size());
    texts.emplace_back(start, static_cast<std::size_t>(lengths[r]));
  }
  return texts;
}

std::string text_of(const std::vector<NamedValue>& values) {
  std::string text;
  for (const auto& [name, value] : values) text += value + "\n";
  return text;
}

void require_same(const std::vector<NamedValue>& names, const std::string& first_name,
                  const std::string& firsts, const std::string& other_name,
                  const std::string& theirs) {
  std::vector<std::string> first = split_at(firsts, '\n');
  std::vector<std::string> other = split_at(theirs, '\n');
  first.resize(names.size());
  other.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (first[i] == other[i]) continue;
    throw TransportError(other_name + " has " + names[i].first + " " + other[i] + " where " +
                         first_name + " has " + first[i]);
  }
}

void require_same(const std::vector<NamedValue>& mine, Rendezvous& rendezvous) {
  const std::vector<std::string> texts = gather_text(text_of(mine), rendezvous);
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    require_same(mine, "rank 0", texts[0], "rank " + std::to_string(rank), texts[rank]);
  }
}

void together(Rendezvous& rendezvous, const std::function<void()>& task, bool* all_refused) {
  std::exception_ptr failure;
  std::string answer;
  try {
    task();
  } catch (const std::exception& error) {
    failure = std::current_exception();
    const bool refuses = is_refusal(current_fault(rendezvous.rank()));
    answer = fmt::format("{}{}", refuses ? refused : failed, error.what());
  }
  const std::vector<std::string> answers = gather_text(answer, rendezvous);
  if (all_refused != nullptr) {
    *all_refused = std::all_of(answers.begin(), answers.end(),
                               [](const std::string& each) { return each.starts_with(refused); });
  }
  if (failure) std::rethrow_exception(failure);
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    if (answers[rank].empty()) continue;
    throw TransportError(
        fmt::format("rank {} cannot take part: {}", rank, answers[rank].substr(1)));
  }
}

}  // namespace collbench
