// The error of files and programs that are not there.
#pragma once

#include "core/error.h"

namespace collbench {

/// A file or a program is not there or may not be used; the message says all that is known of it.
/// Exit code 4.
class FileUnavailable : public Unavailable {
 public:
  using Unavailable::Unavailable;
};

}  // namespace collbench
