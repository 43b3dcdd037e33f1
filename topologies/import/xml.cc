#include "topologies/import/xml.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr int deepest_element = 200;

// Lines of offsets into a text.
class Lines {
 public:
  explicit Lines(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') ends_.push_back(static_cast<std::ptrdiff_t>(i));
    }
  }
  int at(std::ptrdiff_t offset) const {
    return static_cast<int>(std::lower_bound(ends_.begin(), ends_.end(), offset) - ends_.begin()) +
           1;
  }

 private:
  std::vector<std::ptrdiff_t> ends_;
};

XmlElement convert(const pugi::xml_node& node, const Lines& lines,
                   const std::shared_ptr<const std::string>& file, int depth) {
  XmlElement element;
  element.name = node.name();
  element.line = lines.at(node.offset_debug());
  element.file = file;
  if (depth > deepest_element)
    element.refuse(fmt::format("nested deeper than {} elements", deepest_element));
  for (const pugi::xml_attribute& a : node.attributes()) {
    element.attributes.emplace_back(a.name(), a.value());
  }
  for (const pugi::xml_node& child : node.children()) {
    if (child.type() != pugi::node_element) continue;
    element.children.push_back(convert(child, lines, file, depth + 1));
  }
  return element;
}

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  for (const auto& [key, value] : attributes) {
    if (key == attribute) return &value;
  }
  return nullptr;
}

std::string XmlElement::text(std::string_view attribute, const std::string& fallback) const {
  const std::string* value = find(attribute);
  return value == nullptr ? fallback : *value;
}

const std::string& XmlElement::need(std::string_view attribute) const {
  const std::string* value = find(attribute);
  if (value == nullptr || value->empty()) refuse(fmt::format("needs the attribute {}", attribute));
  return *value;
}

double XmlElement::number(std::string_view attribute, double fallback) const {
  const std::string* value = find(attribute);
  if (value == nullptr || value->empty()) return fallback;
  const auto number = number_in(*value);
  if (!number) refuse(fmt::format("{}=\"{}\" is not a number", attribute, *value));
  return *number;
}

int XmlElement::integer(std::string_view attribute, int fallback, int least, int most) const {
  const double value = number(attribute, fallback);
  if (value != std::floor(value) || value < least || value > most) {
    refuse(fmt::format("{}=\"{}\" must be a whole number from {} to {}", attribute, text(attribute),
                       least, most));
  }
  return static_cast<int>(value);
}

void XmlElement::refuse(const std::string& what) const {
  throw InvalidArgument(fmt::format("{}:{}: <{}>: {}", *file, line, name, what));
}

XmlElement parse_xml(std::string_view text, const std::string& file) {
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  const Lines lines(text);
  require(static_cast<bool>(result), fmt::format("{}:{}: no well-formed XML: {}", file,
                                                 lines.at(result.offset), result.description()));
  const pugi::xml_node root = document.document_element();
  require(static_cast<bool>(root), fmt::format("{}:1: no XML element in it", file));
  return convert(root, lines, std::make_shared<const std::string>(file), 0);
}

}  // namespace collbench
