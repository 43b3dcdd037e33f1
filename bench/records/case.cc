#include "bench/records/case.h"

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {

std::string_view to_string(Buffers buffers) {
  switch (buffers) {
    case Buffers::hot:
      return "hot";
    case Buffers::produced:
      return "produced";
    case Buffers::cold:
      return "cold";
  }
  return "";
}

Buffers parse_buffers(std::string_view name) {
  for (const Buffers buffers : {Buffers::hot, Buffers::produced, Buffers::cold}) {
    if (to_string(buffers) == name) return buffers;
  }
  throw InvalidArgument("unknown buffer mode '" + std::string(name) + "'." +
                        did_you_mean(name, {"hot", "produced", "cold"}) +
                        " Possible are hot, produced and cold.");
}

}  // namespace collbench
