// The assembler puts the files in: a string literal of a megabyte is more than compilers promise.
#include "bench/reports/html_report.h"

asm(".section .rodata\n"
    "collbench_echarts_begin: .incbin \"" COLLBENCH_HTML_FOLDER
    "/echarts/echarts.min.js\"\n"
    "collbench_echarts_end: .byte 0\n"
    "collbench_page_begin:\n"
    ".incbin \"" COLLBENCH_HTML_FOLDER
    "/rows.js\"\n"
    ".incbin \"" COLLBENCH_HTML_FOLDER
    "/tables.js\"\n"
    ".incbin \"" COLLBENCH_HTML_FOLDER
    "/charts.js\"\n"
    ".incbin \"" COLLBENCH_HTML_FOLDER
    "/winners.js\"\n"
    ".incbin \"" COLLBENCH_HTML_FOLDER
    "/network.js\"\n"
    ".incbin \"" COLLBENCH_HTML_FOLDER
    "/verdicts.js\"\n"
    ".incbin \"" COLLBENCH_HTML_FOLDER
    "/page.js\"\n"
    "collbench_page_end: .byte 0\n"
    "collbench_style_begin: .incbin \"" COLLBENCH_HTML_FOLDER
    "/report.css\"\n"
    "collbench_style_end: .byte 0\n"
    ".previous\n");

extern "C" {
extern const char collbench_echarts_begin[];
extern const char collbench_echarts_end[];
extern const char collbench_page_begin[];
extern const char collbench_page_end[];
extern const char collbench_style_begin[];
extern const char collbench_style_end[];
}

namespace collbench {

std::string_view echarts_script() { return {collbench_echarts_begin, collbench_echarts_end}; }
std::string_view page_script() { return {collbench_page_begin, collbench_page_end}; }
std::string_view page_style() { return {collbench_style_begin, collbench_style_end}; }

}  // namespace collbench
