// Chakra's execution traces: protobuf messages, each behind its length, read by their wire format.
//
// GlobalMetadata{1 version, 2 attributes}, then Node{1 id, 2 name, 3 type, 4 ctrl_deps,
// 5 data_deps, 6 start, 7 duration, 10 attributes{1 name, then a value in a field of its kind}}
// (et_def.proto 0.0.4).
#include <algorithm>
#include <cstdint>

#include "bench/logs/log_readers.h"
#include "bench/logs/rank_graph.h"
#include "core/error.h"
#include "core/plain_text.h"

namespace collbench {

LoggedKind chakra_collective(std::int64_t comm_type, std::string_view name) {
  if (comm_type < 0) {
    const LoggedKind named = logged_kind(name);
    return named == LoggedKind::other ? LoggedKind::all_reduce : named;
  }
  constexpr LoggedKind kinds[] = {LoggedKind::all_reduce,     LoggedKind::reduce,
                                  LoggedKind::all_gather,     LoggedKind::other,
                                  LoggedKind::other,          LoggedKind::broadcast,
                                  LoggedKind::all_to_all,     LoggedKind::reduce_scatter,
                                  LoggedKind::reduce_scatter, LoggedKind::barrier};
  return comm_type < 10 ? kinds[comm_type] : LoggedKind::other;
}

namespace {

constexpr std::int64_t computing_node = 4;
constexpr std::int64_t sending_node = 5;
constexpr std::int64_t collective_node = 7;

struct CutMessage {};  // thrown where the bytes of a message end

/// One field of a message: a number, or bytes.
struct WireField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw CutMessage();
  }
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) throw CutMessage();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  WireField field() {
    const std::uint64_t key = varint();
    WireField found{key >> 3, 0, {}};
    switch (key & 7) {
      case 0:
        found.value = varint();
        break;
      case 1:
      case 5:
        found.bytes = take((key & 7) == 1 ? 8 : 4);
        for (std::size_t i = found.bytes.size(); i-- > 0;) {
          found.value = found.value << 8 | static_cast<unsigned char>(found.bytes[i]);
        }
        break;
      case 2:
        found.bytes = take(varint());
        break;
      default:
        throw CutMessage();
    }
    return found;
  }

 private:
  std::string_view bytes_;
};

struct ChakraAttribute {
  std::string_view name;
  std::int64_t integer = 0;
  std::string_view text;
};

ChakraAttribute read_attribute(std::string_view bytes) {
  ChakraAttribute attribute;
  for (WireReader reader(bytes); !reader.at_end();) {
    const WireField field = reader.field();
    if (field.number == 1) attribute.name = field.bytes;
    const auto value = static_cast<std::int64_t>(field.value);
    // sint32 and sint64 fold the sign into the last bit.
    const bool folded = field.number == 15 || field.number == 17;
    if (field.number >= 7 && field.number <= 27) {
      attribute.integer = folded ? (value >> 1) ^ -(value & 1) : value;
    }
    if (field.number == 29 || field.number == 31) attribute.text = field.bytes;
  }
  return attribute;
}

void add_needs(const WireField& field, GraphNode& node) {
  if (field.bytes.empty()) {
    node.needs.push_back(field.value);
    return;
  }
  for (WireReader packed(field.bytes); !packed.at_end();) node.needs.push_back(packed.varint());
}

GraphNode read_node(std::string_view bytes) {
  GraphNode node;
  std::int64_t type = 0;
  std::string_view name;
  std::int64_t comm_type = -1;
  for (WireReader reader(bytes); !reader.at_end();) {
    const WireField field = reader.field();
    if (field.number == 1) node.id = field.value;
    if (field.number == 2) name = field.bytes;
    if (field.number == 3) type = static_cast<std::int64_t>(field.value);
    if (field.number == 4 || field.number == 5) add_needs(field, node);
    if (field.number == 7) node.has_duration = field.value > 0;
    if (field.number != 10) continue;
    const ChakraAttribute attribute = read_attribute(field.bytes);
    if (attribute.name == "comm_type") comm_type = attribute.integer;
    if (attribute.name == "is_cpu_op") node.is_call = attribute.integer != 0;
    if (attribute.name == "comm_size") node.bytes = std::max<std::int64_t>(attribute.integer, 0);
    if (attribute.name == "pg_name") {
      node.group =
          attribute.text.empty() ? std::to_string(attribute.integer) : printable(attribute.text);
    }
  }
  node.computes = type == computing_node;
  node.is_collective = type == collective_node;
  node.kind = chakra_collective(comm_type, name);
  if (!node.is_collective && type != sending_node) node.bytes = 0;
  return node;
}

}  // namespace

bool is_chakra(std::string_view head) {
  // The first message holds a version, attributes, or nothing.
  try {
    WireReader reader(head);
    const std::string_view metadata = reader.take(reader.varint());
    bool has_version = metadata.empty();
    for (WireReader fields(metadata); !fields.at_end();) {
      const WireField field = fields.field();
      if (field.number != 1 && field.number != 2) return false;
      const bool is_attribute = field.number == 2 && field.bytes.starts_with('\x0a');
      has_version = has_version || is_attribute || (field.number == 1 && field.bytes.size() < 32);
    }
    if (!has_version || reader.at_end()) return false;
    const std::uint64_t length = reader.varint();
    if (reader.at_end() || length < 2) return false;
    // A node: its fields are 1 to 10.
    const WireField first = reader.field();
    return first.number >= 1 && first.number <= 10;
  } catch (const CutMessage&) {
    return false;
  }
}

void read_chakra(std::string_view text, const std::string& file, JobLog& job) {
  std::vector<GraphNode> nodes;
  WireReader reader(text);
  try {
    reader.take(reader.varint());  // metadata
    while (!reader.at_end()) nodes.push_back(read_node(reader.take(reader.varint())));
  } catch (const CutMessage&) {
    ++job.left_out["ends of Chakra traces that were cut short"];
  }
  require(!nodes.empty(), file + ": a Chakra trace without a node");
  add_file_graph(nodes, file, job);
}

}  // namespace collbench
