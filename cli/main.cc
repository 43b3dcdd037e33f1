#include <csignal>

#include <malloc.h>

#include "cli/command.h"
#include "transports/library_sessions.h"

int main(int argc, char** argv) {
  // Memory that is freed is used again, where growing vectors would give theirs back each time and
  // have the system clear new pages. glibc comes to these limits by itself after a free of 32 MB.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  std::signal(SIGXFSZ, SIG_IGN);  // at the limit of a file's size, writing it fails with a reason
  const int code = collbench::carry_out_command(argc, argv);
  collbench::end_library_sessions();
  return code;
}
