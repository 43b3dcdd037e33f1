'use strict';
// Who is fastest where, what auto chose and what that costs, and how simulated times compare.

/**
 * The cells of size x workers: the fastest algorithm on whatever back end, the next, and auto's
 * choice. Where nothing else ran on its back end, auto competes itself.
 */
function winnerCells(list) {
  const cells = [];
  const usable = list.filter((row) => row.median > 0 &&
    (row.wrong === '' || row.wrong === 'not checked'));
  for (const [key, same] of grouped(usable, (row) => row.workers + '/' + row.bytes)) {
    const rivals = (row) => same.some((other) => !other.auto && other.backend === row.backend);
    const candidates = [...grouped(same.filter((row) => !row.auto || !rivals(row)), seriesName)
      .values()].map(middleOf).sort((a, b) => a.median - b.median);
    if (candidates.length === 0 || (candidates.length === 1 && candidates[0].auto)) continue;
    const [best, second] = candidates;
    const choosers = same.filter((row) => row.auto && rivals(row));
    const chosen = choosers.find((row) => row.backend === best.backend) || choosers[0];
    const cell = { key, workers: best.workers, bytes: best.bytes, best, second, chosen, candidates };
    cell.tie = tieReason(best, second);
    if (chosen && report.machines === '') {
      // It chooses on its own back end.
      const here = candidates.filter((row) => row.backend === chosen.backend);
      const played = here.find((row) => row.algorithm === chosen.chosen) || chosen;
      cell.regret = Math.max(played.median / here[0].median, 1);
      cell.missed = !sameAlgorithm(chosen.chosen, here[0].algorithm);
    }
    cells.push(cell);
  }
  return cells;
}

/** Why the first two are not told apart; '' if they are, and of simulated times, which are exact. */
function tieReason(best, second) {
  if (!second || best.simulated) return '';
  if (report.machines !== '') return 'of different machines: ' + report.machines;
  // A table that states one figure has no iterations either.
  if ([best, second].some((row) => row.n > 0 && row.low === null)) {
    return 'a tie: fewer than 6 iterations do not tell the first two apart';
  }
  return (second.low ?? second.median) <= (best.high ?? best.median)
    ? 'a tie: the 95 % intervals of the first two overlap' : '';
}

function sameAlgorithm(a, b) {
  return a === b || a.split(':')[0] === b.split(':')[0];
}

/** A name broken where names join words; nothing if a word is wider, since the legend has it whole. */
function brokenName(name, width) {
  const most = Math.floor((width - 4) / 6.2);
  const lines = [''];
  for (const word of name.split(/(?<=[-:=,@])/)) {
    const joined = lines[lines.length - 1] + word;
    if (joined.length <= most) lines[lines.length - 1] = joined;
    else if (word.length <= most) lines.push(word);
    else return '';
  }
  return lines.filter(Boolean).length <= 3 ? lines.filter(Boolean).join('\n') + '\n' : '';
}

/** A map needs at least two algorithms in the same cases. */
function hasWinners(list) {
  return distinct(winnerCells(list).flatMap((cell) => cell.candidates), seriesName).length >= 2;
}

function winnerOption(list) {
  const cells = winnerCells(list);
  if (!hasWinners(list)) return 'Only one algorithm is among these cases.';
  const sizes = distinct(cells, (cell) => cell.bytes).sort((a, b) => a - b);
  const workers = distinct(cells, (cell) => cell.workers).sort((a, b) => a - b);
  const back = cssColor('back'), ink = cssColor('ink');
  const series = [...grouped(cells, (cell) => seriesName(cell.best))].map(([name, members]) => ({
    type: 'custom', name, color: styleOf(members[0].best).color,
    data: members.map((cell) => ({
      value: [sizes.indexOf(cell.bytes), workers.indexOf(cell.workers)], cell })),
    renderItem: (parameters, api) => winnerCell(members[parameters.dataIndex], api, back, ink),
  }));
  return { height: Math.min(130 + 52 * workers.length, 700), legend: {},
    grid: { left: 64, right: 20, top: 60, bottom: 46 },
    tooltip: { formatter: (at) => winnerTip(at.data.cell) },
    xAxis: { type: 'category', data: sizes.map(bytesText), name: 'bytes per worker',
      nameLocation: 'middle', nameGap: 26 },
    yAxis: { type: 'category', data: workers.map(String), name: 'workers' }, series };
}

function winnerCell(cell, api, back, ink) {
  const [x, y] = api.coord([api.value(0), api.value(1)]);
  const [width, height] = api.size([1, 1]);
  const color = styleOf(cell.best).color;
  const box = { x: x - width / 2 + 1, y: y - height / 2 + 1, width: width - 2, height: height - 2 };
  const margin = cell.second ? percentText(cell.second.median / cell.best.median, 0) : '';
  const { algorithm, backend, contender } = cell.best;
  const text = width < 38 ? '' : brokenName(algorithm, width) +
    (contender === algorithm ? '' : brokenName('@' + backend, width)) + (cell.tie ? tieWord() : margin);
  const children = [
    { type: 'rect', shape: box, style: { fill: color, opacity: cell.tie ? 0.35 : 0.85 } },
    { type: 'text', style: { text, x, y, align: 'center', verticalAlign: 'middle', fontSize: 11,
      lineHeight: 14,
      fill: cell.tie ? ink : inkOn(color) } }];
  if (cell.missed) {
    const inner = { x: box.x + 2, y: box.y + 2, width: box.width - 4, height: box.height - 4 };
    children.push({ type: 'rect', shape: inner,
      style: { fill: 'none', stroke: cell.regret > 1.03 ? ink : back, lineWidth: 2.5 } });
  }
  return { type: 'group', children };
}

function tieWord() { return report.machines === '' ? 'tie' : 'not comparable'; }

/** Black or white, whichever reads better on a colour. */
function inkOn(color) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? '#111111' : '#ffffff';
}

function winnerTip(cell) {
  const lines = [`${bytesText(cell.bytes)}, ${cell.workers} workers`];
  for (const row of cell.candidates.slice(0, 6)) {
    lines.push(`${seriesName(row)}: ${timeText(row.median)}` +
      (row === cell.best ? '' : ` (${percentText(row.median / cell.best.median)})`));
  }
  if (cell.tie) lines.push(cell.tie);
  if (cell.chosen) {
    lines.push(`auto chose ${cell.chosen.chosen}, regret ${percentText(cell.regret)}`);
  }
  return tip(...lines);
}

const winnerColumns = [
  { name: 'size', text: (cell) => bytesText(cell.bytes), value: (cell) => cell.bytes },
  { name: 'workers', text: (cell) => String(cell.workers), value: (cell) => cell.workers },
  { name: 'fastest', text: (cell) => seriesName(cell.best) + (cell.tie ? ` (${tieWord()})` : '') },
  { name: 'time', text: (cell) => timeText(cell.best.median), value: (cell) => cell.best.median },
  { name: 'next', text: (cell) => cell.second ? seriesName(cell.second) : '-' },
  { name: 'behind', text: (cell) => cell.second ? percentText(cell.second.median / cell.best.median)
    : '-', value: (cell) => cell.second ? cell.second.median / cell.best.median : null },
  { name: 'auto chose', text: (cell) => cell.chosen ? cell.chosen.chosen : '-' },
  { name: 'regret', text: (cell) => percentText(cell.regret), value: (cell) => cell.regret || null },
];

/** "auto was within 3 % of the fastest in 30 of 36 cells; mean regret 1.2 %, ..." */
function regretText(list) {
  const cells = winnerCells(list).filter((cell) => cell.regret);
  if (cells.length === 0) return '';
  const regrets = cells.map((cell) => cell.regret - 1);
  const mean = regrets.reduce((a, b) => a + b, 0) / regrets.length;
  const worst = cells.reduce((a, b) => (b.regret > a.regret ? b : a));
  return `auto was within 3 % of the fastest in ${regrets.filter((r) => r <= 0.03).length} of ` +
    `${cells.length} cells; mean regret ${percentText(mean + 1)}, worst ` +
    `${percentText(worst.regret)} (${bytesText(worst.bytes)}, ${worst.workers} workers). ` +
    'Framed cells: auto chose another algorithm than the fastest on its back end.';
}

/**
 * A simulated and a real record of the same algorithm, collective, workers, size, type, operator and
 * place, where the report was told on which network the real ones ran: other networks' times say
 * nothing of it, nor do those with stragglers, slow hosts, jitter or faults.
 */
function pairs() {
  if (report.network === '') return [];
  const key = (row) => [row.chosen.split(':')[0], row.workers, row.bytes, row.type, row.op,
    row.place, row.pairing].join('/');
  const real = grouped(rows.filter((row) => !row.simulated && row.median > 0 && row.pairing !== ''), key);
  const found = [];
  for (const simulated of rows) {
    if (simulated.topology !== report.network || !(simulated.median > 0) ||
        simulated.pairing === '') continue;
    for (const same of grouped(real.get(key(simulated)) || [], (row) => row.backend).values()) {
      const measured = middleOf(same);
      found.push({ simulated, real: measured, ratio: simulated.median / measured.median });
    }
  }
  return found;
}

function scatterOption() {
  const found = pairs();
  const all = found.flatMap((pair) => [pair.real.median, pair.simulated.median]);
  const low = all.reduce((a, b) => Math.min(a, b)) / 1.5;
  const high = all.reduce((a, b) => Math.max(a, b)) * 1.5;
  const line = (factor, type) => ({ type: 'line', symbol: 'none', silent: true, data:
    [[low, low * factor], [high, high * factor]], color: cssColor('dim'), tooltip: { show: false },
    lineStyle: { type, width: 1 } });
  const series = [...grouped(found, (pair) => seriesName(pair.real))].map(([name, members]) => ({
    type: 'scatter', name, symbol: styleOf(members[0].real).symbol,
    color: styleOf(members[0].real).color,
    data: members.map((pair) => ({ value: [pair.real.median, pair.simulated.median], pair })) }));
  const axis = (name) => ({ type: 'log', name, nameLocation: 'middle', min: low, max: high,
    axisLabel: { formatter: axisTime, showMinLabel: false, showMaxLabel: false } });
  return { grid: { left: 84, right: 20, top: 44, bottom: 48 },
    legend: { data: series.map((s) => s.name) },
    tooltip: { formatter: ({ data }) => data.pair ? tip(data.pair.real.shown,
      `${bytesText(data.pair.real.bytes)}, ${data.pair.real.workers} workers`,
      `real ${timeText(data.pair.real.median)} (${data.pair.real.backend})`,
      `simulated ${timeText(data.pair.simulated.median)} (${data.pair.simulated.topology})`,
      percentText(data.pair.ratio)) : '' },
    xAxis: Object.assign(axis('real'), { nameGap: 28 }),
    yAxis: Object.assign(axis('simulated'), { nameGap: 66 }),
    series: [line(1, 'solid'), line(1.1, 'dashed'), line(1 / 1.1, 'dashed'), line(1.25, 'dotted'),
      line(1 / 1.25, 'dotted'), ...series] };
}

function errorText() {
  const errors = pairs().map((pair) => Math.abs(pair.ratio - 1)).sort((a, b) => a - b);
  if (errors.length === 0) return '';
  const at = (p) => (errors[Math.floor(p * (errors.length - 1))] * 100).toFixed(1);
  return `${errors.length} pairs: the simulated time is off by ${at(0.5)} % in the median, ` +
    `${at(0.9)} % at the 90th percentile. Lines: equal, ±10 % (dashed), ±25 % (dotted).`;
}

const pairColumns = [
  { name: 'algorithm', text: (pair) => pair.real.shown },
  { name: 'size', text: (pair) => bytesText(pair.real.bytes), value: (pair) => pair.real.bytes },
  { name: 'workers', text: (pair) => String(pair.real.workers), value: (pair) => pair.real.workers },
  { name: 'real', text: (pair) => timeText(pair.real.median), value: (pair) => pair.real.median },
  { name: 'on', text: (pair) => pair.real.backend },
  { name: 'simulated', text: (pair) => timeText(pair.simulated.median),
    value: (pair) => pair.simulated.median },
  { name: 'as', text: (pair) => pair.simulated.topology },
  { name: 'off by', text: (pair) => percentText(pair.ratio), value: (pair) => pair.ratio },
];
