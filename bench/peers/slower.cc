// Preloaded into a benchmark: MPI_Allreduce and qsort take SLOWER_BY (0.2: a fifth) longer. For
// bench/studies/ab_commands.py.
#include <chrono>
#include <cstdlib>

#include <dlfcn.h>

namespace {

using Clock = std::chrono::steady_clock;

/// From here to the end of the scope takes longer.
class Slowed {
 public:
  ~Slowed() {
    static const char* const text = std::getenv("SLOWER_BY");
    static const double part = text == nullptr ? 0 : std::atof(text);
    if (part <= 0) return;
    const auto taken = Clock::now() - begin_;
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(part * taken);
    while (Clock::now() < until) continue;
  }

 private:
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

// Handles are words here, which is all that is done with them.
extern "C" int MPI_Allreduce(const void* send, void* receive, int count, void* type, void* op,
                             void* comm) {
  using Function = int (*)(const void*, void*, int, void*, void*, void*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "MPI_Allreduce"));
  const Slowed slowed;
  return real(send, receive, count, type, op, comm);
}

extern "C" void qsort(void* base, std::size_t count, std::size_t size,
                      int (*compare)(const void*, const void*)) {
  using Function = void (*)(void*, std::size_t, std::size_t, int (*)(const void*, const void*));
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "qsort"));
  const Slowed slowed;
  real(base, count, size, compare);
}
