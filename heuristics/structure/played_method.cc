#include "heuristics/structure/played_method.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "heuristics/structure/ompi_decision.h"

namespace collbench {
namespace {

bool starts_with(std::string_view text, std::string_view start) {
  return text.rfind(start, 0) == 0;
}

bool take_start(std::string_view& text, std::string_view start) {
  if (!starts_with(text, start)) return false;
  text.remove_prefix(start.size());
  return true;
}

bool take_end(std::string_view& text, std::string_view end) {
  if (text.size() < end.size() || text.substr(text.size() - end.size()) != end) return false;
  text.remove_suffix(end.size());
  return true;
}

/// The number after the last '_', which is cut off; nothing if there is none.
std::optional<int> take_number(std::string_view& text) {
  const std::size_t at = text.find_last_of('_');
  if (at == text.npos) return {};
  const std::optional<int> number = small_integer_in(text.substr(at + 1));
  if (number) text = text.substr(0, at);
  return number;
}

struct NamedForm {
  std::string_view name;
  PlayedMethod played;
};

PlayedMethod switched(PlayedForm form) {
  PlayedMethod played;
  played.form = form;
  return played;
}

PlayedMethod bine(PlayedForm form) {
  PlayedMethod played = switched(form);
  played.bine = true;
  return played;
}

PlayedMethod on(Interconnect interconnect, PlayedForm form, bool falls_back = false) {
  PlayedMethod played = switched(form);
  played.interconnect = interconnect;
  played.falls_back = falls_back;
  return played;
}

/// Names without what only says whose implementation it is.
const auto& switched_names() {
  // allgather_reduce of the builds measured is the old Rabenseifner (note of pico's tables).
  static const std::array<NamedForm, 25> names{{
      {"recursive_doubling", switched(PlayedForm::doubling)},
      {"rabenseifner", switched(PlayedForm::halving)},
      {"halving_doubling", switched(PlayedForm::halving)},
      {"reduce_scatter_allgather", switched(PlayedForm::halving)},
      {"allgather_reduce", switched(PlayedForm::halving)},
      {"bine_lat", bine(PlayedForm::doubling)},
      {"bine_bdw_remap", bine(PlayedForm::halving)},
      {"bine_bdw_static", bine(PlayedForm::halving)},
      {"bine_bdw_remap_segmented", bine(PlayedForm::halving)},
      {"bine_bdw_static_segmented", bine(PlayedForm::halving)},
      {"bine_block_by_block", bine(PlayedForm::blocks)},
      {"bine_block_by_block_any_even", bine(PlayedForm::blocks)},
      // Bine trees were called swing in pico's first tables.
      {"swing_lat", bine(PlayedForm::doubling)},
      {"swing_bdw_remap", bine(PlayedForm::halving)},
      {"swing_bdw_static", bine(PlayedForm::halving)},
      {"swing_bdw_remap_segmented", bine(PlayedForm::halving)},
      {"ring", switched(PlayedForm::ring)},
      {"ring_segmented", switched(PlayedForm::ring)},
      {"segmented_ring", switched(PlayedForm::ring)},
      {"nonoverlapping", switched(PlayedForm::tree)},
      {"reduce_bcast", switched(PlayedForm::tree)},
      {"linear", switched(PlayedForm::linear)},
      {"basic_linear", switched(PlayedForm::linear)},
      {"reduce_broadcast", switched(PlayedForm::linear)},
      {"non_blocking", switched(PlayedForm::library_choice)},
  }};
  return names;
}

std::optional<PlayedMethod> find_name(std::span<const NamedForm> names, std::string_view name) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const NamedForm& each) { return each.name == name; });
  if (found == names.end()) return {};
  return found->played;
}

std::optional<PlayedMethod> switched_method(std::string_view name, const std::string& library) {
  take_start(name, "allreduce_");
  const std::optional<int> segment = take_number(name);
  for (const char* end : {"_over", "_ompi", "_mpich", "_mpi", "_cray"}) {
    if (take_end(name, end)) break;
  }
  if (name == "default" || name == "auto") {
    const bool ompi = library.find("ompi") != library.npos || starts_with(library, "openmpi") ||
                      starts_with(library, "open mpi");
    return switched(ompi ? PlayedForm::ompi_choice : PlayedForm::library_choice);
  }
  std::optional<PlayedMethod> played = find_name(switched_names(), name);
  if (!played) return {};
  if (segment) played->segment = *segment;
  played->segment_is_a_chunk = !segment && name.find("_segmented") != name.npos && played->bine;
  return played;
}

/// "BINE-B_CONT-UTOFU-4096-6": the pattern, B (halving) or L (doubling), the size of segments and
/// the number of ports.
std::optional<PlayedMethod> utofu_method(std::string_view name) {
  const std::optional<int> ports = take_number(name);
  const std::optional<int> segment = take_number(name);
  if (!ports || !segment || *ports < 1 || !take_end(name, "_utofu")) return {};
  const bool is_ring = take_start(name, "ring_");
  const bool is_bine = !is_ring && take_start(name, "bine_");
  if (!is_ring && !is_bine && !take_start(name, "recdoub_")) return {};
  const bool halves = starts_with(name, "b");
  if (!halves && name != "l") return {};
  PlayedMethod played = on(Interconnect::torus, is_ring  ? PlayedForm::port_ring
                                                : halves ? PlayedForm::port_halving
                                                         : PlayedForm::port_doubling);
  played.bine = is_bine;
  played.ports = *ports;
  played.segment = *segment;
  return played;
}

std::optional<PlayedMethod> fujitsu_method(std::string_view name, const Scale& scale) {
  take_start(name, "default_");
  PlayedMethod played = on(Interconnect::torus, PlayedForm::axis_trees);
  if (name == "trix3" || name == "trix6") {
    played.ports = name.back() - '0';
    // Both directions of axes of two nodes are one: the library then plays its other algorithms.
    const std::vector<int> axes = torus_axes(scale);
    played.falls_back = played.ports > 3 && std::all_of(axes.begin(), axes.end(),
                                                        [](int length) { return length <= 2; });
    return played;
  }
  static const std::array<NamedForm, 8> names{{
      {"default", on(Interconnect::torus, PlayedForm::library_choice)},
      {"recursive_doubling", on(Interconnect::torus, PlayedForm::doubling)},
      {"ring", on(Interconnect::torus, PlayedForm::ring)},
      {"segmented_ring", on(Interconnect::torus, PlayedForm::ring)},
      {"nonoverlapping", on(Interconnect::torus, PlayedForm::tree)},
      {"rdbc", on(Interconnect::torus, PlayedForm::tree)},
      {"basic_linear", on(Interconnect::torus, PlayedForm::linear)},
      {"linear", on(Interconnect::torus, PlayedForm::linear)},
  }};
  return find_name(names, name);
}

std::optional<PlayedMethod> gpu_method(std::string_view name) {
  take_start(name, "allreduce_");
  constexpr Interconnect nodes = Interconnect::gpu_nodes;
  static const std::array<NamedForm, 10> names{{
      {"nccl_ring", on(nodes, PlayedForm::node_ring)},
      {"nccl_tree", on(nodes, PlayedForm::node_tree)},
      {"nccl_auto", on(nodes, PlayedForm::node_fastest)},
      // Where NVLS between nodes is not supported the request falls to the ring.
      {"nccl_nvlstree", on(nodes, PlayedForm::node_ring, true)},
      {"nccl_nvls", on(nodes, PlayedForm::node_fastest, true)},
      {"nccl_collnet", on(nodes, PlayedForm::node_fastest, true)},
      {"nccl_collnetdirect", on(nodes, PlayedForm::node_fastest, true)},
      {"nccl_collnetchain", on(nodes, PlayedForm::node_fastest, true)},
      {"nccl_pat", on(nodes, PlayedForm::node_fastest, true)},
      {"nccl", on(nodes, PlayedForm::node_fastest)},
  }};
  if (const auto found = find_name(names, name)) return found;
  if (take_end(name, "_mpi")) {
    if (name == "hier_bw") return on(nodes, PlayedForm::node_halving);
    if (name == "hier_lat") return on(nodes, PlayedForm::node_doubling);
  }
  return {};
}

bool is_ours(const std::string& algorithm) {
  try {
    find_algorithm(parse_algorithm_spec(algorithm).name);
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

std::optional<PlayedMethod> host_method(const MethodKey& method) {
  const std::string library = normalized_name(method.library);
  if (starts_with(library, "openmpi") || starts_with(library, "mpich")) {
    auto played = switched_method(normalized_name(method.algorithm), library);
    if (!played || played->form == PlayedForm::library_choice) return {};
    played->interconnect = starts_with(library, "mpich") ? Interconnect::host_busy_library
                                                         : Interconnect::host_library;
    return played;
  }
  const bool memory = method.library == "shm";
  if ((!memory && method.library != "grpc") || !is_ours(method.algorithm)) return {};
  PlayedMethod played =
      on(memory ? Interconnect::host_memory : Interconnect::host_messages, PlayedForm::schedule);
  played.spec = method.algorithm;
  return played;
}

}  // namespace

std::string normalized_name(std::string_view name) {
  std::string text = lower_case(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

std::vector<int> torus_axes(const Scale& scale) {
  std::vector<int> axes;
  for (const int length : scale.shape) {
    if (length > 1) axes.push_back(length);
  }
  if (!axes.empty()) return axes;
  int left = std::max(scale.nodes, 2);
  for (int dims = 3; dims > 1; --dims) {
    int length = static_cast<int>(std::lround(std::pow(left, 1.0 / dims)));
    while (length > 1 && left % length != 0) --length;
    if (length > 1) axes.push_back(length);
    left /= std::max(length, 1);
  }
  if (left > 1) axes.push_back(left);
  return axes;
}

std::optional<PlayedMethod> played_method(const MethodKey& method, const Scale& scale) {
  if (method.collective != CollectiveKind::all_reduce) return {};
  if (scale.is_host()) return scale.ranks > 1 ? host_method(method) : std::nullopt;
  if (scale.nodes < 2) return {};
  const std::string name = normalized_name(method.algorithm);
  const std::string library = normalized_name(method.library);
  if (scale.ranks > scale.nodes) return gpu_method(name);
  // NCCL chooses channels, protocols and thresholds: heuristics/nccl/ and the trend know more.
  if (library.find("ccl") != library.npos || name.find("nccl") != name.npos) return {};
  if (const auto ports = utofu_method(name)) return ports;
  if (starts_with(library, "fjmpi")) return fujitsu_method(name, scale);
  return switched_method(name, library);
}

PlayedFamily family_of(const PlayedMethod& played) {
  switch (played.form) {
    case PlayedForm::doubling:
    case PlayedForm::port_doubling:
    case PlayedForm::node_doubling:
      return PlayedFamily::latency;
    case PlayedForm::halving:
    case PlayedForm::port_halving:
      return played.segment > 0 || played.segment_is_a_chunk ? PlayedFamily::segmented
                                                             : PlayedFamily::halving;
    case PlayedForm::node_halving:
      return PlayedFamily::halving;
    case PlayedForm::blocks:
      return PlayedFamily::segmented;
    case PlayedForm::ring:
    case PlayedForm::port_ring:
    case PlayedForm::node_ring:
      return PlayedFamily::ring;
    case PlayedForm::tree:
    case PlayedForm::linear:
    case PlayedForm::axis_trees:
    case PlayedForm::node_tree:
      return PlayedFamily::tree;
    case PlayedForm::schedule:
      return PlayedFamily::schedule;
    case PlayedForm::node_fastest:
    case PlayedForm::ompi_choice:
    case PlayedForm::library_choice:
      break;
  }
  return PlayedFamily::choice;
}

std::string_view registry_row(const PlayedMethod& played) {
  switch (played.form) {
    case PlayedForm::doubling:
      return played.bine ? "bine:small" : "recursive-doubling";
    case PlayedForm::halving:
    case PlayedForm::blocks:
      return played.bine ? "bine" : "halving-doubling";
    case PlayedForm::ring:
      return "ring";
    case PlayedForm::tree:
      return "binomial";
    case PlayedForm::linear:
      return "reduce-broadcast";
    // Swing's partners are as far as Bine's, 1, 1, 3, 5, 11 ..., on every axis.
    case PlayedForm::port_doubling:
      return played.bine ? "swing:latency" : "recursive-doubling";
    case PlayedForm::port_halving:
      return played.bine ? "swing" : "halving-doubling";
    case PlayedForm::port_ring:
      return "torus";
    default:
      return {};
  }
}

PlayedMethod played_for(const PlayedMethod& played, int ranks, double bytes, double element_bytes) {
  const double elements = std::max(1.0, std::round(bytes / element_bytes));
  PlayedMethod real = played;
  if (played.form == PlayedForm::ompi_choice) {
    const auto count = static_cast<std::int64_t>(elements);
    const OmpiAlgorithm rule =
        ompi_fixed_rule(ranks, Bytes{static_cast<std::int64_t>(std::round(bytes))});
    switch (ompi_played(rule, ranks, count)) {
      case OmpiAlgorithm::linear:
        real.form = PlayedForm::linear;
        break;
      case OmpiAlgorithm::nonoverlapping:
        real.form = PlayedForm::tree;
        break;
      case OmpiAlgorithm::recursive_doubling:
        real.form = PlayedForm::doubling;
        break;
      case OmpiAlgorithm::ring:
      case OmpiAlgorithm::segmented_ring:
        real.form = PlayedForm::ring;
        break;
      case OmpiAlgorithm::rabenseifner:
        real.form = PlayedForm::halving;
        break;
    }
  }
  if (real.form == PlayedForm::ring && elements < ranks) real.form = PlayedForm::doubling;
  return real;
}

bool is_replaced(const PlayedMethod& played, int ranks, double bytes, double element_bytes) {
  return played.form == PlayedForm::ring &&
         played_for(played, ranks, bytes, element_bytes).form != PlayedForm::ring;
}

}  // namespace collbench
