#include "bench/logs/pickle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/input_file.h"
#include "core/json.h"

namespace collbench {
namespace {

constexpr int deepest_pickle = 100;
// A dump of 10,000 collectives has half a million.
constexpr std::size_t most_values = std::size_t{1} << 22;
constexpr std::size_t most_text = 4 * largest_input;

constexpr std::uint32_t no_value = std::numeric_limits<std::uint32_t>::max();

/// A value; lists and tuples have items, dictionaries keys and values by turns.
struct PickledValue {
  enum class Kind : std::uint8_t { none, boolean, integer, real, text, list, dictionary };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text{};
  std::vector<std::uint32_t> items{};
};

struct PickleEnds {};  // thrown where the bytes end

class PickleInterpreter {
 public:
  PickleInterpreter(std::string_view bytes, const std::string& what) : bytes_(bytes), what_(what) {}

  std::string run(bool& cut) {
    cut = false;
    try {
      while (step()) {
      }
    } catch (const PickleEnds&) {
      cut = true;
      close_what_is_open();
    }
    if (stack_.empty()) refuse("holds no value");
    write(stack_.back(), 0);
    return std::move(written_);
  }

 private:
  using Kind = PickledValue::Kind;

  [[noreturn]] void refuse(const std::string& reason) const {
    throw InvalidArgument(fmt::format("{}: the pickle {}", what_, reason));
  }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) throw PickleEnds();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  /// An unsigned number, least byte first.
  std::uint64_t number(std::size_t count) {
    std::uint64_t value = 0;
    const std::string_view taken = take(count);
    for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(taken[i]);
    return value;
  }

  void push(PickledValue value) {
    if (values_.size() >= most_values) refuse("has too many values");
    stack_.push_back(static_cast<std::uint32_t>(values_.size()));
    values_.push_back(std::move(value));
  }
  void push_integer(std::int64_t value) { push({.kind = Kind::integer, .integer = value}); }
  void push_text(std::size_t count) { push({.kind = Kind::text, .text = take(count)}); }
  void push_long(std::size_t count) {
    if (count > 8) refuse("holds an integer of more than 64 bits");
    std::uint64_t value = number(count);
    const bool negative = count > 0 && (value >> (8 * count - 1) & 1) != 0;
    if (negative && count < 8) value |= ~std::uint64_t{0} << (8 * count);
    push_integer(static_cast<std::int64_t>(value));
  }
  void push_real() {
    std::uint64_t bits = 0;
    for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
    push({.kind = Kind::real, .real = std::bit_cast<double>(bits)});
  }
  std::uint32_t pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) {
      refuse("takes a value that is not there");
    }
    const std::uint32_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  std::vector<std::uint32_t> pop_to_mark() {
    if (marks_.empty()) refuse("has no mark where one belongs");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<std::uint32_t> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }
  PickledValue& top() {
    if (stack_.empty()) refuse("adds to a value that is not there");
    return values_[stack_.back()];
  }
  void append(std::span<const std::uint32_t> items) {
    PickledValue& list = top();
    if (list.kind != Kind::list) refuse("appends to a non-list");
    list.items.insert(list.items.end(), items.begin(), items.end());
  }
  void set_items(std::vector<std::uint32_t> items) {
    PickledValue& dictionary = top();
    if (dictionary.kind != Kind::dictionary) refuse("sets items of a non-dictionary");
    if (items.size() % 2 != 0) refuse("has a key without a value");
    dictionary.items.insert(dictionary.items.end(), items.begin(), items.end());
  }
  void set_item() {
    const std::uint32_t value = pop();
    const std::uint32_t key = pop();
    set_items({key, value});
  }
  void append_one() {
    const std::uint32_t item = pop();
    append({&item, 1});
  }
  void push_tuple(std::size_t count) {
    std::vector<std::uint32_t> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push({.kind = Kind::list, .items = std::move(items)});
  }
  void remember(std::uint64_t at) {
    if (stack_.empty()) refuse("remembers a value that is not there");
    if (at >= most_values) refuse("remembers too many values");
    if (at >= memo_.size()) memo_.resize(at + 1, no_value);
    memo_[at] = stack_.back();
  }
  void recall(std::uint64_t at) {
    if (at >= memo_.size() || memo_[at] == no_value) {
      refuse("recalls a value that it did not remember");
    }
    stack_.push_back(memo_[at]);
  }

  /// False at the end.
  bool step() {
    const auto opcode = static_cast<unsigned char>(take(1).front());
    if (opcode == '.') return false;
    if (!take_scalar(opcode) && !take_container(opcode) && !take_memo(opcode)) {
      refuse(fmt::format("has the opcode 0x{:02x}, which is none of plain types: it is not run",
                         opcode));
    }
    if (stack_.size() > most_values) refuse("has too many values");
    return true;
  }

  bool take_scalar(unsigned char opcode) {
    switch (opcode) {
      case 'N':
        return push({}), true;
      case 0x88:
        return push({.kind = Kind::boolean, .integer = 1}), true;
      case 0x89:
        return push({.kind = Kind::boolean, .integer = 0}), true;
      case 'J':
        return push_integer(static_cast<std::int32_t>(number(4))), true;
      case 'K':
        return push_integer(static_cast<std::int64_t>(number(1))), true;
      case 'M':
        return push_integer(static_cast<std::int64_t>(number(2))), true;
      case 0x8a:
        return push_long(number(1)), true;
      case 0x8b:
        return push_long(number(4)), true;
      case 'G':
        return push_real(), true;
      case 'X':
      case 'T':
      case 'B':
        return push_text(number(4)), true;
      case 0x8c:
      case 'U':
      case 'C':
        return push_text(number(1)), true;
      case 0x8d:
      case 0x8e:
        return push_text(number(8)), true;
      default:
        return false;
    }
  }

  bool take_container(unsigned char opcode) {
    switch (opcode) {
      case '(':
        return marks_.push_back(stack_.size()), true;
      case '}':
        return push({.kind = Kind::dictionary}), true;
      case ']':
      case ')':
        return push({.kind = Kind::list}), true;
      case 't':
      case 'l':
        return push({.kind = Kind::list, .items = pop_to_mark()}), true;
      case 'd': {
        std::vector<std::uint32_t> items = pop_to_mark();
        push({.kind = Kind::dictionary});
        return set_items(std::move(items)), true;
      }
      case 0x85:
      case 0x86:
      case 0x87:
        return push_tuple(opcode - 0x84U), true;
      case 'a':
        return append_one(), true;
      case 'e':
        return append(pop_to_mark()), true;
      case 's':
        return set_item(), true;
      case 'u':
        return set_items(pop_to_mark()), true;
      case '0':
        return pop(), true;
      case '1':
        return pop_to_mark(), true;
      default:
        return false;
    }
  }

  bool take_memo(unsigned char opcode) {
    switch (opcode) {
      case 0x80:
        return take(1), true;  // protocol
      case 0x95:
        return take(8), true;  // frame
      case 'q':
        return remember(number(1)), true;
      case 'r':
        return remember(number(4)), true;
      case 0x94:
        return remember(memo_.size()), true;
      case 'h':
        return recall(number(1)), true;
      case 'j':
        return recall(number(4)), true;
      default:
        return false;
    }
  }

  /// Puts what was being collected into its containers.
  void close_what_is_open() {
    while (!marks_.empty()) {
      std::vector<std::uint32_t> items = pop_to_mark();
      if (stack_.empty()) continue;
      if (top().kind == Kind::list)
        append(items);
      else if (top().kind == Kind::dictionary) {
        if (items.size() % 2 != 0) items.pop_back();
        set_items(std::move(items));
      }
    }
    while (stack_.size() > 1) {
      const bool pair =
          stack_.size() >= 3 && values_[stack_[stack_.size() - 3]].kind == Kind::dictionary;
      if (pair)
        set_item();
      else
        stack_.pop_back();
    }
  }

  void write(std::uint32_t index, int depth) {
    const PickledValue& value = values_[index];
    if (++count_ > most_values || written_.size() > most_text) {
      refuse("repeats its values too often");
    }
    if (depth > deepest_pickle) {
      refuse(fmt::format("is nested deeper than {} levels", deepest_pickle));
    }
    switch (value.kind) {
      case Kind::none:
        written_ += "null";
        return;
      case Kind::boolean:
        written_ += value.integer != 0 ? "true" : "false";
        return;
      case Kind::integer:
        fmt::format_to(std::back_inserter(written_), "{}", value.integer);
        return;
      case Kind::real:
        written_ += std::isfinite(value.real) ? fmt::format("{}", value.real) : "null";
        return;
      case Kind::text:
        return write_text(value.text);
      case Kind::list:
        written_ += '[';
        for (std::size_t i = 0; i < value.items.size(); ++i) {
          if (i > 0) written_ += ',';
          write(value.items[i], depth + 1);
        }
        written_ += ']';
        return;
      case Kind::dictionary:
        break;
    }
    written_ += '{';
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
      if (i > 0) written_ += ',';
      write_text(key_text(values_[value.items[i]]));
      written_ += ':';
      write(value.items[i + 1], depth + 1);
    }
    written_ += '}';
  }

  void write_text(std::string_view text) {
    const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
      return c >= ' ' && c <= '~' && c != '"' && c != '\\';
    });
    if (is_plain) {
      written_.append(1, '"').append(text).append(1, '"');
    } else {
      written_ += json_text(nlohmann::json(std::string(text)));
    }
  }

  std::string key_text(const PickledValue& key) const {
    if (key.kind == Kind::text) return std::string(key.text);
    if (key.kind == Kind::integer) return std::to_string(key.integer);
    refuse("has a key that is neither text nor a number");
  }

  std::string_view bytes_;
  const std::string& what_;
  std::vector<PickledValue> values_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::vector<std::uint32_t> memo_;
  std::string written_;
  std::size_t count_ = 0;  // of the values in it
};

}  // namespace

std::string json_of_pickle(std::string_view pickle, const std::string& what, bool& cut) {
  return PickleInterpreter(pickle, what).run(cut);
}

}  // namespace collbench
