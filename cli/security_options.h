// The options that keep strangers out of a job of several workers: its token, and TLS.
//
// A secret is read from a file or from the environment, never from a command line, which every user
// of the machine can see; and it is no setting, so it is in no record and no dumped configuration.
#pragma once

#include "cli/settings.h"
#include "transports/job_security.h"

namespace collbench {

/// From --token-file or COLLBENCH_JOB_TOKEN, and the files of --tls-ca, --tls-cert and --tls-key.
/// Throws InvalidArgument naming the option whose file is empty or is no PEM, Unavailable for one
/// that cannot be read. Whether it is enough is for require_secure() to say.
JobSecurity security_of(const Settings& settings);

}  // namespace collbench
