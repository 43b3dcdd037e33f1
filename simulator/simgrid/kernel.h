// The interface to SimGrid: actors with a simulated clock, shared links, mailboxes.
//
// The only file that uses SimGrid, simulator/simgrid/kernel.cc, is a module that is loaded by the
// simulating child process and by nothing else. SimGrid's library defines MPI_Allreduce and all
// other functions of MPI (its SMPI), which would replace a real MPI's in the command, and it links
// eight libraries of ns-3, which would slow down every start of the command. So the module and its
// user share this abstract class only, and neither links the other.
//
// Sizes are bytes, times are seconds, as plain numbers. Thread safety: one thread.
#pragma once

#include <functional>
#include <span>

namespace collbench {

class SimgridKernel {
 public:
  struct Settings {
    int hosts = 0;
    /// Events closer than this are one event: well above the rounding of the last moment.
    double precision = 0;
  };
  struct Mailbox;
  struct Comm;

  virtual ~SimgridKernel() = default;

  // The platform: first all links, then all routes, then the actors.
  virtual void add_link(double bytes_per_second) = 0;  // numbered from 0
  virtual void add_route(int from, int to, std::span<const int> links) = 0;
  /// An actor on `host`; `body` must let pass what SimGrid throws to end it.
  virtual void spawn(int host, std::function<void()> body) = 0;
  /// Runs until all actors have ended. Calls `stuck` if they wait for each other instead.
  virtual void run(std::function<void()> stuck) = 0;

  virtual double now() const = 0;
  /// Calls `call`, which must not block, at `time`.
  virtual void at(double time, std::function<void()> call) = 0;

  /// Another actor on the host of actor `beside`, that does not meet() the others; from at() as
  /// well.
  virtual void help(int beside, std::function<void()> body) = 0;

  // The rest is for the calling actor.
  virtual void sleep_until(double time) = 0;
  /// Blocks until all spawned actors are here.
  virtual void meet() = 0;
  /// A new mailbox, whose messages flow to `actor` even before it asks for them; for one message at
  /// a time. Actors are numbered from 0 in the order of spawn().
  virtual Mailbox* open_mailbox(int actor) = 0;
  /// A message of the calling actor that begins to flow at start(), no faster than `cap` if > 0.
  /// This and at() let no other actor run.
  virtual Comm* put(Mailbox* mailbox, double bytes, double cap) = 0;
  virtual void start(Comm* comm) = 0;  // from at() as well
  virtual Comm* get(Mailbox* mailbox) = 0;
  /// Blocks until the message has arrived, says when that was, and frees the comm.
  virtual double wait(Comm* comm) = 0;
  /// Blocks until a message that has been started has arrived; its sender may wait() meanwhile.
  virtual void watch(Comm* comm) = 0;
};

/// The name and type of the function that the module exports. A process can make one kernel.
inline constexpr const char* simgrid_kernel_function = "collbench_simgrid_kernel";
using MakeSimgridKernel = SimgridKernel*(const SimgridKernel::Settings*);

}  // namespace collbench
