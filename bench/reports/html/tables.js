'use strict';
// Elements and tables. Text goes in as text, never as markup.

/** element('p', {class: 'dim'}, 'text', child...). */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'on') {
      for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    } else if (value !== null && value !== undefined) {
      made.setAttribute(name, value);
    }
  }
  for (const child of children) made.append(child);
  return made;
}

/**
 * A table that sorts by its headings, filters by words and shows a page of rows at a time.
 * columns: {name, text(row), value(row) for numbers, mark(row) for a class, link(row) for a URL
 * or '', wide}.
 */
function sortableTable(columns, list, { page = 50, filter = true, caption = '' } = {}) {
  const state = { order: list, column: null, descending: false, words: '', first: 0 };
  const body = element('tbody');
  const status = element('span', { class: 'dim', 'aria-live': 'polite' });
  const heads = columns.map((column) => {
    const button = element('button', { type: 'button', on: { click: () => sortBy(column) } },
      column.name);
    return element('th', { class: column.value ? 'n' : null, scope: 'col' }, button);
  });

  function filtered() {
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return state.order;
    return state.order.filter((row) => {
      const text = columns.map((column) => column.text(row)).join(' ').toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  function sortBy(column) {
    state.descending = state.column === column ? !state.descending : false;
    state.column = column;
    const key = column.value || column.text;
    const sign = state.descending ? -1 : 1;
    state.order = [...list].sort((a, b) => {
      const x = key(a), y = key(b);
      if (x === y) return 0;
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      return (x < y ? -1 : 1) * sign;
    });
    heads.forEach((head, i) => {
      const sorted = columns[i] === column;
      head.setAttribute('aria-sort',
        sorted ? (state.descending ? 'descending' : 'ascending') : 'none');
      head.firstChild.textContent =
        columns[i].name + (sorted ? (state.descending ? ' ▼' : ' ▲') : '');
    });
    state.first = 0;
    show();
  }

  const back = element('button', { type: 'button', on: { click: () => turn(-page) } }, 'Previous');
  const next = element('button', { type: 'button', on: { click: () => turn(page) } }, 'Next');
  function turn(by) {
    state.first = Math.max(0, state.first + by);
    show();
  }

  function show() {
    const found = filtered();
    const part = found.slice(state.first, state.first + page);
    body.replaceChildren(...part.map((row) => element('tr', {}, ...columns.map((column) =>
      element('td', { class: [column.value ? 'n' : '', column.wide ? 'wide' : '',
        column.mark ? column.mark(row) : ''].filter(Boolean).join(' ') || null },
        column.link && column.link(row) ? element('a', { href: column.link(row) }, column.text(row))
          : column.text(row))))));
    const last = Math.min(state.first + page, found.length);
    status.textContent = found.length === 0 ? 'no row has these words'
      : `${state.first + 1} to ${last} of ${found.length}`;
    back.disabled = state.first === 0;
    next.disabled = last >= found.length;
  }

  const controls = element('div', { class: 'controls' });
  if (filter && list.length > 10) {
    controls.append(element('label', {}, 'Only rows with ', element('input', {
      type: 'search', class: 'filter', size: 24,
      on: { input: (event) => { state.words = event.target.value; state.first = 0; show(); } },
    })));
  }
  if (list.length > page) controls.append(back, next);
  if (list.length > 10) controls.append(status);
  show();
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...heads)), body);
  return element('div', {}, controls, element('div', { class: 'scroll', tabindex: 0, role: 'region',
    'aria-label': caption || 'table' }, table));
}

/** A summary that builds its table when it is first opened. */
function foldedTable(title, make) {
  const details = element('details', { class: 'table' }, element('summary', {}, title));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(make());
  });
  return details;
}

/** A labelled <select>; names are its entries, and onChange gets the place of the chosen one. */
function chooser(label, names, onChange) {
  const select = element('select', { on: { change: () => onChange(select.selectedIndex) } },
    ...names.map((name) => element('option', {}, name)));
  return element('label', {}, label + ' ', select);
}
