// An XML file as plain values that know their line, for importers of topologies.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace collbench {

/// An element with its attributes and child elements; text and comments are dropped. All errors are
/// InvalidArgument, led by FILE:LINE.
class XmlElement {
 public:
  std::string name;
  int line = 0;
  std::shared_ptr<const std::string> file;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlElement> children;

  /// Null if absent.
  const std::string* find(std::string_view attribute) const;
  std::string text(std::string_view attribute, const std::string& fallback = {}) const;
  /// Throws if absent or empty.
  const std::string& need(std::string_view attribute) const;
  /// The fallback if absent or empty; throws if it is no number.
  double number(std::string_view attribute, double fallback) const;
  /// The same for whole numbers from `least` to `most`.
  int integer(std::string_view attribute, int fallback, int least, int most) const;
  [[noreturn]] void refuse(const std::string& what) const;
};

/// The root element. Throws InvalidArgument if `text` is not well-formed XML, or nested deeper than
/// 200 levels.
XmlElement parse_xml(std::string_view text, const std::string& file);

}  // namespace collbench
