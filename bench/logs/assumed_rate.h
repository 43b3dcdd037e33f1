// What a communicator's network has at least, where the user does not say it: what hosts are built
// with, and its part of it.
#pragma once

#include <string>

#include "bench/logs/operations.h"

namespace collbench {

/// "communicator 'dp2' on h0, h1", without the hosts where they are many or not said.
std::string place_of(const JobLog& job, const JobRanks& ranks, int communicator);

/// Hosts of a communicator, as its log or those of all its ranks say; 0 if it is not known.
int known_hosts(const JobLog& job, const JobRanks& ranks, int communicator);

/// The same; where they are not said, those of as many full ones.
int hosts_at_least(const JobLog& job, const JobRanks& ranks, int communicator);

/// The least and the usual rate without a word of the user; 0 if there is none.
struct AssumedRate {
  double least_gbs = 0;
  double usual_gbs = 0;
  std::string words;
};

AssumedRate assumed_rate(const JobLog& job, const JobRanks& ranks, int communicator);

}  // namespace collbench
