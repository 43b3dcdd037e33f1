// Text of others, made fit for messages and terminals.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace collbench {

/// `text` with control characters as \xNN, but line ends and tabs kept: a terminal must show a
/// wrong value and not obey it.
std::string printable(std::string_view text);

/// `text`, as of a log, without colours and other commands to a terminal.
std::string without_terminal_codes(std::string_view text);

/// What an exception of a library says, without the codes that some put before it.
std::string library_reason(const std::exception& error);

/// Whether brackets outside of quoted strings, as JSON and TOML have them, are nested deeper.
bool deeper_than(std::string_view text, int levels);

}  // namespace collbench
