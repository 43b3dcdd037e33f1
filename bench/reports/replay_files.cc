#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "bench/records/csv_cells.h"
#include "bench/records/json_fields.h"
#include "bench/reports/replay.h"
#include "core/error.h"
#include "core/json.h"
#include "core/parse.h"

namespace collbench {
namespace {

using SortedJson = nlohmann::json;

constexpr std::string_view trace_begin = R"({"traceEvents":)";
constexpr std::string_view link_heading =
    "link,from,to,class,capacity_GBps,bytes,busy_us,utilisation";
constexpr std::size_t most_drawn_messages = 4000;
constexpr int most_traced_ranks = 64;

/// "rank 3 on node 0 host 3": the host's name.
std::string host_of(const std::string& process) {
  const std::size_t on = process.find(" on ");
  return on == std::string::npos ? process : process.substr(on + 4);
}

/// Messages by their number, as their begin and end events come.
class TraceReader {
 public:
  explicit TraceReader(Replay& replay) : replay_(replay) {}

  void event(const SortedJson& event) {
    const auto phase = event.at("ph").get<std::string>();
    if (phase == "M") {
      if (event.at("name") == "process_name") {
        replay_.vertices.push_back(
            {host_of(event.at("args").at("name").get<std::string>()), true, 0, 0});
      }
    } else if (phase == "b" || phase == "e") {
      edge(event, phase == "b");
    }
  }

  void end() {
    for (auto& [id, message] : messages_) replay_.messages.push_back(message);
    std::stable_sort(replay_.messages.begin(), replay_.messages.end(),
                     [](const auto& a, const auto& b) { return a.arrival_us < b.arrival_us; });
    if (replay_.messages.size() <= most_drawn_messages) return;
    replay_.messages_left_out +=
        static_cast<std::int64_t>(replay_.messages.size() - most_drawn_messages);
    replay_.messages.resize(most_drawn_messages);
  }

 private:
  void edge(const SortedJson& event, bool begins) {
    std::int64_t id = 0;
    read_whole(event.at("id"), id);
    ReplayedMessage& message = messages_[id];
    const double at_us = event.at("ts").get<double>();
    const bool flows = event.at("name") == "flows";
    if (!begins) {
      message.arrival_us = at_us;
    } else if (flows) {
      message.start_us = at_us;
    } else {
      message.ready_us = message.start_us = at_us;
      message.from = rank_of(event.at("pid"));
      const SortedJson& about = event.at("args");
      message.to = rank_of(about.at("to"));
      read_whole(about.at("round"), message.round);
      about.at("bytes").get_to(message.bytes);
    }
  }

  int rank_of(const SortedJson& value) {
    int rank = 0;
    read_whole(value, rank);
    require(rank >= 0 && rank < most_traced_ranks,
            fmt::format("a trace of rank {}; the page draws at most {} ranks", rank,
                        most_traced_ranks));
    replay_.ranks = std::max(replay_.ranks, rank + 1);
    return rank;
  }

  Replay& replay_;
  std::map<std::int64_t, ReplayedMessage> messages_;
};

double link_number(const std::string& field, int line) {
  const auto value = number_in(field, 0, 1e30);
  require(value.has_value(),
          fmt::format("line {} of a table of links: '{}' is not a number of zero "
                      "or more",
                      line, field));
  return *value;
}

/// So that "host 10" comes after "host 9": runs of digits get the same length.
std::string sort_key(const std::string& name) {
  std::string key;
  std::string digits;
  for (const char c : name + '\0') {
    if (c >= '0' && c <= '9') {
      digits += c;
      continue;
    }
    if (!digits.empty() && digits.size() < 12) key.append(12 - digits.size(), '0');
    key += digits + c;
    digits.clear();
  }
  return key;
}

/// The vertices by name, hosts in the order of their numbers, and the links by their places.
class ReplayNetwork {
 public:
  void add(const std::string& from, const std::string& to, ReplayedLink link) {
    names_.try_emplace(sort_key(from), from);
    names_.try_emplace(sort_key(to), to);
    ends_.emplace_back(sort_key(from), sort_key(to));
    links_.push_back(std::move(link));
  }

  void give_to(Replay& replay) const {
    const bool named = std::any_of(names_.begin(), names_.end(), [](const auto& entry) {
      return entry.second.find("host") != std::string::npos;
    });
    std::map<std::string, int> place;
    for (const auto& [key, name] : names_) {
      place[key] = static_cast<int>(place.size());
      replay.vertices.push_back({name, !named || name.find("host") != std::string::npos, 0, 0});
    }
    replay.links = links_;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      replay.links[i].from = place.at(ends_[i].first);
      replay.links[i].to = place.at(ends_[i].second);
    }
  }

 private:
  std::map<std::string, std::string> names_;  // by sort_key()
  std::vector<std::pair<std::string, std::string>> ends_;
  std::vector<ReplayedLink> links_;
};

std::string busiest(const Replay& replay) {
  const auto link =
      std::max_element(replay.links.begin(), replay.links.end(),
                       [](const auto& a, const auto& b) { return a.utilisation < b.utilisation; });
  const auto name = [&](int vertex) {
    return replay.vertices[static_cast<std::size_t>(vertex)].name;
  };
  return fmt::format("Busiest is {} -> {} ({}): {:.1f} % of {:.4g} GB/s.", name(link->from),
                     name(link->to), link->link_class, 100 * link->utilisation,
                     link->capacity_GBps);
}

}  // namespace

bool is_trace(const std::string& text) { return text.starts_with(trace_begin); }

bool is_link_table(const std::string& text) { return text.starts_with(link_heading); }

Replay trace_from_json(const std::string& text, const std::string& name) {
  Replay replay;
  replay.name = name;
  read_json<SortedJson>(text, "not a trace of collbench simulate", [&](const SortedJson& trace) {
    const SortedJson& about = trace.at("otherData");
    about.at("topology").get_to(replay.topology);
    about.at("schedule").get_to(replay.engine);
    about.at("simulated_time_us").get_to(replay.time_us);
    read_whole(about.at("messages_left_out"), replay.messages_left_out);
    TraceReader reader(replay);
    for (const SortedJson& event : trace.at("traceEvents")) reader.event(event);
    reader.end();
  });
  require(!replay.messages.empty(), "a trace without messages");
  return replay;
}

Replay links_from_csv(const std::string& text, const std::string& name) {
  Replay replay;
  replay.name = name;
  ReplayNetwork network;
  std::istringstream lines(text);
  std::string row;
  std::getline(lines, row);
  for (int line = 2; std::getline(lines, row); ++line) {
    const std::vector<std::string> fields =
        csv_cells(row, fmt::format("line {} of a table of links", line));
    require(
        fields.size() >= 8,
        fmt::format("line {} of a table of links has {} fields of 8 or more", line, fields.size()));
    ReplayedLink link;
    link.link_class = fields[3];
    link.capacity_GBps = link_number(fields[4], line);
    link.bytes = link_number(fields[5], line);
    link.busy_us = link_number(fields[6], line);
    link.utilisation = link_number(fields[7], line);
    network.add(fields[1], fields[2], std::move(link));
  }
  network.give_to(replay);
  require(!replay.links.empty(), "a table of links without rows");
  place_vertices(replay, {});
  replay.bottleneck = busiest(replay);
  return replay;
}

bool belong_together(const Replay& trace, const Replay& links) {
  return std::all_of(trace.vertices.begin(), trace.vertices.end(), [&](const auto& host) {
    return std::any_of(links.vertices.begin(), links.vertices.end(),
                       [&](const auto& vertex) { return vertex.name == host.name; });
  });
}

Replay joined(Replay trace, const Replay& links) {
  trace.name += " and " + links.name;
  trace.vertices = links.vertices;
  trace.links = links.links;
  trace.bottleneck = links.bottleneck;
  return trace;
}

}  // namespace collbench
