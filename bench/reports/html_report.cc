#include "bench/reports/html_report.h"

#include <ostream>

#include <pugixml.hpp>

#include "bench/records/report.h"
#include "bench/reports/columns.h"
#include "bench/reports/formats.h"
#include "bench/reports/html_diagnosis.h"

namespace collbench {
namespace {

/// HTML closes no element by "/>", and "<td />" would be left open.
constexpr unsigned html_format =
    pugi::format_raw | pugi::format_no_empty_element_tags | pugi::format_skip_control_chars;

pugi::xml_node add_text(pugi::xml_node parent, const char* element, const std::string& text) {
  pugi::xml_node child = parent.append_child(element);
  child.text().set(text.c_str());
  return child;
}

void write_element(std::ostream& out, const char* element, const std::string& text) {
  pugi::xml_document document;
  add_text(document, element, text).print(out, "", html_format, pugi::encoding_utf8);
}

/// What is shown where scripts do not run: every case, as the terminal's table has it.
void write_plain_table(std::ostream& out, const HtmlReport& report) {
  std::vector<Case> cases;
  for (const ReportSource& source : report.sources) {
    for (const Record& record : source.file.records) cases.push_back(record.point);
  }
  const std::vector<Column> columns = table_columns({}, cases, true);
  pugi::xml_document document;
  pugi::xml_node plain = document.append_child("noscript");
  add_text(plain, "p", "Scripts are off: the charts need them, the table does not.");
  pugi::xml_node table = plain.append_child("table");
  pugi::xml_node heading = table.append_child("thead").append_child("tr");
  add_text(heading, "th", "file");
  for (const Column& column : columns) {
    add_text(heading, "th", column.heading + " " + column.unit);
  }
  pugi::xml_node body = table.append_child("tbody");
  for (const ReportSource& source : report.sources) {
    for (const Record& record : source.file.records) {
      const Row row{record, figures(record)};
      pugi::xml_node line = body.append_child("tr");
      add_text(line, "td", source.name);
      for (const Column& column : columns) {
        pugi::xml_node cell = add_text(line, "td", cell_text(column, row));
        if (!column.left()) cell.append_attribute("class") = "n";
      }
    }
  }
  plain.print(out, "", html_format, pugi::encoding_utf8);
  out << '\n';
}

}  // namespace

void write_html(std::ostream& out, const HtmlReport& report) {
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         // Nothing is loaded from anywhere, and the browser sees to it.
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
         "'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n";
  write_element(out, "title", report.title);
  out << "\n<style>\n" << page_style() << "</style>\n</head>\n<body>\n<main id=\"page\">";
  write_element(out, "h1", report.title);
  write_diagnosis_section(out, report.diagnoses);
  out << "</main>\n";
  write_plain_table(out, report);
  out << "<script type=\"application/json\" id=\"data\">" << page_data(report) << "</script>\n"
      << "<script>\n"
      << echarts_script() << "\n</script>\n<script>\n"
      << page_script() << "</script>\n</body>\n</html>\n";
}

ReportFormat html_format() { return {"html", "one page that works offline"}; }

}  // namespace collbench
