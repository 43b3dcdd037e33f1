// What pages are made of: a frame that works offline, and elements that several sections have.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "heuristics/diagnosis/causes.h"

namespace pugi {
class xml_document;
class xml_node;
}  // namespace pugi

namespace collbench {

/// A page with the style of all of ours, its title also as its first heading. `body` writes what
/// stands in <main> behind that, `behind` what follows <main>; neither may be null. Nothing is
/// loaded from anywhere, and the browser sees to it.
void write_page(std::ostream& out, const std::string& title,
                const std::function<void(std::ostream&)>& body,
                const std::function<void(std::ostream&)>& behind);

/// HTML closes no element by "/>", and control characters are left out.
void write_elements(std::ostream& out, const pugi::xml_document& document);

/// A child of `parent` with that text, and a class if one is given.
pugi::xml_node add_element(pugi::xml_node parent, const char* name, const std::string& text,
                           const char* style = nullptr);

/// An empty drawing below its caption.
pugi::xml_node add_figure(pugi::xml_node parent, const std::string& caption, double width,
                          double height);

/// Text in a drawing; `anchor` is where (x, y) lies in it: "start", "middle" or "end".
void add_svg_text(pugi::xml_node svg, double x, double y, const std::string& text,
                  const char* anchor);

/// A <section> with a heading that can be jumped to.
pugi::xml_node add_section(pugi::xml_document& document, const char* id, const char* title);

/// A list of what was found, with what it means and what to check; nothing without causes.
void add_causes(pugi::xml_node parent, std::span<const FoundCause> causes);

/// A table; columns for which `is_text` does not hold are numbers, at the right. Rows have as many
/// cells as the heading. The body, so that cells may be marked.
pugi::xml_node add_table(pugi::xml_node parent, const std::vector<std::string>& heading,
                         const std::vector<std::vector<std::string>>& rows,
                         const std::function<bool(std::size_t column)>& is_text);

}  // namespace collbench
