'use strict';
// One iteration as a Gantt chart, the network with what its links carried, and the history.

/** Two lanes per rank, sending above and receiving below; grey is waiting for latency or a peer. */
function ganttOption(replay) {
  const wait = cssColor('line');
  const bars = [];
  for (const message of replay.messages) {
    const [from, to, , , ready, start, arrival] = message;
    if (start > ready) bars.push({ lane: 2 * from, begin: ready, end: start, kind: 2, message });
    bars.push({ lane: 2 * from, begin: start, end: arrival, kind: 0, message });
    bars.push({ lane: 2 * to + 1, begin: start, end: arrival, kind: 1, message });
  }
  const kinds = [['sends', palette[0]], ['receives', palette[2]], ['waits', wait]];
  const series = kinds.map(([name, color], kind) => {
    const members = bars.filter((bar) => bar.kind === kind);
    return { type: 'custom', name, color, clip: true, encode: { x: [1, 2], y: 0 },
      data: members.map((bar) => ({ value: [bar.lane, bar.begin, bar.end], bar })),
      renderItem: (parameters, api) => {
        const [x, y] = api.coord([api.value(1), api.value(0)]);
        const end = api.coord([api.value(2), api.value(0)])[0];
        const height = api.size([0, 1])[1] * 0.86;
        return { type: 'rect', style: { fill: color, stroke: cssColor('panel'), lineWidth: 0.5 },
          shape: echarts.graphic.clipRectByRect(
            { x, y: y - height / 2, width: Math.max(end - x, 0.8), height }, parameters.coordSys) };
      } };
  });
  const lanes = [];
  for (let rank = 0; rank < replay.ranks; ++rank) lanes.push(`rank ${rank}`, '');
  return { height: Math.min(110 + 30 * replay.ranks, 620), legend: {},
    grid: { left: 72, right: 20, top: 44, bottom: 46 },
    dataZoom: [{ type: 'inside', xAxisIndex: 0, filterMode: 'weakFilter',
      zoomOnMouseWheel: 'shift' }],
    tooltip: { formatter: ({ data }) => ganttTip(data.bar) },
    xAxis: { type: 'value', min: 0, max: replay.time_us, name: 'time', nameLocation: 'middle',
      nameGap: 28, axisLabel: { formatter: axisTime } },
    yAxis: { type: 'category', data: lanes, inverse: true, axisTick: { show: false },
      axisLabel: { interval: replay.ranks <= 24 ? (i) => i % 2 === 0
        : (i) => i % (2 * Math.ceil(replay.ranks / 16)) === 0 } },
    series };
}

function ganttTip({ message: [from, to, round, bytes, ready, start, arrival] }) {
  return tip(`rank ${from} to rank ${to}, round ${round}`, bytesText(bytes),
    `ready ${timeText(ready)}, flows from ${timeText(start)}, arrives ${timeText(arrival)}`);
}

const messageColumns = [
  { name: 'from', text: (m) => String(m[0]), value: (m) => m[0] },
  { name: 'to', text: (m) => String(m[1]), value: (m) => m[1] },
  { name: 'round', text: (m) => String(m[2]), value: (m) => m[2] },
  { name: 'bytes', text: (m) => figure(m[3]), value: (m) => m[3] },
  { name: 'ready', text: (m) => timeText(m[4]), value: (m) => m[4] },
  { name: 'flows from', text: (m) => timeText(m[5]), value: (m) => m[5] },
  { name: 'arrives', text: (m) => timeText(m[6]), value: (m) => m[6] },
];

// Light to dark blue on white, dark to light on black: lightness alone tells the order.
function heat(share) {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const [from, to] = dark ? [[60, 70, 84], [255, 214, 102]] : [[205, 212, 222], [10, 50, 120]];
  const t = Math.min(Math.max(share, 0), 1);
  return 'rgb(' + from.map((value, i) => Math.round(value + (to[i] - value) * t)).join(',') + ')';
}

/** Both directions of a cable as one line: the busier one gives its colour and width. */
function cables(replay) {
  const found = new Map();
  for (const [from, to, kind, capacity, bytes, busy, use] of replay.links) {
    const key = Math.min(from, to) + '-' + Math.max(from, to);
    const cable = found.get(key) || { from, to, kind, use: 0, lines: [] };
    cable.use = Math.max(cable.use, use);
    cable.lines.push({ from, to, kind, capacity, bytes, busy, use });
    found.set(key, cable);
  }
  return [...found.values()];
}

function topologyOption(replay) {
  const vertices = replay.vertices;
  if (vertices.length > 400) return 'The network has more than 400 vertices; the table has its links.';
  const ink = cssColor('ink');
  const many = vertices.length > 60;
  const grid = vertices.every((vertex) => vertex[1]);
  const [stretchX, stretchY] = stretch(vertices, grid);
  return { grid: undefined,
    tooltip: { formatter: (at) => at.dataType === 'edge' ? cableTip(replay, at.data.cable)
      : tip(at.data.name) },
    series: [{ type: 'graph', layout: 'none', roam: 'move', left: 40, right: 40, top: 34,
      bottom: grid ? 80 : 40,  // arcs hang below the last row
      preserveAspect: true,
      label: { show: !many, position: 'bottom', color: ink, fontSize: 10 },
      labelLayout: { hideOverlap: true },
      edgeSymbol: ['none', 'none'],
      data: vertices.map(([name, host, x, y], i) => ({ id: String(i), name,
        x: x * stretchX, y: y * stretchY,
        symbol: host ? 'circle' : 'rect', symbolSize: many ? 6 : 14,
        label: { position: grid ? [15, 13] : host ? 'bottom' : 'top' },
        itemStyle: { color: host ? palette[0] : palette[3] } })),
      links: cables(replay).map((cable) => ({ source: String(cable.from), target: String(cable.to),
        cable, lineStyle: { color: heat(cable.use), width: 1 + 3 * cable.use, opacity: 1,
          curveness: isStraight(vertices, cable) ? 0 : 0.18 } })) }] };
}

/** Factors that make the picture as wide as the page; a grid keeps its squares. */
function stretch(vertices, grid) {
  const range = (at) => Math.max(...vertices.map((v) => v[at])) -
    Math.min(...vertices.map((v) => v[at])) || 1;
  const x = Math.max(page.clientWidth - 120, 200) / range(2), y = 280 / range(3);
  return grid ? [Math.min(x, 1.6 * y), Math.min(y, 1.6 * x)] : [x, y];
}

/** Whether no third vertex lies between; links that wrap around a torus are drawn as arcs. */
function isStraight(vertices, cable) {
  const a = vertices[cable.from], b = vertices[cable.to];
  return Math.hypot(a[2] - b[2], a[3] - b[3]) <= 1.5 || !(a[1] && b[1]);
}

function cableTip(replay, cable) {
  const name = (i) => replay.vertices[i][0];
  return tip(`${name(cable.from)} and ${name(cable.to)} (${cable.kind})`,
    ...cable.lines.map((line) => `to ${name(line.to)}: ${(line.use * 100).toFixed(1)} % of ` +
      `${figure(line.capacity)} GB/s, ${bytesText(line.bytes)}, in use ${timeText(line.busy)}`));
}

function linkColumns(replay) {
  const name = (i) => replay.vertices[i][0];
  return [
    { name: 'from', text: (l) => name(l[0]) },
    { name: 'to', text: (l) => name(l[1]) },
    { name: 'class', text: (l) => l[2] },
    { name: 'GB/s', text: (l) => figure(l[3]), value: (l) => l[3] },
    { name: 'bytes', text: (l) => bytesText(l[4]), value: (l) => l[4] },
    { name: 'in use', text: (l) => timeText(l[5]), value: (l) => l[5] },
    { name: 'utilisation', text: (l) => (l[6] * 100).toFixed(1) + ' %', value: (l) => l[6] },
  ];
}

/** Ratio to the pinned reference over revisions, with its interval and the change points. */
function historyOption(series) {
  const points = series.points.filter((point) => point[2] > 0);
  if (points.length === 0) return 'This case has no history.';
  const percent = (ratio) => (ratio - 1) * 100;
  const ink = cssColor('ink');
  const band = points.map(([, , ratio, low, high], i) =>
    [i, percent(low === null ? ratio : low), percent(high === null ? ratio : high)]);
  const edges = band.flatMap(([, low, high]) => [low, high]);
  return { grid: { left: 64, right: 30, top: 46, bottom: 60 },
    dataZoom: [{ type: 'inside', xAxisIndex: 0, zoomOnMouseWheel: 'shift' }],
    tooltip: { trigger: 'item', formatter: ({ dataIndex }) => historyTip(points[dataIndex]) },
    xAxis: { type: 'category', data: points.map((point) => point[0]), axisLabel: { rotate: 35 } },
    yAxis: { type: 'value', name: 'slower than the reference',
      min: Math.floor(Math.min(...edges)) - 1, max: Math.ceil(Math.max(...edges)) + 1,
      nameTextStyle: { align: 'left' }, axisLabel: { formatter: (v) => v.toFixed(0) + ' %' } },
    series: [bandSeries('interval', band, palette[0]),
      { type: 'line', name: 'ratio', symbol: 'circle', symbolSize: 6, color: palette[0], z: 3,
        data: points.map((point) => percent(point[2])),
        markLine: { silent: true, symbol: 'none', lineStyle: { color: palette[1], width: 2 },
          label: { color: ink, formatter: '{b}' },
          data: series.changes.map(([place, text]) => ({ xAxis: place, name: text })) } }] };
}

function historyTip(point) {
  if (!point) return '';
  const [label, when, ratio, low, high] = point;
  return tip(label, when, `${percentText(ratio)} [${percentText(low)}, ${percentText(high)}]`);
}

/** Only what can be a revision becomes part of a URL. */
function commitLink(revision) {
  return report.repository && /^[0-9a-f]{7,64}$/.test(revision)
    ? `${report.repository}/commit/${revision}` : '';
}

const historyColumns = [
  { name: 'revision', text: (point) => point[0], link: (point) => commitLink(point[0]) },
  { name: 'when', text: (point) => point[1] },
  { name: 'against the reference', text: (point) => percentText(point[2]), value: (point) => point[2] },
  { name: 'low', text: (point) => percentText(point[3]), value: (point) => point[3] },
  { name: 'high', text: (point) => percentText(point[4]), value: (point) => point[4] },
];
