// The rules of the house that no compiler checks: floors, sizes, names, prose.
//
// Every rule is a function of one file, or of all, that can be tested on a planted violation. They
// read text, not C++: what clang-format would not write is not understood.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace collbench::tidy {

struct SourceFile {
  std::string path;  // relative to the repository, "core/units.h"
  std::string text;
};

/// What is wrong, one "PATH:LINE: what" each.
using Complaints = std::vector<std::string>;

struct Rule {
  std::string_view name;
  std::string_view meaning;
  Complaints (*check)(const SourceFile& file);
};
std::span<const Rule> rules();

/// Types at the start of a line of two headers, and so in the one namespace, of one name: whatever
/// includes one of them would be another program than whatever includes the other.
Complaints repeated_types(std::span<const SourceFile> files);

/// Types of tests that have the name of one of production: a program linked of both has two types
/// of one name, of which the linker takes whichever comes first.
Complaints repeated_in_tests(std::span<const SourceFile> files);

/// Types and constants of unnamed namespaces of one name in two sources that may be compiled as one
/// (batches of COLLBENCH_BATCH, within a library), or of a name that a header's type has.
Complaints repeated_unnamed(std::span<const SourceFile> files);

/// Sources above transports/ that name a row of the table of back ends, whose columns say what each
/// can do: the next back end would have to be added to every such place.
Complaints back_ends_by_name(std::span<const SourceFile> files);

/// `text` with the contents of comments, strings and character literals blanked, lines kept.
std::string code_of(std::string_view text);

/// A body in braces that belongs to a function, and is not inside another one.
struct FunctionLines {
  int first = 0;  // line where its declaration starts, counted from 1
  int last = 0;
};
std::vector<FunctionLines> functions_of(std::string_view text);

}  // namespace collbench::tidy
