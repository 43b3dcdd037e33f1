'use strict';
// node read_charts.js PAGE FOLDER: reads the data of a page of `collbench report --html` and prints
// what its table of cases, its charts over sizes and its map of winners would show, from the scripts
// in FOLDER, without a browser: "line NAME COLOUR SYMBOL DASH", "columns THE FIRST THREE", "panel NAME",
// "winner BYTES NAME[, WHY NOT]", "pair NAME WORKERS BYTES".
const fs = require('fs');
const vm = require('vm');

const [page, folder] = process.argv.slice(2);
const data = fs.readFileSync(page, 'utf8').match(/id="data">([^]*?)<\/script>/)[1];
const scripts = ['rows.js', 'charts.js', 'winners.js']
  .map((name) => fs.readFileSync(folder + '/' + name, 'utf8').replace("'use strict';", ''));
const show = `
for (const s of sizeOption(rows, 'time').series.filter((s) => s.type === 'line')) {
  console.log('line', s.name, s.color, s.symbol, JSON.stringify(s.lineStyle.type));
}
console.log('columns', caseColumns.map((column) => column.name).slice(0, 3).join(' '));
for (const name of grouped(rows, (row) => panelName(row, true)).keys()) console.log('panel', name);
for (const cell of winnerCells(rows)) {
  console.log('winner', cell.bytes, seriesName(cell.best) + (cell.tie ? ', ' + cell.tie : ''));
}
for (const pair of pairs()) console.log('pair', pair.real.shown, pair.real.workers, pair.real.bytes);
`;
vm.runInNewContext(scripts.join('\n') + show, {
  console,
  document: { getElementById: () => ({ textContent: data }), documentElement: {} },
  getComputedStyle: () => ({ getPropertyValue: () => 'ink' }),
});
