'use strict';
// Charts: where they stand, how they follow light and dark, and the lines over sizes.

// Paul Tol's bright scheme, as bench/reports/contenders.cc has it. An algorithm has one colour
// everywhere; symbols and dashes tell apart its back ends and files.
const palette = ['#4477AA', '#EE6677', '#228833', '#CCBB44', '#66CCEE', '#BBBBBB', '#AA3377'];
const symbols = ['circle', 'rect', 'triangle', 'diamond', 'roundRect', 'pin', 'arrow'];
const dashes = ['solid', 'dashed', 'dotted', [10, 4, 2, 4], [4, 2], [12, 3, 2, 3, 2, 3]];

/** Simulated cases have no back end and share no chart with real ones. */
function variant(row) {
  return (row.simulated ? '' : row.backend) + (overlap ? '/' + sourceText(row) : '');
}
const variants = { real: distinct(rows.filter((row) => !row.simulated), variant),
  simulated: distinct(rows.filter((row) => row.simulated), variant) };

function styleOf(row) {
  const all = variants[row.simulated ? 'simulated' : 'real'];
  const place = report.places[row.algorithm], at = all.indexOf(variant(row));
  const lap = Math.floor(place / palette.length);
  const [symbol, dash] = all.length > 1 ? [at + 3 * lap, at] : [place + lap, lap];
  return { color: palette[place % palette.length], symbol: symbols[symbol % symbols.length],
    dash: dashes[dash % dashes.length] };
}

function cssColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

const charts = [];

/**
 * A chart with its caption and, folded, its figures as a table. `option` gives ECharts' options
 * or, as text, why there is nothing to draw.
 */
function chartFigure(name, caption, option, table) {
  const holder = element('div', { class: 'chart', id: 'chart-' + name });
  const why = element('p', { class: 'dim' });
  const fold = element('div');
  const entry = { name, holder, chart: null, option, drawn: false };
  entry.draw = () => {
    const made = option();
    const nothing = typeof made === 'string';
    why.textContent = nothing ? made : '';
    holder.style.display = nothing ? 'none' : '';
    entry.drawn = !nothing;
    fold.replaceChildren(...(nothing || !table ? [] : [foldedTable('As a table', table)]));
    if (nothing) return;
    if (made.height) holder.style.height = made.height + 'px';
    delete made.height;
    if (!entry.chart) entry.chart = echarts.init(holder, null, { renderer: 'svg' });
    entry.chart.resize();
    entry.chart.setOption(themed(made), true);
  };
  charts.push(entry);
  return element('figure', {}, element('figcaption', {}, caption), why, holder, fold);
}

/** What all charts share. */
function themed(option) {
  const ink = cssColor('ink'), dim = cssColor('dim'), line = cssColor('line');
  const axis = (given) => given && Object.assign({}, given, {
    nameTextStyle: { color: dim },
    axisLabel: Object.assign({ color: dim, hideOverlap: true }, given.axisLabel),
    axisLine: { lineStyle: { color: dim } },
    splitLine: { show: given.type !== 'category', lineStyle: { color: line } },
  });
  return Object.assign({
    animation: false,
    aria: { enabled: true },
    textStyle: { color: ink, fontFamily: 'system-ui, "DejaVu Sans", sans-serif' },
    toolbox: { right: 6, top: option.legend ? 26 : 2, itemSize: 13, iconStyle: { borderColor: dim },
      feature: Object.assign(
        option.dataZoom ? { dataZoom: { title: { zoom: 'Zoom', back: 'Back' } } } : {},
        { saveAsImage: { title: 'Save', backgroundColor: cssColor('back') } }) },
  }, option, {
    legend: option.legend && Object.assign({ type: 'scroll', top: 4, left: 8, right: 70,
      textStyle: { color: ink }, pageTextStyle: { color: dim }, pageIconColor: dim,
      inactiveColor: line }, option.legend),
    tooltip: Object.assign({ backgroundColor: cssColor('panel'), borderColor: line,
      textStyle: { color: ink, fontSize: 12 }, confine: true }, option.tooltip),
    xAxis: axis(option.xAxis),
    yAxis: axis(option.yAxis),
  });
}

/** Lines of text for a tooltip; the first is bold. */
function tip(...lines) {
  const box = element('div');
  lines.forEach((line, i) => box.append(element(i === 0 ? 'b' : 'div', {}, line)));
  return box;
}

const sizeAxis = { type: 'log', logBase: 2, name: 'bytes per worker', nameLocation: 'middle',
  nameGap: 26, min: 'dataMin', max: 'dataMax', splitNumber: 8,
  axisLabel: { formatter: bytesText } };

/** A polygon between two curves: points of [x, low, high]. */
function bandSeries(name, points, color) {
  return { type: 'custom', name, color, silent: true, z: 1, tooltip: { show: false },
    data: [points.flat()],
    renderItem: (parameters, api) => {
      const upper = points.map(([x, , high]) => api.coord([x, high]));
      const lower = points.map(([x, low]) => api.coord([x, low])).reverse();
      return { type: 'polygon', shape: { points: upper.concat(lower) },
        style: { fill: color, opacity: 0.22 } };
    },
    encode: { x: [], y: [] }, clip: true };
}

const quantities = {
  busbw: { title: 'bus bandwidth', name: 'GB/s', of: (row) => row.busbw,
    band: (row) => [row.busbw * row.median / row.p75, row.busbw * row.median / row.p25],
    bound: (row) => row.busbw * row.median / row.bound, format: axisFigure },
  time: { title: 'time', name: 'time', of: (row) => row.median, band: (row) => [row.p25, row.p75],
    bound: (row) => row.bound, format: axisTime },
};

/** One line per algorithm over sizes, with the quartiles as a band and the bound as expected. */
function sizeOption(list, quantity) {
  const q = quantities[quantity];
  const usable = list.filter((row) => row.median > 0 && row.bytes > 0 && q.of(row) > 0);
  if (usable.length === 0) return 'No case of this choice has figures.';
  const series = [];
  for (const [name, members] of grouped(usable, seriesName)) {
    const style = styleOf(members[0]);
    const points = [...grouped(members, (row) => row.bytes)].map(([, same]) => middleOf(same))
      .sort((a, b) => a.bytes - b.bytes);
    series.push({ type: 'line', name, z: 3, symbol: style.symbol, symbolSize: 7,
      color: style.color, lineStyle: { width: 2, type: style.dash },
      data: points.map((row) => ({ value: [row.bytes, q.of(row)], row })) });
    // After its line, whose symbol the legend takes.
    if (points.some((row) => row.p75 > row.p25)) {
      series.push(bandSeries(name, points.map((row) => [row.bytes, ...q.band(row)]), style.color));
    }
  }
  // What limits one back end says nothing of another.
  const limits = [...grouped(usable.filter((row) => row.bound > 0), (row) => row.backend)]
    .map(([backend, limited]) => [backend, [...grouped(limited, (row) => row.bytes)]
      .map(([bytes, same]) => [bytes, same.map(q.bound).reduce((a, b) => Math.max(a, b))])
      .sort((a, b) => a[0] - b[0])])
    .filter(([, points]) => points.length > 1);  // one makes no line
  for (const [backend, points] of limits) {
    series.push({ type: 'line', name: limits.length > 1 ? 'bound of ' + backend : 'bound', z: 2,
      symbol: 'none', color: cssColor('ink'), lineStyle: { width: 1.5, type: [2, 3] }, data: points });
  }
  const bounds = limits.flatMap(([, points]) => points);
  // Whole decades around the bands, which ECharts does not count; tables of others have none.
  const edges = usable.flatMap((row) => [q.of(row), ...q.band(row)]).concat(bounds.map((point) => point[1]))
    .filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10);
  const lowest = 10 ** Math.floor(edges.reduce((a, b) => Math.min(a, b)) - 0.01);
  const highest = 10 ** Math.ceil(edges.reduce((a, b) => Math.max(a, b)) + 0.01);
  return { grid: { left: 64, right: 20, top: 66, bottom: 44 }, legend: {}, dataZoom:
    [{ type: 'inside', xAxisIndex: 0, zoomOnMouseWheel: 'shift' }],
    tooltip: { trigger: 'item', formatter: (at) => sizeTip(at, q) },
    xAxis: sizeAxis, yAxis: { type: 'log', name: q.name, axisLabel: { formatter: q.format },
      min: lowest, max: highest },
    series };
}

function sizeTip(at, q) {
  if (!at.data || !at.data.row) {
    const unit = q.name === 'time' ? '' : ' ' + q.name;
    return tip(`${at.seriesName}: ${q.format(at.value[1])}${unit} at ${bytesText(at.value[0])}`);
  }
  const row = at.data.row;
  const lines = [`${shownName(row)}, ${bytesText(row.bytes)}, ${row.workers} workers`,
    `p50 ${timeText(row.median)}, busbw ${figure(row.busbw)} GB/s`];
  if (row.p75 > row.p25) {
    lines.push(`quartiles ${timeText(row.p25)} to ${timeText(row.p75)}, n = ${row.n}`,
      `95 % interval of the median ${timeText(row.low)} to ${timeText(row.high)}`);
  }
  if (row.bound) lines.push(`bound ${timeText(row.bound)}: ${row.boundReason}`);
  if (row.reason) lines.push(row.reason);
  if (row.disturbed) lines.push('disturbed: ' + row.disturbed);
  return tip(...lines);
}

const sizeColumns = [
  { name: 'algorithm', text: (row) => shownName(row) + (manySources ? ', ' + sourceText(row) : '') },
  { name: 'size', text: (row) => bytesText(row.bytes), value: (row) => row.bytes },
  { name: 'p50', text: (row) => timeText(row.median), value: (row) => row.median },
  { name: 'p25', text: (row) => timeText(row.p25), value: (row) => row.p25 },
  { name: 'p75', text: (row) => timeText(row.p75), value: (row) => row.p75 },
  { name: 'busbw GB/s', text: (row) => figure(row.busbw), value: (row) => row.busbw },
  { name: 'bound', text: (row) => timeText(row.bound), value: (row) => row.bound },
];

const caseColumns = [
  ...(manySources ? [{ name: 'file', text: sourceText }] : []),
  { name: 'algorithm', text: (row) => row.shown },
  ...(manyBackends ? [{ name: 'backend', text: (row) => row.backend }] : []),
  ...varying.map((name) => ({ name, text: (row) => row[name] })),
  { name: 'workers', text: (row) => String(row.workers), value: (row) => row.workers },
  { name: 'size', text: (row) => bytesText(row.bytes), value: (row) => row.bytes },
  { name: 'p50', text: (row) => timeText(row.median), value: (row) => row.median },
  { name: 'p95', text: (row) => timeText(row.p95), value: (row) => row.p95 },
  { name: 'n', text: (row) => String(row.n), value: (row) => row.n },
  { name: 'busbw GB/s', text: (row) => figure(row.busbw), value: (row) => row.busbw },
  { name: 'of bound', text: (row) => row.bound ? (100 * row.bound / row.median).toFixed(0) + ' %'
    : '-', value: (row) => row.bound ? row.bound / row.median : null },
  { name: 'remarks', wide: true, mark: (row) => (row.wrong && row.wrong !== 'not checked' ? 'bad' : ''),
    text: (row) => [row.wrong, row.skipped && 'skipped: ' + row.skipped,
      row.disturbed && 'disturbed: ' + row.disturbed].filter(Boolean).join('; ') },
].filter((column) => rows.some((row) => !['', '-'].includes(column.text(row))));

/** Raw samples of one case in the order taken. */
function samplesOption(row) {
  if (!row || row.samples.length === 0) {
    return 'Simulated cases have one exact time, and tables of others a mean: no samples.';
  }
  const style = styleOf(row);
  const us = row.samples.map((ns) => ns / 1e3);
  const low = us.reduce((a, b) => Math.min(a, b)), high = us.reduce((a, b) => Math.max(a, b));
  const step = Math.max(1, Math.round(row.n / us.length));
  const level = (value, label) => ({ yAxis: value, label: { formatter: label, color: cssColor('ink'),
    position: 'insideEndTop' } });
  return { grid: { left: 76, right: 20, top: 30, bottom: 44 },
    dataZoom: [{ type: 'inside', xAxisIndex: 0, zoomOnMouseWheel: 'shift' }],
    tooltip: { trigger: 'item', formatter: (at) =>
      tip(timeText(at.value[1]), `iteration ${at.value[0]} of ${row.n}`) },
    xAxis: { type: 'value', name: 'iteration', nameLocation: 'middle', nameGap: 26, min: 0,
      max: Math.max(row.n - 1, 1) },
    yAxis: { type: low > 0 && high > 10 * low ? 'log' : 'value', scale: true,
      axisLabel: { formatter: axisTime } },
    series: [{ type: 'scatter', symbol: style.symbol, symbolSize: 6, color: style.color,
      itemStyle: { opacity: 0.8 }, data: us.map((value, i) => [i * step, value]),
      markLine: { silent: true, symbol: 'none', lineStyle: { color: cssColor('ink'), type: 'dashed' },
        data: [level(row.median, 'median'), level(row.p95, 'p95')] } }] };
}
