// `collbench algos order`: in which order sums are taken, and which orders an observed result has.
#pragma once

#include <span>

#include "cli/declare.h"

namespace collbench {

std::span<const OptionRow> order_rows();
int show_orders(const Settings& settings);

}  // namespace collbench
