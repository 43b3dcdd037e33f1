#include "bench/reports/html_report.h"

#include <ostream>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "bench/reports/columns.h"
#include "bench/reports/html_parts.h"
#include "topologies/xml_text.h"

namespace collbench {
namespace {

/// What is shown where scripts do not run: every case, as the terminal's table has it.
void write_plain_table(std::ostream& out, const HtmlReport& report) {
  std::vector<Case> cases;
  for (const ReportSource& source : report.sources) {
    for (const Record& record : source.file.records) cases.push_back(record.which);
  }
  const std::vector<Column> columns = table_columns({}, cases, true);
  out << "<noscript>\n<p>Scripts are off: the charts need them, the table does not.</p>\n"
         "<table><thead><tr><th>file</th>";
  for (const Column& column : columns) {
    out << "<th>" << escaped_for_xml(column.heading) << ' ' << escaped_for_xml(column.unit)
        << "</th>";
  }
  out << "</tr></thead><tbody>\n";
  for (const ReportSource& source : report.sources) {
    for (const Record& record : source.file.records) {
      const Row row{record, figures(record)};
      out << "<tr><td>" << escaped_for_xml(source.name) << "</td>";
      for (const Column& column : columns) {
        out << (column.left ? "<td>" : "<td class=n>") << escaped_for_xml(cell_text(column, row))
            << "</td>";
      }
      out << "</tr>\n";
    }
  }
  out << "</tbody></table>\n</noscript>\n";
}

}  // namespace

void write_html(std::ostream& out, const HtmlReport& report) {
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         // Nothing is loaded from anywhere, and the browser sees to it.
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
         "'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n"
      << "<title>" << escaped_for_xml(report.title) << "</title>\n<style>\n"
      << page_style() << "</style>\n</head>\n<body>\n<main id=\"page\"><h1>"
      << escaped_for_xml(report.title) << "</h1></main>\n";
  write_plain_table(out, report);
  out << "<script type=\"application/json\" id=\"data\">" << page_data(report) << "</script>\n"
      << "<script>\n"
      << echarts_script() << "\n</script>\n<script>\n"
      << page_script() << "</script>\n</body>\n</html>\n";
}

}  // namespace collbench
