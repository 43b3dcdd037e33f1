// Errors and the one way to raise each of them.
//
// Mistakes of the caller and failures of the environment are exceptions; bugs are asserts; a
// legitimate "no" is a value. A message names the thing, its value, and what would be
// right. The command maps each class to an exit code (docs/exit-codes.md).
#pragma once

#include <stdexcept>
#include <string>

namespace collbench {

/// Base of everything collbench throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller passed something impossible: a flag, a file, an argument. Exit code 2.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A result differs from the exact one, or a schedule is not an all-reduce. Exit code 3.
class WrongResult : public Error {
 public:
  using Error::Error;
};

/// A back end, device or file is not present on this machine. Exit code 4.
class Unavailable : public Error {
 public:
  using Error::Error;
};

/// A peer was lost, disagreed or did not answer in time. Exit code 5.
class TransportError : public Error {
 public:
  using Error::Error;
};

/// Throws InvalidArgument(message) unless `condition` holds.
inline void require(bool condition, const std::string& message) {
  if (!condition) throw InvalidArgument(message);
}

}  // namespace collbench
