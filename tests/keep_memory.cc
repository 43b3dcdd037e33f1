// In tests that fill and free megabytes thousands of times: memory that is freed is used again, as
// in the command (cli/main.cc). New pages cost more there than what is written to them.
#include <malloc.h>

namespace {

[[maybe_unused]] const bool memory_is_kept =
    mallopt(M_MMAP_THRESHOLD, 32 << 20) != 0 && mallopt(M_TRIM_THRESHOLD, 64 << 20) != 0;

}  // namespace
