// The row of Gloo in a build without it.
#include "transports/world/backend.h"

namespace collbench {

Backend gloo_backend() {
  Backend row;
  row.is_black_box = true;
  row.name = "gloo";
  row.summary = "Gloo's own algorithms over TCP, by threads";
  row.unavailable = "this build has no Gloo (Debian: libgloo-dev)";
  return row;
}

}  // namespace collbench
