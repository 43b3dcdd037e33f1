// Ports of 127.0.0.1 that a test may tell to the commands it starts.
//
// They lie below those that the system hands out by itself, so that no connection of a test that
// runs side by side takes one before its command listens on it; and a name that only one process
// can hold keeps other tests that ask here, or in tests/free_ports.py, away until this one ends.
#pragma once

#include <string>
#include <vector>

namespace collbench {

/// `count` ports in a row that are this process's until it ends. Throws std::runtime_error if there
/// are none.
std::vector<int> free_ports(int count);

/// "127.0.0.1:PORT" of each.
std::vector<std::string> free_addresses(int count);

}  // namespace collbench
