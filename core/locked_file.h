// A file that one process fills at a time.
#pragma once

#include <string>

#include "core/descriptor.h"

namespace collbench {

/// The file of that name, made if need be, under a lock that ends with the descriptor. A file that
/// is put in its place has no lock until it is asked for again. Waits two seconds for another
/// process; then throws FileUnavailable with what to name `instead`. No lock where the file system
/// has none.
Descriptor locked_file(const std::string& path, const char* instead);

}  // namespace collbench
