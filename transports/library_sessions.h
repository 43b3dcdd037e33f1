// Sessions of libraries that last as long as their process and must end before it does.
//
// What ends them may wait for other ranks, and needs threads and memory of its library: that is no
// work for destructors of static objects, which run while libraries fall apart one by one.
#pragma once

namespace collbench {

/// `end` is called by end_library_sessions(), once. From the thread that works with the library.
void end_before_exit(void (*end)());
/// Ends all sessions, the latest first; called when no communicator is left, by whatever starts
/// ranks or is one, before its main() returns. A session that nobody ends is left as it is.
void end_library_sessions();

}  // namespace collbench
