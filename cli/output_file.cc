#include "cli/output_file.h"

#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {

void write_output(const std::string& path, const std::function<void(std::ostream&)>& writer,
                  std::ios::openmode mode) {
  if (path.empty()) return;
  if (path == "-") {
    writer(std::cout);
    return;
  }
  std::ofstream file(path, mode);
  if (!file) throw Unavailable(fmt::format("cannot write the file '{}'", path));
  writer(file);
  file.close();
  if (!file) throw Error(fmt::format("could not write '{}'", path));
}

}  // namespace collbench
