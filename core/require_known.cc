#include "core/require_known.h"

#include <algorithm>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {

void require_known(const std::string& label, std::string_view value,
                   const std::vector<std::string>& known, const std::string& what) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  throw InvalidArgument(label + ": unknown " + what + (what.empty() ? "'" : " '") +
                        std::string(value) + "'." + did_you_mean(value, known) + " Known are " +
                        names);
}

}  // namespace collbench
