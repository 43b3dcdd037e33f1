#include "bench/reports/html_elements.h"

#include <ostream>
#include <sstream>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "bench/reports/html_report.h"
#include "bench/reports/text.h"

namespace collbench {

void write_elements(std::ostream& out, const pugi::xml_document& document) {
  constexpr unsigned form =
      pugi::format_raw | pugi::format_no_empty_element_tags | pugi::format_skip_control_chars;
  std::ostringstream text;
  document.print(text, "", form, pugi::encoding_utf8);
  out << with_whole_characters(text.str());
}

pugi::xml_node add_element(pugi::xml_node parent, const char* name, const std::string& text,
                           const char* style) {
  pugi::xml_node child = parent.append_child(name);
  if (style != nullptr) child.append_attribute("class") = style;
  child.text().set(text.c_str());
  return child;
}

void write_page(std::ostream& out, const std::string& title,
                const std::function<void(std::ostream&)>& body,
                const std::function<void(std::ostream&)>& behind) {
  const auto write = [&](const char* element) {
    pugi::xml_document document;
    add_element(document, element, title);
    write_elements(out, document);
  };
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
         "'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n";
  write("title");
  out << "\n<style>\n" << page_style() << "</style>\n</head>\n<body>\n<main id=\"page\">";
  write("h1");
  body(out);
  out << "</main>\n";
  behind(out);
  out << "</body>\n</html>\n";
}

pugi::xml_node add_figure(pugi::xml_node parent, const std::string& caption, double width,
                          double height) {
  pugi::xml_node figure = parent.append_child("figure");
  add_element(figure, "figcaption", caption);
  pugi::xml_node svg = figure.append_child("svg");
  svg.append_attribute("viewBox") = fmt::format("0 0 {:.0f} {:.0f}", width, height).c_str();
  svg.append_attribute("class") = "ratios";
  svg.append_attribute("role") = "img";
  return svg;
}

void add_svg_text(pugi::xml_node svg, double x, double y, const std::string& text,
                  const char* anchor) {
  pugi::xml_node label = add_element(svg, "text", text);
  label.append_attribute("x") = fmt::format("{:.1f}", x).c_str();
  label.append_attribute("y") = fmt::format("{:.1f}", y).c_str();
  label.append_attribute("text-anchor") = anchor;
}

pugi::xml_node add_section(pugi::xml_document& document, const char* id, const char* title) {
  const std::string title_id = fmt::format("{}-title", id);
  pugi::xml_node section = document.append_child("section");
  section.append_attribute("id") = id;
  section.append_attribute("aria-labelledby") = title_id.c_str();
  pugi::xml_node heading = add_element(section, "h2", title);
  heading.append_attribute("id") = title_id.c_str();
  heading.append_attribute("tabindex") = "-1";
  return section;
}

void add_causes(pugi::xml_node parent, std::span<const FoundCause> causes) {
  if (causes.empty()) return;
  pugi::xml_node list = parent.append_child("ol");
  for (const FoundCause& found : causes) {
    pugi::xml_node item = list.append_child("li");
    add_element(item, "b",
                fmt::format("{} ({}, {})", found.cause->title, found.cause->name, how_sure(found)));
    add_element(item, "p", "Seen: " + found.seen);
    add_element(item, "p", fmt::format("It means: {}", found.cause->means));
    add_element(item.append_child("p"), "code", std::string(found.next()));
  }
}

pugi::xml_node add_table(pugi::xml_node parent, const std::vector<std::string>& heading,
                         const std::vector<std::vector<std::string>>& rows,
                         const std::function<bool(std::size_t column)>& is_text) {
  pugi::xml_node frame = parent.append_child("div");
  frame.append_attribute("class") = "scroll";
  pugi::xml_node table = frame.append_child("table");
  pugi::xml_node names = table.append_child("thead").append_child("tr");
  for (std::size_t i = 0; i < heading.size(); ++i) {
    add_element(names, "th", heading[i], is_text(i) ? nullptr : "n");
  }
  pugi::xml_node body = table.append_child("tbody");
  for (const std::vector<std::string>& row : rows) {
    pugi::xml_node line = body.append_child("tr");
    for (std::size_t i = 0; i < row.size(); ++i) {
      add_element(line, "td", row[i], is_text(i) ? nullptr : "n");
    }
  }
  return body;
}

}  // namespace collbench
