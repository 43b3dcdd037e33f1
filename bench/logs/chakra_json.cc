// The three forms in which Chakra's traces stand as JSON: the jsonizer's objects one behind another
// without a separator, the feeder's "workload_graph", and PyTorch's "nodes".
#include <algorithm>

#include "bench/logs/log_json.h"
#include "bench/logs/log_readers.h"
#include "bench/logs/rank_graph.h"
#include "core/error.h"
#include "core/json.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using nlohmann::json;

/// The objects of a text one behind another, with commas between them.
std::string as_array(std::string_view text) {
  std::string array = "[";
  int depth = 0;
  QuoteScanner quotes;
  for (const char c : text) {
    const bool counts = quotes.outside(c);
    if (counts && c == '{' && depth++ == 0 && array.size() > 1) array += ',';
    if (counts && c == '}') --depth;
    array += c;
  }
  return array + (depth > 0 ? "" : "]");
}

void add_ids(const json& node, const char* key, std::vector<std::uint64_t>& ids) {
  const auto list = node.find(key);
  if (list == node.end()) return;
  const json all = list->is_array() ? *list : json::array({*list});
  for (const json& one : all) {
    const std::int64_t id = integer_at(json{{"id", one}}, "id");
    if (id >= 0) ids.push_back(static_cast<std::uint64_t>(id));
  }
}

/// The value of an attribute in any of the forms, as a number or text.
json attribute_of(const json& node, const std::string& name) {
  if (node.contains(name)) return node[name];
  for (const char* key : {"attr", "attrs"}) {
    const auto list = node.find(key);
    if (list == node.end() || !list->is_array()) continue;
    for (const json& attribute : *list) {
      if (text_at(attribute, "name") != name) continue;
      // The value is the other member: "int64Val", "stringVal", "value".
      for (const auto& [member, value] : attribute.items()) {
        if (member == "value" || member.ends_with("Val")) return value;
      }
    }
  }
  return nullptr;
}

std::int64_t number_of(const json& value, std::int64_t otherwise) {
  return integer_at(json{{"value", value}}, "value", otherwise);
}

std::string text_of(const json& value) {
  if (value.is_string()) return printable(value.get<std::string>());
  return value.is_number() ? json_text(value) : std::string();
}

/// Types by name in the jsonizer's form, by number in the feeder's.
bool is_type(const json& node, std::string_view name, std::int64_t number) {
  return text_at(node, "type") == name || integer_at(node, "NodeType") == number ||
         integer_at(node, "type") == number;
}

/// PyTorch's own nodes have no types: its collectives have a name of their own.
void take_asked(const json& node, GraphNode& made) {
  const std::string name = text_of(attribute_of(node, "collective_name"));
  if (name.empty()) return;
  made.is_collective = true;
  made.kind = logged_kind(name);
  const std::int64_t in = number_of(attribute_of(node, "in_msg_nelems"), 0);
  const std::int64_t out = number_of(attribute_of(node, "out_msg_nelems"), in);
  const bool part = made.kind == LoggedKind::all_gather || made.kind == LoggedKind::reduce_scatter;
  const std::int64_t elements =
      std::clamp<std::int64_t>(part ? std::min(in, out) : in, 0, std::int64_t{1} << 45);
  made.bytes = elements * element_bytes_of(text_of(attribute_of(node, "dtype")));
}

GraphNode graph_node(const json& node) {
  GraphNode made;
  const std::int64_t id = std::max(integer_at(node, "id"), integer_at(node, "Id"));
  made.id = id < 0 ? 0 : static_cast<std::uint64_t>(id);
  for (const char* key : {"ctrlDeps", "ctrl_deps", "dataDeps", "data_deps"}) {
    add_ids(node, key, made.needs);
  }
  // What needs itself or, in PyTorch's form, the process's root.
  std::erase(made.needs, made.id);
  made.has_type = node.contains("type") || node.contains("NodeType");
  for (const char* key : {"runtime", "durationMicros", "duration_micros"}) {
    made.has_duration = made.has_duration || integer_at(node, key, 0) > 0;
  }
  made.computes = is_type(node, "COMP_NODE", 4);
  made.is_collective = is_type(node, "COMM_COLL_NODE", 7);
  made.group = text_of(attribute_of(node, "pg_name"));
  if (made.is_collective) {
    const std::string name = text_at(node, node.contains("Name") ? "Name" : "name");
    made.kind = chakra_collective(number_of(attribute_of(node, "comm_type"), -1), name);
    made.is_call = attribute_of(node, "is_cpu_op") == json(true);
    made.bytes = std::max<std::int64_t>(number_of(attribute_of(node, "comm_size"), 0), 0);
  } else {
    take_asked(node, made);
  }
  return made;
}

}  // namespace

void read_chakra_json(std::string_view text, const std::string& file, JobLog& job) {
  const json objects = log_json(as_array(text), file, job);
  std::vector<GraphNode> nodes;
  const auto take = [&](const json& node) {
    // The first object of the jsonizer's form is the metadata.
    if (node.is_object() && (node.contains("id") || node.contains("Id"))) {
      nodes.push_back(graph_node(node));
    }
  };
  for (const json& object : objects) {
    const char* key = object.contains("workload_graph") ? "workload_graph" : "nodes";
    if (object.contains(key) && object[key].is_array()) {
      for (const json& node : object[key]) take(node);
    } else {
      take(object);
    }
  }
  require(!nodes.empty(), file + ": a Chakra trace without a node");
  add_file_graph(nodes, file, job);
}

}  // namespace collbench
