#include "cli/output_file.h"

#include <iostream>

#include "core/error.h"
#include "core/output_file.h"

namespace collbench {

void write_output(const std::string& path, const std::function<void(std::ostream&)>& writer) {
  if (path.empty()) return;
  if (path == "-") {
    writer(std::cout);
    if (!std::cout.flush()) throw Error("could not write to the standard output");
    return;
  }
  OutputFile file(path);
  writer(file.stream());
  file.commit();
}

}  // namespace collbench
