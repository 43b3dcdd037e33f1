// The `collbench` command: its table of contents, and the one place where errors become exit codes.
#pragma once

namespace collbench {

/// What main() is given in, the exit code out (docs/exit-codes.md). What went wrong stands on
/// standard error by then; nothing is thrown.
int carry_out_command(int argc, char** argv);

}  // namespace collbench
