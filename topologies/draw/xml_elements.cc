#include "topologies/draw/xml_elements.h"

#include <sstream>

#include <pugixml.hpp>

namespace collbench {

pugi::xml_node add_element(pugi::xml_node parent, const char* element,
                           const XmlAttributes& attributes) {
  pugi::xml_node child = parent.append_child(element);
  for (const auto& [name, value] : attributes) {
    if (!value.empty()) child.append_attribute(name) = value.c_str();
  }
  return child;
}

std::string printed(const pugi::xml_document& document, bool declared) {
  std::ostringstream text;
  document.save(text, "  ",
                pugi::format_indent | pugi::format_skip_control_chars |
                    (declared ? 0U : pugi::format_no_declaration),
                pugi::encoding_utf8);
  return text.str();
}

}  // namespace collbench
