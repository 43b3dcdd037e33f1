// JSON of logs, which may have been cut short while it was written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/logs/job_log.h"
#include "core/json.h"

namespace collbench {

/// `text` up to its last complete member or element, with the brackets closed that are open there;
/// `text` itself if it ends well. Of the outermost list whole elements only: half an event says
/// something else than the whole. A tracer that never closes its array loses nothing.
std::string completed_json(std::string_view text, bool& cut);

/// The value of a log in JSON. What had to be completed counts in `left_out`, and `is_cut` says so.
/// Throws as read_json() does.
nlohmann::json log_json(std::string_view text, const std::string& file, JobLog& job,
                        bool* is_cut = nullptr);

/// The whole numbers in a text such as "[0, 1, 2]"; none if it is shortened ("...") or has more
/// than 2^20.
std::vector<int> ranks_in_text(std::string_view text);

/// A member of an object if it is of that type, otherwise what stands for "not said".
double number_at(const nlohmann::json& object, const char* key, double otherwise = unknown_time);
std::int64_t integer_at(const nlohmann::json& object, const char* key, std::int64_t otherwise = -1);
std::string text_at(const nlohmann::json& object, const char* key);

/// Of a value as it is written, quotes included: its text, empty if it is none; the integer that it
/// is or that stands in quotes.
std::string written_text(std::string_view value);
std::optional<std::int64_t> written_integer(std::string_view value);

}  // namespace collbench
