// Preloaded into processes of Open MPI whose messages go over TCP: what rank SLOW_LINK_RANK sends
// takes SLOW_LINK_NS_PER_BYTE longer for each byte, as if its adapter had fallen back to a lower
// rate. For bench/studies/mpi_profile.py.
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace {

double ns_per_byte() {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const char* const slow = std::getenv("SLOW_LINK_RANK");
  const char* const ns = std::getenv("SLOW_LINK_NS_PER_BYTE");
  const bool is_slow = rank != nullptr && slow != nullptr && std::strcmp(rank, slow) == 0;
  return is_slow && ns != nullptr ? std::atof(ns) : 0;
}

bool is_socket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

}  // namespace

extern "C" ssize_t writev(int descriptor, const iovec* parts, int count) {
  using Writev = ssize_t (*)(int, const iovec*, int);
  static const auto real = reinterpret_cast<Writev>(dlsym(RTLD_NEXT, "writev"));
  static const double slowness = ns_per_byte();
  const ssize_t written = real(descriptor, parts, count);
  if (slowness > 0 && written > 4096 && is_socket(descriptor)) {
    const auto ns = static_cast<long>(slowness * static_cast<double>(written));
    const timespec wait{ns / 1'000'000'000, ns % 1'000'000'000};
    nanosleep(&wait, nullptr);
  }
  return written;
}
