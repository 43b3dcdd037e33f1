'use strict';
// The page: its sections in order, what chooses the cases they show, and the keys.
const page = document.getElementById('page');
const sections = [];

/** A section with a heading and a place in the navigation. */
function section(id, title, ...content) {
  const made = element('section', { id, 'aria-labelledby': id + '-title' },
    element('h2', { id: id + '-title', tabindex: -1 }, title), ...content.filter(Boolean));
  sections.push({ id, title });
  page.append(made);
}

function tile(number, text, mark) {
  return element('div', { class: 'tile' }, element('b', { class: mark || null }, String(number)), text);
}

function caseTiles() {
  const ran = rows.filter((row) => row.skipped === '');
  const wrong = rows.filter((row) => row.wrong !== '' && row.wrong !== 'not checked');
  const disturbed = rows.filter((row) => row.disturbed !== '');
  const best = ran.reduce((a, b) => ((b.busbw || 0) > ((a && a.busbw) || 0) ? b : a), null);
  const tiles = element('div', { class: 'tiles' }, tile(rows.length, 'cases'),
    tile(wrong.length, 'with a wrong result', wrong.length ? 'bad' : 'good'));
  if (disturbed.length) tiles.append(tile(disturbed.length, 'disturbed', 'warn'));
  if (ran.length < rows.length) tiles.append(tile(rows.length - ran.length, 'skipped'));
  if (best) {
    tiles.append(tile(figure(best.busbw) + ' GB/s',
      `best busbw: ${shownName(best)}, ${bytesText(best.bytes)}, ${best.workers} workers`));
  }
  return tiles;
}

function environments() {
  const names = [...new Set(report.sources.flatMap((source) => Object.keys(source.environment)))];
  const columns = [{ name: 'what', text: (name) => name },
    ...report.sources.map((source) => ({ name: source.name, wide: true,
      text: (name) => source.environment[name] || '' }))];
  return foldedTable('Where and with what', () => sortableTable(columns, names.sort(),
    { page: 100, filter: false }));
}

/** What a chart says beneath its caption, redrawn with it. */
const remarks = [];
function remark(text) {
  const made = element('p', { class: 'dim' });
  remarks.push(() => { made.textContent = text(); });
  return made;
}

function drawAll() {
  for (const update of remarks) update();
  for (const chart of charts) chart.draw();
}
function draw(...names) {
  for (const update of remarks) update();
  for (const chart of charts) if (names.includes(chart.name)) chart.draw();
}

// What the charts over sizes, the winners and the samples show.
const panels = [...grouped(rows, (row) => panelName(row, true))].map(([name, list]) => ({ name, list }));
const maps = [...grouped(rows, (row) => panelName(row, false))].map(([name, list]) => ({ name, list }));
// The richest is shown first, real ones before simulated ones.
const rank = (panel) => distinct(panel.list, seriesName).length * 1000 + panel.list.length +
  (panel.list.some((row) => !row.simulated) ? 1e6 : 0);
const shown = { panel: panels.reduce((a, b, i) => (rank(b) > rank(panels[a]) ? i : a), 0),
  map: maps.reduce((a, b, i) => (rank(b) > rank(maps[a]) ? i : a), 0), sample: 0, replay: 0,
  // A case whose level moved is what one came for.
  history: Math.max(report.history.findIndex((series) => series.changes.length > 0), 0) };
const panel = () => (panels[shown.panel] ? panels[shown.panel].list : []);
const map = () => (maps[shown.map] ? maps[shown.map].list : []);
const sampled = () => panel().filter((row) => row.samples.length > 0 && row.n > 0)
  .sort((a, b) => a.bytes - b.bytes);

/** A chooser that is only there when there is something to choose. */
function choice(label, names, name, ...redrawn) {
  if (names.length < 2) return null;
  const made = chooser(label, names, (place) => { shown[name] = place; draw(...redrawn); });
  made.querySelector('select').selectedIndex = shown[name];
  return element('div', { class: 'controls' }, made);
}

/** The cases of the panel that have samples; refilled when the panel changes. */
const sampleSelect = element('select', { on: { change: () => {
  shown.sample = sampleSelect.selectedIndex;
  draw('samples');
} } });
function fillSamples() {
  const list = sampled();
  shown.sample = Math.max(list.length - 1, 0);
  sampleSelect.replaceChildren(...list.map((row) =>
    element('option', {}, `${bytesText(row.bytes)}, ${seriesName(row)}, n = ${row.n}`)));
  sampleSelect.selectedIndex = shown.sample;
}

function addCases() {
  section('cases', 'Cases', caseTiles(), environments(),
    ...report.notes.map((note) => element('p', { class: 'dim' }, note)),
    sortableTable(caseColumns, rows, { page: 20, caption: 'all cases' }));
}

function addCharts() {
  const panelChoice = choice('Show', panels.map((one) => one.name), 'panel', 'busbw', 'time',
    'samples');
  if (panelChoice) panelChoice.addEventListener('change', () => { fillSamples(); draw('samples'); });
  section('sizes', 'Bandwidth and time against size', panelChoice,
    element('p', { class: 'dim' }, 'Logarithmic axes. Bands are the middle half of the samples; the ' +
      'dotted line is what the machine allows, where it is known. Shift and wheel zoom.'),
    element('div', { class: 'pair' },
      chartFigure('busbw', 'Bus bandwidth', () => sizeOption(panel(), 'busbw'),
        () => sortableTable(sizeColumns, panel(), { page: 30 })),
      chartFigure('time', 'Time', () => sizeOption(panel(), 'time'),
        () => sortableTable(sizeColumns, panel(), { page: 30 }))));
  if (maps.some(({ list }) => hasWinners(list))) addWinners();
  if (pairs().length > 0) {
    section('simulated', 'Simulated against real', remark(errorText),
      chartFigure('scatter', `Time, simulated against real, on ${report.network}`, scatterOption,
        () => sortableTable(pairColumns, pairs(), { page: 30 })));
  }
}

function addWinners() {
  section('winners', 'Fastest algorithm', choice('Show', maps.map((one) => one.name), 'map', 'winners'),
    remark(() => regretText(map())),
    chartFigure('winners', 'The fastest by size and workers, and how far the next is behind',
      () => winnerOption(map()), () => sortableTable(winnerColumns, winnerCells(map()), { page: 30 })));
}

function addReplays() {
  const replay = () => report.replays[shown.replay];
  // A file of one kind has no picture of the other.
  const part = (what, option) => replay()[what].length > 0 ? option(replay())
    : `'${replay().name}' has no ${what}. collbench simulate --trace writes messages, --links links.`;
  section('network', 'One iteration and its network',
    choice('Show', report.replays.map((one) => one.name), 'replay', 'gantt', 'topology'),
    remark(() => (replay().topology ? `${timeText(replay().time_us)} on ${replay().topology}. ` : '') +
      replay().bottleneck + (replay().left_out > 0
      ? ` The last ${replay().left_out} messages are not shown.` : '')),
    chartFigure('gantt', 'Messages of every rank', () => part('messages', ganttOption),
      () => sortableTable(messageColumns, replay().messages)),
    chartFigure('topology', 'Links, by the share of their capacity used over the whole time',
      () => part('links', topologyOption),
      () => sortableTable(linkColumns(replay()), replay().links)));
}

function addHistory() {
  const series = () => report.history[shown.history];
  section('history', 'History',
    choice('Show', report.history.map((one) => one.name), 'history', 'history'),
    chartFigure('history', 'Time over that of the pinned reference, measured in the same job',
      () => historyOption(series()),
      () => sortableTable(historyColumns, series().points)));
}

function addSamples() {
  section('samples', 'Raw samples',
    element('div', { class: 'controls' }, element('label', {}, 'Case ', sampleSelect)),
    chartFigure('samples', 'Every iteration in the order taken',
      () => samplesOption(sampled()[shown.sample]),
      () => sortableTable([
        { name: 'iteration', text: (item) => String(item[0]), value: (item) => item[0] },
        { name: 'time', text: (item) => timeText(item[1] / 1e3), value: (item) => item[1] }],
      [...(sampled()[shown.sample] || { samples: [] }).samples.entries()])));
}

function addNavigation() {
  const links = sections.map(({ id, title }, i) => element('a', { href: '#' + id },
    element('kbd', { 'aria-hidden': 'true' }, String(i + 1)), title));
  page.prepend(element('a', { class: 'skip', href: '#' + sections[0].id }, 'Skip to the content'),
    element('nav', { 'aria-label': 'sections' }, ...links));
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const place = Number(event.key) - 1;
    if (event.key === '/') {
      const filter = document.querySelector('input.filter');
      if (filter) { filter.focus(); event.preventDefault(); }
    } else if (sections[place]) {
      location.hash = sections[place].id;
      document.getElementById(sections[place].id + '-title').focus();
    }
  });
}

function start() {
  // It is in the page as it was written.
  if (document.getElementById('diagnosis')) sections.push({ id: 'diagnosis', title: 'Diagnosis' });
  if (report.comparison) addVerdicts(report.comparison);
  // A section that has nothing to show is not there.
  if (rows.length > 0) addCases();
  if (rows.some((row) => row.median > 0)) addCharts();
  if (report.replays.length > 0) addReplays();
  if (report.history.length > 0) addHistory();
  if (rows.some((row) => row.samples.length > 0 && row.n > 0)) addSamples();
  page.append(element('p', { class: 'dim' }, 'Keys: 1 to ' + sections.length + ' go to a section, ' +
    '/ filters the first table. Drawn with Apache ECharts ' + echarts.version +
    ', Apache License 2.0.'));
  addNavigation();
  fillSamples();
  drawAll();
  let waiting = 0;
  addEventListener('resize', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => charts.forEach((one) => one.drawn && one.chart.resize()), 100);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  // For those who test the page: what was drawn, and how long it took since the page was asked for.
  document.documentElement.dataset.drawn = charts.filter((one) => one.drawn)
    .map((one) => one.name).join(' ');
  document.documentElement.dataset.readyMs = String(Math.round(performance.now()));
}
start();
