// XML elements of the files that we write; pugixml quotes what has a meaning in XML.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

namespace pugi {
class xml_document;
class xml_node;
}  // namespace pugi

namespace collbench {

using XmlAttributes = std::initializer_list<std::pair<const char*, std::string>>;

/// Appends an element to `parent`; an attribute with an empty value is left out.
pugi::xml_node add_element(pugi::xml_node parent, const char* element,
                           const XmlAttributes& attributes);

/// The document as UTF-8 text, without characters that XML cannot hold; led by an XML declaration
/// if `declared`.
std::string printed(const pugi::xml_document& document, bool declared);

}  // namespace collbench
