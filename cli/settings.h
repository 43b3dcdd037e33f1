// Settings: the value of every option of a command, and where each value came from.
//
// An option is one row of a table, which help, completion, files and parsing read. Its value is
// taken from the first of: the flag, the environment variable COLLBENCH_<NAME>, the file given by
// --config, ./collbench.toml, ~/.config/collbench/config.toml, the default. Commands without
// anything to configure take flags alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "topologies/toml_table.h"

namespace CLI {
class App;
}

namespace collbench {

/// Headings that several commands have.
inline constexpr const char* arguments_group = "Arguments";
inline constexpr const char* options_group = "Options";
inline constexpr const char* sizes_group = "Sizes";
inline constexpr const char* output_group = "Output";
inline constexpr const char* settings_group = "Settings";

enum class Presence { optional, required };

/// One option: a flag if it has no metavar. A name in capitals is that of an argument, a word
/// without a name; a metavar "FILE..." or "-- ARGS" takes several.
struct OptionRow {
  std::string_view group;          // heading in the help text
  std::string_view name;           // long name without dashes
  std::string_view letter;         // short name without dash, or ""
  std::string_view metavar;        // "SIZE"; "" for a flag
  std::string_view default_value;  // "" if there is none
  std::string_view help;
  Presence presence = Presence::optional;
  std::string_view also = {};  // another long name
};

/// All words that the option takes, in every command that has it, which completion offers and
/// parsing accepts; empty if it takes anything.
std::vector<std::string> option_words(std::string_view option);

/// The rows of several tables in this order.
std::vector<OptionRow> concatenated(std::initializer_list<std::span<const OptionRow>> tables);

struct Setting {
  std::string value;   // "true" or "false" for a flag
  std::string source;  // "flag", "COLLBENCH_WORKERS", "./collbench.toml:3"; "default"
  int priority = 0;    // larger wins; 0 is the default
  std::vector<std::string> words = {};  // of an argument that takes several
  std::shared_ptr<std::atomic<bool>> is_read = std::make_shared<std::atomic<bool>>(false);
};

/// Whether the option is an argument: a word without a name.
bool is_argument(std::string_view option);

/// Declares the rows on `app` in their groups.
void declare_options(CLI::App& app, std::span<const OptionRow> rows);

/// Reads the text of a configuration file named `file`: TOML whose keys are the long names of
/// options. A value is what would be written on the command line: a "string", a number, true or
/// false, or a list of these. A table [run] may hold the options of that command. Throws
/// InvalidArgument, naming file and line, for anything else and for a key given twice.
std::vector<TomlSetting> parse_config(std::string_view text, const std::string& file);
/// The same of a file's content. Throws as read_file(), of more than 1 MiB too: no file of settings
/// is as long, and a device without end is.
std::vector<TomlSetting> read_config(const std::string& file);

/// A file of settings with its text.
struct ConfigLayer {
  std::string file;
  std::vector<TomlSetting> entries;
};
/// The files that apply, first wins: `explicit_file` if not empty, ./collbench.toml and
/// ~/.config/collbench/config.toml where they exist. Throws Unavailable if `explicit_file` does
/// not.
std::vector<ConfigLayer> config_layers(const std::string& explicit_file);
/// `explicit_file` alone, or none if it is empty: for commands other than `run`, whose settings the
/// files found by themselves hold. Throws as config_layers().
std::vector<ConfigLayer> explicit_layer(const std::string& explicit_file);
/// That of the flag --config.
std::vector<ConfigLayer> explicit_file_of(const CLI::App& app);

/// The value that the flag --config or the argument `name` has, or "".
std::string config_file_of(const CLI::App& app, const std::string& name = "--config");

/// The values of all rows. Thread safety: const members may run on any number of threads.
class Settings {
 public:
  /// Takes flags from a parsed `app` and merges the layers. Throws InvalidArgument for a key that
  /// is no option, with the nearest name, and for a flag's value that is not true or false.
  Settings(const CLI::App& app, std::span<const OptionRow> rows,
           const std::vector<ConfigLayer>& layers);
  /// Takes flags alone.
  Settings(const CLI::App& app, std::span<const OptionRow> rows);

  /// The table of the command's options.
  std::span<const OptionRow> rows() const { return rows_; }
  /// Of a declared name. Does not count as reading it.
  const Setting& at(std::string_view name) const;
  /// Whether the command has this option.
  bool declares(std::string_view name) const { return values_.find(name) != values_.end(); }
  // These count as reading an option, which is of a declared name; see unread_flags().
  const std::string& text(std::string_view name) const { return read(name).value; }
  bool flag(std::string_view name) const { return read(name).value == "true"; }
  bool given(std::string_view name) const { return read(name).priority > 0; }
  const std::vector<std::string>& words(std::string_view name) const { return read(name).words; }

  // Values by what they are, as core/parse.h reads them. Each throws InvalidArgument that names the
  // option, and where it was set.
  int count(std::string_view name, std::int64_t least,
            std::int64_t most = std::numeric_limits<int>::max()) const;
  double number(std::string_view name) const;
  double fraction(std::string_view name) const;
  Seconds duration(std::string_view name) const;
  Bytes size(std::string_view name) const;
  std::vector<std::string> list(std::string_view name) const;  // empty where the value is
  /// Of `--algo`. Commas behind `topo=` are the network's, up to the next name of an algorithm.
  std::vector<std::string> algorithms() const;
  std::vector<int> worker_counts(std::string_view name) const;
  std::uint64_t seed() const;
  const std::string& one_of(std::string_view name, const std::vector<std::string>& known) const;
  /// Of --format, one of `known`, and --json, which is short for one of them. Throws
  /// InvalidArgument if they name two.
  std::string format_of(const std::vector<std::string>& known) const;

  /// "--workers", or "--workers (from ./collbench.toml:3)" if it was not given as a flag.
  std::string label(std::string_view name) const;
  /// Of two options that exclude each other, the one that holds: the one of higher priority, or ""
  /// if neither is given. Throws InvalidArgument if both are given in the same place.
  std::string_view pick(std::string_view one, std::string_view other) const;

  /// Refuses options of a group that were given as flags where nothing reads them, except `kept`:
  /// "--tls-ca has no effect WHERE".
  void refuse_group(std::string_view group, const std::vector<std::string_view>& kept,
                    std::string_view where) const;

  /// Takes back that an option was read: what was asked for has nothing to do with it.
  void disregard(std::string_view name) const {
    at(name).is_read->store(false, std::memory_order_relaxed);
  }

  /// Options given as flags that nothing has read so far: in what the command did, they had no
  /// effect.
  std::vector<std::string> unread_flags() const;

  /// All settings as a configuration file that reproduces them, with the source of each. A default
  /// is commented out: some options may not be given where others are not.
  std::string to_config() const;
  /// "workers = 8 (COLLBENCH_WORKERS)", one per value that is not the default.
  std::vector<std::string> provenance() const;

 private:
  const Setting& read(std::string_view name) const;
  void take_environment();
  void take_files(const std::vector<ConfigLayer>& layers);
  void take(std::string_view name, const std::string& value, std::string source, int priority);

  std::span<const OptionRow> rows_;
  std::map<std::string, Setting, std::less<>> values_;
};

/// Does what --verbose and --dump-config ask for, as far as the command has them: where values came
/// from, on stderr; all settings, on stdout. Returns whether the latter was all that was wanted.
bool shows_settings(const Settings& settings);

}  // namespace collbench
