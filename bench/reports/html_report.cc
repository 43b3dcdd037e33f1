#include "bench/reports/html_report.h"

#include <map>
#include <ostream>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "bench/records/report.h"
#include "bench/reports/columns.h"
#include "bench/reports/formats.h"
#include "bench/reports/html_elements.h"

namespace collbench {
namespace {

/// "2026-11-20 11:02 to 11:19 UTC": when the cases of some files began. Empty where no file says.
std::string measured_when(const std::vector<const ReportSource*>& sources) {
  std::string first;
  std::string last;
  for (const ReportSource* source : sources) {
    for (const Record& record : source->file.records) {
      if (record.started.size() < 16) continue;  // "2026-11-20T11:02:05Z"
      const std::string minute = record.started.substr(0, 10) + " " + record.started.substr(11, 5);
      if (first.empty() || minute < first) first = minute;
      last = std::max(last, minute);
    }
  }
  if (first.empty() || first == last) return first.empty() ? "" : first + " UTC";
  const bool one_day = first.substr(0, 10) == last.substr(0, 10);
  return first + " to " + (one_day ? last.substr(11) : last) + " UTC";
}

/// "vm: 2 x AMD EPYC, Linux 6.1"; empty of tables that do not say where they were made.
std::string machine_of(const Environment& environment) {
  if (!environment.contains("host") && !environment.contains("cpu")) return "";
  std::string text = fmt::format("{}: {} x {}", value_of(environment, "host"),
                                 value_of(environment, "cores", "?"), value_of(environment, "cpu"));
  for (const char* key : {"gpus", "kernel"}) {
    const std::string value = value_of(environment, key, "");
    if (!value.empty()) text += ", " + value;
  }
  return text;
}

/// A revision as the link to it, where the repository is known and the revision can be one.
void add_revision(pugi::xml_node parent, const std::string& revision,
                  const std::string& repository) {
  const bool is_name =
      !revision.empty() && revision.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (repository.empty() || !is_name) {
    parent.append_child(pugi::node_pcdata).set_value(revision.c_str());
    return;
  }
  pugi::xml_node link = add_element(parent, "a", revision);
  link.append_attribute("href") = (repository + "/commit/" + revision).c_str();
}

void add_fact(pugi::xml_node list, const char* name, const std::string& text) {
  if (text.empty()) return;
  add_element(list, "dt", name);
  add_element(list, "dd", text);
}

/// Where, when and with what: the first thing that a reader of figures asks. Files that agree on
/// machine and revision share an entry.
void write_origins(std::ostream& out, const HtmlReport& report) {
  std::map<std::string, std::vector<const ReportSource*>> alike;
  for (const ReportSource& source : report.sources) {
    const Environment& from = source.file.environment;
    alike[machine_of(from) + '\n' + value_of(from, "git_revision", "")].push_back(&source);
  }
  pugi::xml_document document;
  for (const auto& [key, sources] : alike) {
    const Environment& environment = sources.front()->file.environment;
    pugi::xml_node list = document.append_child("dl");
    list.append_attribute("class") = "origin";
    if (alike.size() > 1) {
      std::string names;
      for (const ReportSource* one : sources) names += (names.empty() ? "" : ", ") + one->name;
      add_fact(list, "files", names);
    }
    add_fact(list, "machine", machine_of(environment));
    add_fact(list, "measured", measured_when(sources));
    const std::string revision = value_of(environment, "git_revision", "");
    if (environment.contains("version")) {
      add_element(list, "dt", "with");
      pugi::xml_node with = add_element(
          list, "dd",
          "collbench " + value_of(environment, "version") + (revision.empty() ? "" : " at "));
      add_revision(with, revision, report.repository);
    }
    if (sources.size() == 1) add_fact(list, "command", value_of(environment, "command", ""));
    if (!list.first_child()) document.remove_child(list);
  }
  write_elements(out, document);
}

/// What is shown where scripts do not run: every case, as the terminal's table has it.
void write_plain_table(std::ostream& out, const HtmlReport& report) {
  const std::vector<Column> columns = table_columns({}, cases_of(report), true);
  std::vector<std::string> heading{"file"};
  for (const Column& column : columns) heading.push_back(column.heading + " " + column.unit);
  std::vector<std::vector<std::string>> rows;
  for (const ReportSource& source : report.sources) {
    for (const Record& record : source.file.records) {
      const Row row{record, figures(record)};
      std::vector<std::string>& cells = rows.emplace_back(1, source.name);
      for (const Column& column : columns) cells.push_back(cell_text(column, row));
    }
  }
  pugi::xml_document document;
  pugi::xml_node plain = document.append_child("noscript");
  add_element(plain, "p", "Scripts are off: the charts need them, the table does not.");
  add_table(plain, heading, rows,
            [&](std::size_t column) { return column == 0 || columns[column - 1].left(); });
  write_elements(out, document);
  out << '\n';
}

}  // namespace

void write_html(std::ostream& out, const HtmlReport& report) {
  const auto body = [&](std::ostream& main) {
    write_origins(main, report);
    write_diagnosis_section(main, report.diagnoses);
  };
  const auto behind = [&](std::ostream& end) {
    write_plain_table(end, report);
    end << "<script type=\"application/json\" id=\"data\">" << page_data(report) << "</script>\n"
        << "<script>\n"
        << echarts_script() << "\n</script>\n<script>\n"
        << page_script() << "</script>\n";
  };
  write_page(out, report.title, body, behind);
}

ReportFormat html_format() { return {"html", "one page that works offline"}; }

}  // namespace collbench
