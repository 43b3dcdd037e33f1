// Runs a function in a child process and brings back the bytes that it made.
//
// SimGrid is one per process, never forgets its settings and never sets its clock back, and an
// impossible platform ends it with abort(). So each simulation has a process of its own, made by
// fork(), for what is to be simulated holds functions, which cannot be written down for another
// program.
//
// Forking from a process with threads: the child has only the thread that forked, and any lock
// another thread held stays locked for ever. glibc frees its own locks in the child (malloc, stdio,
// the loader); for all else `work` must touch nothing that other threads lock. Routes
// must be computed before `work` and not in it, since topologies may cache them under a lock.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/units.h"

namespace collbench {

/// The child as `work` sees it.
class Child {
 public:
  virtual ~Child() = default;
  /// Reports progress; the parent ends a child that reports none for ChildOptions::patience.
  virtual void progress() = 0;
  /// Ends the child from wherever it is: run_in_child() throws TransportError with `why`.
  [[noreturn]] virtual void give_up(const std::string& why) = 0;
};

/// `name` begins error messages; a child whose progress stands still for `patience` is ended.
struct ChildOptions {
  std::string name;
  Seconds patience{300};
};

/// Calls `work` in a child process and returns its result. An exception there is thrown
/// here, as InvalidArgument, Unavailable or TransportError, whichever it was. Throws TransportError
/// with the reason and the child's last words on standard error if it crashed, exited or stood
/// still, and Stopped once a watched signal came. The child ends if the calling thread does. Thread
/// safety: any number at a time.
std::vector<std::byte> run_in_child(const std::function<std::vector<std::byte>(Child& child)>& work,
                                    const ChildOptions& options);

}  // namespace collbench
