#include "transports/mpi/mpich_rules.h"

#include <cstdint>
#include <functional>
#include <limits>

#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>

#include "core/error.h"
#include "core/input_file.h"
#include "core/json.h"

namespace collbench {
namespace {

using OrderedJson = nlohmann::ordered_json;  // the conditions of a table are tried in their order

constexpr const char* all_reduce = "collective=allreduce";
constexpr const char* inside_one = "comm_type=intra";
constexpr std::size_t largest_library = std::size_t{1} << 30;

OrderedJson leaf(std::string_view name) {
  return {{fmt::format("algorithm=MPIR_Allreduce_intra_{}", name), OrderedJson::object()}};
}

// What MPICH itself asks for before it plays them: users' operators may not commute, and a vector
// must have an element for each rank.
OrderedJson message_algorithm(const std::string& algorithm) {
  const OrderedJson doubling = leaf("recursive_doubling");
  if (algorithm == "mpi:recursive-doubling") return doubling;
  if (algorithm == "mpi:smp") {
    return {{"is_commutative=yes", leaf("smp")}, {"is_commutative=no", doubling}};
  }
  require(algorithm == "mpi:rabenseifner",
          fmt::format("MPICH has no rule for '{}'; it has mpi:recursive-doubling, "
                      "mpi:rabenseifner and mpi:smp",
                      algorithm));
  const OrderedJson by_count = {{"count<pow2", doubling},
                                {"count=any", leaf("reduce_scatter_allgather")}};
  return {{"is_op_built_in=yes", by_count}, {"is_op_built_in=no", doubling}};
}

using AlgorithmTree = std::function<OrderedJson(const std::string& algorithm)>;

OrderedJson size_conditions(const ScaleRules& scale, const AlgorithmTree& tree) {
  OrderedJson sizes = OrderedJson::object();
  for (const SizeRule& rule : scale.rules) {
    const bool is_last = rule.to.count >= std::numeric_limits<std::int32_t>::max();
    sizes[is_last ? "avg_msg_size=any" : fmt::format("avg_msg_size<={}", rule.to.count)] =
        tree(rule.algorithm);
  }
  return sizes;
}

OrderedJson conditions(const SelectionTable& rules, const AlgorithmTree& tree) {
  OrderedJson scales = OrderedJson::object();
  for (std::size_t i = 0; i < rules.scales.size(); ++i) {
    const bool is_last = i + 1 == rules.scales.size();
    scales[is_last ? "comm_size=any" : fmt::format("comm_size<{}", rules.scales[i + 1].workers)] =
        size_conditions(rules.scales[i], tree);
  }
  return scales;
}

// `choose` is given what the table had. A choice of nothing is no condition: the search fails.
std::string replaced(
    const std::string& own, const SelectionTable& rules,
    const std::function<OrderedJson(const std::string&, const OrderedJson&)>& choose) {
  return read_json<OrderedJson>(own, "MPICH's own table", [&](OrderedJson table) {
    OrderedJson& part = table.at(all_reduce).at(inside_one);
    const OrderedJson before = part;
    part =
        conditions(rules, [&](const std::string& algorithm) { return choose(algorithm, before); });
    return json_text(table, 1) + "\n";
  });
}

// The text from its first brace to the zero byte behind it.
std::string table_with(std::string_view bytes, std::string_view algorithm) {
  constexpr std::string_view begin = "{\"collective=";
  for (std::size_t at = bytes.find(begin); at != bytes.npos; at = bytes.find(begin, at + 1)) {
    const std::string_view text = bytes.substr(at, bytes.find('\0', at) - at);
    const std::size_t part = text.find(all_reduce);
    if (part != text.npos && text.find(algorithm, part) != text.npos) return std::string(text);
  }
  return "";
}

}  // namespace

MpichTables mpich_tables_in(std::string_view bytes, const std::string& file) {
  MpichTables tables{table_with(bytes, "algorithm=MPIR_Allreduce_intra"),
                     table_with(bytes, "algorithm=MPIDI_POSIX_mpi_allreduce")};
  if (tables.messages.empty() || tables.memory.empty()) {
    throw Unavailable(file + " holds no tables of algorithms as in MPICH 4, to put rules into");
  }
  return tables;
}

MpichTables own_mpich_tables() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init), &found) == 0 || found.dli_fname == nullptr) {
    throw Unavailable("it is not known where MPICH was loaded from");
  }
  return mpich_tables_in(read_file(found.dli_fname, largest_library), found.dli_fname);
}

MpichTables with_rules(const MpichTables& own, const SelectionTable& rules) {
  const auto over_messages = [](const std::string& algorithm, const OrderedJson& before) {
    return algorithm == "mpi" ? before : message_algorithm(algorithm);
  };
  const auto in_memory = [](const std::string& algorithm, const OrderedJson& before) {
    return algorithm == "mpi" ? before : OrderedJson::object();
  };
  return {replaced(own.messages, rules, over_messages), replaced(own.memory, rules, in_memory)};
}

}  // namespace collbench
