// What a call refuses, for tests that read messages.
#pragma once

#include <string>

#include "core/error.h"

namespace collbench {

/// The message of the Failure that `call` throws; "" if it returns. Others pass.
template <typename Failure = InvalidArgument, typename Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace collbench
