'use strict';
// The data block as objects, and how numbers read.
const report = JSON.parse(document.getElementById('data').textContent);

// The order is that of row_of() in bench/reports/html_data.cc; a name that ends in $ is of a word.
const fields = ['source', 'algorithm$', 'chosen$', 'backend$', 'workers', 'bytes', 'type$', 'op$',
  'place$', 'buffers$', 'topology$', 'detail$', 'n', 'median', 'min', 'p25', 'p75', 'p95', 'low',
  'high', 'algbw', 'busbw', 'bound', 'boundReason$', 'wrong$', 'skipped$', 'disturbed$', 'reason$',
  'samples', 'pairing$', 'contender$'];

const rows = report.rows.map((values, index) => {
  const row = { index };
  for (let i = 0; i < fields.length; ++i) {
    const name = fields[i];
    if (name.endsWith('$')) row[name.slice(0, -1)] = report.words[values[i]];
    else row[name] = values[i];
  }
  row.simulated = row.topology !== '';
  row.auto = row.algorithm === 'auto';
  row.shown = row.auto ? 'auto: ' + row.chosen : row.algorithm;
  return row;
});
report.rows = null;

/** Four significant digits in plain notation; a dash for what is not known. */
function figure(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '-';
  if (value === 0) return '0';
  const before = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.min(Math.max(4 - before, 0), 6));
}

function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; ++unit; }
  return +bytes.toFixed(2) + ' ' + units[unit];
}

function timeText(us) {
  if (us === null || us === undefined) return '-';
  if (us < 1) return figure(us * 1e3) + ' ns';
  if (us < 1e3) return figure(us) + ' µs';
  return us < 1e6 ? figure(us / 1e3) + ' ms' : figure(us / 1e6) + ' s';
}

/** The same without zeros at the end, for axes. */
function axisTime(us) { return timeText(us).replace(/\.0+ | 0 /, ' ').replace(/(\.\d*?)0+ /, '$1 '); }
function axisFigure(value) { return String(+figure(value)); }

function percentText(ratio, digits = 1) {
  if (ratio === null || ratio === undefined || !Number.isFinite(ratio)) return '-';
  const percent = (ratio - 1) * 100;
  return (percent >= 0 ? '+' : '') + percent.toFixed(digits) + ' %';
}

/** The values of a property over rows, in the order of their first appearance. */
function distinct(list, get) {
  return [...new Set(list.map(get))];
}

/** Rows by a key, as a Map in the order of first appearance. */
function grouped(list, key) {
  const groups = new Map();
  for (const row of list) {
    const name = key(row);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(row);
  }
  return groups;
}

const manySources = report.sources.length > 1;
function sourceText(row) { return report.sources[row.source].name; }

// Whether files hold the same cases, so that a line needs its file to be told from another.
const overlap = manySources && [...grouped(rows, (row) => [row.algorithm, row.backend, row.workers,
  row.bytes, row.type, row.op, row.place, row.topology, row.detail].join('|')).values()]
  .some((same) => same.some((row) => row.source !== same[0].source));

/** What a line of a chart stands for: the algorithm as it was asked for, its back end, the file. */
function seriesName(row) {
  return row.contender + (overlap ? ' (' + sourceText(row) + ')' : '');
}

const manyBackends =
  distinct(rows.filter((row) => !row.simulated), (row) => row.backend).length > 1;

/** What ran, with what auto chose, and where, if that needs telling. */
function shownName(row) {
  return row.shown + (manyBackends && !row.simulated ? ' on ' + row.backend : '');
}

const varying = ['topology', 'detail', 'type', 'op', 'place', 'buffers']
  .filter((name) => distinct(rows, (row) => row[name]).length > 1);

/** What one chart holds constant: everything but algorithm, back end, size, and perhaps workers. */
function panelName(row, withWorkers) {
  const parts = varying.map((name) => row[name]).filter((text) => text !== '');
  if (withWorkers) parts.push(row.workers + ' workers');
  return parts.join(', ') || 'all cases';
}

/** The record with the middle median, where a case was measured several times. */
function middleOf(list) {
  const known = list.filter((row) => row.median !== null).sort((a, b) => a.median - b.median);
  return known[Math.floor((known.length - 1) / 2)];
}
