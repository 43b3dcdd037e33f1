'use strict';
// The verdicts of a comparison: a headline, a table with the worst first, intervals as a picture.
const marks = { wrong: 'bad', slower: 'bad', missing: 'bad', changed: 'bad', faster: 'good',
  inconclusive: 'open', 'env-mismatch': 'warn' };

const verdictColumns = [
  { name: 'verdict', text: (v) => v.outcome + (v.fails ? ' (fails)' : ''),
    mark: (v) => marks[v.outcome] || '' },
  { name: 'case', text: (v) => v.name },
  { name: 'base', text: (v) => timeText(v.base_us), value: (v) => v.base_us },
  { name: 'head', text: (v) => timeText(v.head_us), value: (v) => v.head_us },
  { name: 'change', text: (v) => percentText(v.ratio), value: (v) => v.ratio },
  { name: '95 % interval', text: (v) => v.exact ? 'exact'
    : v.low === null ? '-' : `[${percentText(v.low)}, ${percentText(v.high)}]` },
  { name: 'why', wide: true, text: (v) => v.reason },
];

/** Ratio and interval of each timed case, the widest changes first. */
function verdictOption(comparison) {
  const list = comparison.verdicts.filter((v) => v.ratio > 0)
    .sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio))).slice(0, 40).reverse();
  if (list.length === 0) return 'No case was measured on both sides.';
  const percent = (ratio) => (ratio - 1) * 100;
  const threshold = comparison.threshold;
  const color = (v) => ({ bad: palette[1], good: palette[2], warn: palette[3], open: palette[5] }[marks[v.outcome]] ||
    palette[0]);
  const symbol = (v) => ({ bad: 'triangle', good: 'diamond', warn: 'rect', open: 'pin' }[marks[v.outcome]] ||
    'circle');
  const edge = (value) => ({ xAxis: value, label: { show: false } });
  return { height: 110 + 19 * list.length,
    grid: { left: 350, right: 24, top: 30, bottom: 44 },
    tooltip: { formatter: ({ dataIndex }) => { const v = list[dataIndex];
      return v ? tip(v.name, `${v.outcome}: ${percentText(v.ratio)}`, v.reason) : ''; } },
    xAxis: { type: 'value', name: 'change of time, %', nameLocation: 'middle', nameGap: 26,
      scale: true },
    yAxis: { type: 'category', data: list.map((v) => v.name), axisLabel: { fontSize: 11,
      interval: 0, width: 335, overflow: 'truncate' } },
    series: [
      { type: 'custom', silent: true, tooltip: { show: false }, encode: { x: [1, 2], y: 0 },
        data: list.map((v, i) => [i, percent(v.low || v.ratio), percent(v.high || v.ratio)]),
        renderItem: (parameters, api) => {
          const [x1, y] = api.coord([api.value(1), api.value(0)]);
          const [x2] = api.coord([api.value(2), api.value(0)]);
          return { type: 'line', shape: { x1, y1: y, x2, y2: y },
            style: { stroke: color(list[parameters.dataIndex]), lineWidth: 3, opacity: 0.6 } };
        } },
      { type: 'scatter', z: 3, data: list.map((v, i) => ({ value: [percent(v.ratio), i],
        symbol: symbol(v), symbolSize: 10, itemStyle: { color: color(v) } })),
        markLine: { silent: true, symbol: 'none', lineStyle: { color: cssColor('dim') },
          data: [edge(0), edge(100 * threshold), edge(percent(1 / (1 + threshold)))] } }] };
}

function addVerdicts(comparison) {
  const tiles = element('div', { class: 'tiles' }, ...Object.entries(comparison.counts)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => tile(count, outcome, marks[outcome])));
  section('verdicts', 'Verdicts', element('p', {}, comparison.headline), tiles,
    element('p', { class: 'dim' }, comparison.method),
    ...comparison.mismatches.map((text) => element('p', { class: 'warn' }, text)),
    ...comparison.warnings.map((text) => element('p', { class: 'warn' }, text)),
    sortableTable(verdictColumns, comparison.verdicts, { page: 20, caption: 'verdicts' }),
    chartFigure('verdicts', 'Change of every case with its 95 % interval (the 40 largest)',
      () => verdictOption(comparison)));
}
