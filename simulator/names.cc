// The names of engines and of ways of posting, as options take them.
#include <array>
#include <string_view>

#include "core/suggest.h"
#include "simulator/simulate.h"

namespace collbench {
namespace {

constexpr std::array<std::string_view, 5> engine_names{"auto", "model", "quotient", "fluid",
                                                       "simgrid"};
constexpr std::array<std::string_view, 2> posting_names{"eager", "rendezvous"};

}  // namespace

std::string_view to_string(Engine engine) { return engine_names[static_cast<std::size_t>(engine)]; }

Engine parse_engine(std::string_view name) {
  return static_cast<Engine>(index_of("engine", name, engine_names));
}

std::string_view to_string(Posting posting) {
  return posting_names[static_cast<std::size_t>(posting)];
}

Posting parse_posting(std::string_view name) {
  return static_cast<Posting>(index_of("way of posting", name, posting_names));
}

}  // namespace collbench
