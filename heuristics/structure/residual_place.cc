#include "heuristics/structure/residual_place.h"

#include <cmath>
#include <utility>

namespace collbench {
namespace {

/// What Open MPI's rules choose is measured under that name, too.
std::string ompi_name(PlayedForm form) {
  switch (form) {
    case PlayedForm::halving:
      return "rabenseifner_ompi";
    case PlayedForm::doubling:
      return "recursive_doubling_ompi";
    case PlayedForm::ring:
      return "ring_ompi";
    case PlayedForm::tree:
      return "nonoverlapping_ompi";
    default:
      return "linear_ompi";
  }
}

/// Of methods that differ in the number of ports only, what they have in common.
std::string name_without_ports(const std::string& algorithm) {
  return algorithm.substr(0, algorithm.find_last_of('-'));
}

void replace_in(std::string& text, std::string_view part, std::string_view by) {
  const std::size_t at = text.find(part);
  if (at != text.npos) text.replace(at, part.size(), by);
}

bool drives_ports(const PlayedMethod& named) {
  return named.form == PlayedForm::port_halving || named.form == PlayedForm::port_doubling ||
         named.form == PlayedForm::port_ring;
}

/// Whether no message is longer than a segment.
bool is_uncut(const PlayedMethod& named, double bytes) {
  const bool halves = named.form == PlayedForm::halving || named.form == PlayedForm::port_halving;
  return named.segment > 0 && bytes / named.ports * (halves ? 0.5 : 1) <= named.segment;
}

std::string uncut_name(const PlayedMethod& named, std::string name) {
  if (drives_ports(named)) return name.substr(0, name.find_last_of('-') + 1) + "0";
  replace_in(name, "_segmented", "");
  return name.substr(0, name.find_last_of('_'));
}

std::string name_at(const PlayedMethod& named, const PlayedMethod& played, const MethodKey& method,
                    double bytes) {
  if (named.form == PlayedForm::ompi_choice) return ompi_name(played.form);
  std::string name = method.algorithm;
  if (drives_ports(named)) name = name_without_ports(name);
  if (is_uncut(named, bytes)) return uncut_name(named, std::move(name));
  if (named.form == PlayedForm::ring && played.form == PlayedForm::doubling) {
    replace_in(name, "ring_segmented", "ring");
    replace_in(name, "segmented_ring", "ring");
    replace_in(name, "ring", "recursive_doubling");
  }
  return name;
}

}  // namespace

VectorWork work_of(const MethodKey& method) {
  return {method.type, method.op, method.in_place, method.protocol};
}

ResidualPlace residual_place(const PlayedMethod& named, const PlayedMethod& played,
                             const MethodKey& method, const Scale& scale, double bytes) {
  ResidualPlace place;
  place.family = family_of(played);
  if (is_uncut(named, bytes) && place.family == PlayedFamily::segmented) {
    place.family = PlayedFamily::halving;
  }
  place.method = name_at(named, played, method, bytes);
  place.name = method.algorithm;
  place.library = method.library;
  place.work = work_of(method);
  place.size = std::log2(bytes);
  place.nodes = std::log2(static_cast<double>(scale.extent()));
  if (!scale.is_host()) place.each = std::log2(1.0 * scale.ranks / scale.extent());
  if (named.interconnect == Interconnect::torus) place.axes = torus_axes(scale);
  place.crowded = scale.is_host() && scale.ranks > scale.cores;
  place.ports = drives_ports(named) ? named.ports : 1;
  return place;
}

}  // namespace collbench
