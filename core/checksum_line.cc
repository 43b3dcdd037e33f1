#include "core/checksum_line.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/crc32c.h"

namespace collbench {
namespace {

constexpr std::string_view sum_line = "# crc32c = ";  // then eight digits

}  // namespace

std::string with_checksum_line(std::string_view text) {
  return fmt::format("{}{:08x}; remove this line if you edit those below\n{}", sum_line,
                     crc32c(text), text);
}

std::string checksum_complaint(std::string_view text) {
  if (!text.starts_with(sum_line)) return "";
  const std::size_t end = std::min(text.find('\n'), text.size() - 1);
  const std::string_view stated = text.substr(sum_line.size(), end - sum_line.size());
  if (stated.substr(0, 8) == fmt::format("{:08x}", crc32c(text.substr(end + 1)))) return "";
  return "the lines below do not fit their checksum: they are damaged, or were edited (then remove "
         "this line)";
}

}  // namespace collbench
