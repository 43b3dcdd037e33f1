#include "core/environment_variable.h"

#include <cstdlib>

namespace collbench {

std::string environment_variable(const std::string& name, const std::string& otherwise) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): says its header
  return value != nullptr && *value != '\0' ? value : otherwise;
}

}  // namespace collbench
