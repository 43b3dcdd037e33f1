// A table of a TOML file with its position, so that every error begins FILE:LINE and an unknown key
// is an error, too.
//
// Getters without a default require the key. All throw InvalidArgument for a value of another kind
// or out of range, naming the key, the value and what would be right.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"

namespace collbench {

/// A key whose value is written as on a command line.
struct TomlSetting {
  std::string key;
  std::string value;  // a text without quotes; of a list, all its items
  int line = 0;
};

/// Cheap to copy; copies share which keys were asked for. Not for several threads.
class TomlTable {
 public:
  /// Throws InvalidArgument, naming file, line and column, if `text` is no TOML; and naming file
  /// and line if something in it is nested deeper than 100 levels, or if it does not fit the
  /// checksum in its first line (core/checksum_line.h).
  static TomlTable parse(std::string_view text, const std::string& file);

  bool has(const std::string& key) const;
  std::string text(const std::string& key) const;
  bool flag(const std::string& key, bool otherwise) const;
  int integer(const std::string& key, int least, int most) const;
  /// In [least, most].
  double number(const std::string& key, double least, double most) const;
  Bandwidth bandwidth(const std::string& key) const;  // "50 GBps", above 0
  Seconds duration(const std::string& key) const;     // "5 us"
  Bytes size(const std::string& key) const;           // "64 KiB"

  std::vector<int> integers(const std::string& key, int least, int most) const;
  std::vector<bool> flags(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;  // one text is a list of one
  TomlTable table(const std::string& key) const;
  std::vector<TomlTable> tables(const std::string& key) const;  // none if the key is missing
  /// The tables in this one by name, in the order of their names: [link.a] and [link.b] in `link`.
  std::vector<std::pair<std::string, TomlTable>> named_tables() const;

  /// All keys in the order of the file, but the tables that were asked for. Items of a list are
  /// joined by commas, those of the keys `by_semicolon` by semicolons. Throws InvalidArgument for
  /// other tables.
  std::vector<TomlSetting> settings(std::span<const std::string_view> by_semicolon = {}) const;

  /// Throws InvalidArgument for the first key that was never asked for, with the nearest one.
  void finish() const;
  /// Throws InvalidArgument("FILE:LINE: what"), with the line of `key` or else of the table.
  [[noreturn]] void refuse(const std::string& key, const std::string& what) const;
  std::string place() const;  // "FILE:LINE" of the table
  const std::string& file() const;

 private:
  struct Place;  // where it is in the file, and which keys were asked for
  explicit TomlTable(std::shared_ptr<Place> place) : place_(std::move(place)) {}
  std::shared_ptr<Place> place_;
};

/// A basic string of TOML, in quotes; control characters become blanks.
std::string toml_quoted(const std::string& text);

}  // namespace collbench
