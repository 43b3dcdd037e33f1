#!/bin/bash
# read_page.sh PAGE LIGHT|DARK: opens a page of `collbench report --html` in headless Chromium and
# prints the charts that were drawn and how long the page took, in milliseconds. Whatever the
# browser's console says is printed to standard error, and then the script fails.
set -euo pipefail
page=$(readlink -f "$1")
# shellcheck disable=SC2054  # the comma is of the window's size
flags=(--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --enable-logging=stderr
  --window-size=1280,4000)
[[ ${2:-LIGHT} != DARK ]] || flags+=(--blink-settings=preferredColorScheme=0)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chromium "${flags[@]}" --user-data-dir="$folder/profile" --dump-dom "file://$page" \
  >"$folder/dom" 2>"$folder/log"
# Chromium's own pages complain, too: of a slow network, on a machine that is busy.
if grep CONSOLE "$folder/log" | grep -v 'source: chrome://' >&2; then exit 1; fi
python3 - "$folder/dom" <<'PYTHON'
import html.parser
import sys


class Page(html.parser.HTMLParser):
    """Counts the shapes that ECharts drew in each chart."""

    def __init__(self):
        super().__init__()
        self.ready = {}
        self.shapes = {}
        self.chart = None
        self.depth = 0

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == 'html':
            self.ready = values
        if tag == 'div':
            if self.chart:
                self.depth += 1
            elif values.get('id', '').startswith('chart-'):
                self.chart, self.depth = values['id'][6:], 1
                self.shapes[self.chart] = 0
        if self.chart and tag in ('path', 'rect', 'circle', 'polyline', 'polygon', 'text'):
            self.shapes[self.chart] += 1

    def handle_endtag(self, tag):
        if tag == 'div' and self.chart:
            self.depth -= 1
            if self.depth == 0:
                self.chart = None


page = Page()
with open(sys.argv[1], encoding='utf-8') as file:
    page.feed(file.read())
drawn = page.ready.get('data-drawn')
assert drawn is not None, 'the page did not come to its end'
for name in drawn.split():
    assert page.shapes.get(name, 0) > 5, f'{name} has {page.shapes.get(name, 0)} shapes'
print(' '.join(sorted(drawn.split())), page.ready['data-ready-ms'])
PYTHON
