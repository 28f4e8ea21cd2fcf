/// The script and the style of the page of a backup. They are constants, and their digests are in the page's policy: a browser
/// runs no other script.
///
/// The export follows the page in a `plaintext` element, which nothing in it can end (HTML Standard, 13.2.5.5 PLAINTEXT state).
/// So it is there byte by byte as the backup has it. The script shows it as text only.
enum RecordsPageScript {
    static let style = """
        .tools { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin: 1rem 0 }
        .tools label { display: grid; color: var(--quiet) }
        select, input, button { font: inherit; color: inherit; background: var(--box); border: 1px solid var(--quiet);
          border-radius: .375rem; padding: .375rem .625rem }
        th button { border: 0; background: none; padding: 0; font-weight: bold }
        button:disabled { opacity: .6 }
        plaintext { display: none }

        """

    static let script = """

        'use strict';
        (() => {
          const rowCount = 100, lengthLimit = 300;
          const element = (id) => document.getElementById(id);
          const words = (name, ...values) =>
            values.reduce((text, value, index) => text.replace('{' + index + '}', value), document.body.dataset[name]);
          const order = new Intl.Collator(document.documentElement.lang, { numeric: true });
          let collections = [], columns = [], rows = [], shown = [], first = 0, sorted = null;

          // Numbers that a browser cannot hold are shown as they are written.
          const value = (key, parsed, context) => {
            if (typeof parsed !== 'number' || Number.isSafeInteger(parsed)) return parsed;
            return context && context.source !== undefined && Number.isInteger(parsed) ? context.source : parsed;
          };
          const text = (value) =>
            value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
          const make = (name, content) => {
            const made = document.createElement(name);
            if (content !== undefined) made.textContent = content;
            return made;
          };

          const compare = (one, other) => {
            if (one === null || one === undefined) return other === null || other === undefined ? 0 : 1;
            if (other === null || other === undefined) return -1;
            if (typeof one === 'number' && typeof other === 'number') return one - other;
            return order.compare(text(one), text(other));
          };

          const sort = (column) => {
            const isDown = sorted !== null && sorted.column === column && !sorted.isDown;
            sorted = { column, isDown };
            const sign = isDown ? -1 : 1;
            rows.sort((one, other) => sign * compare(one[column], other[column]));
            search();
          };

          const head = () => {
            const row = make('tr');
            for (const column of columns) {
              const cell = make('th'), button = make('button', column);
              cell.scope = 'col';
              button.type = 'button';
              button.addEventListener('click', () => sort(column));
              cell.append(button);
              row.append(cell);
            }
            element('head').replaceChildren(row);
          };

          const show = () => {
            const part = shown.slice(first, first + rowCount);
            element('rows').replaceChildren(...part.map((record) => {
              const row = make('tr');
              for (const column of columns) {
                const whole = text(record[column]);
                const cell = make('td', whole.length > lengthLimit ? whole.slice(0, lengthLimit) + '…' : whole);
                if (typeof record[column] === 'number') cell.className = 'number';
                row.append(cell);
              }
              return row;
            }));
            [...element('head').rows[0].cells].forEach((cell, index) => {
              const isSorted = sorted !== null && sorted.column === columns[index];
              cell.ariaSort = isSorted ? (sorted.isDown ? 'descending' : 'ascending') : null;
            });
            const last = Math.min(first + rowCount, shown.length);
            element('count').textContent = shown.length === 0 ? words('none') : words('count', first + 1, last, shown.length);
            element('previous').disabled = first === 0;
            element('next').disabled = last >= shown.length;
          };

          const search = () => {
            const wanted = element('search').value.toLowerCase();
            shown = wanted === '' ? rows
              : rows.filter((record) => columns.some((column) => text(record[column]).toLowerCase().includes(wanted)));
            first = 0;
            show();
          };

          const choose = (index) => {
            rows = collections[index].records.slice();
            columns = [...new Set(rows.flatMap(Object.keys))];
            sorted = null;
            head();
            search();
          };

          const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
          const start = () => {
            const data = document.querySelector('plaintext');
            let file;
            try {
              file = JSON.parse(data.textContent, value);
            } catch (error) {
              element('count').textContent = words('damaged');
              return;
            }
            data.remove();
            for (const [name, content] of Object.entries(file)) {
              const records = (Array.isArray(content) ? content : [content]).filter(isObject);
              if (records.length > 0) collections.push({ name, records });
            }
            // The records first, and what the export says of itself last.
            collections.sort((one, other) => Array.isArray(file[other.name]) - Array.isArray(file[one.name]));
            element('collection').replaceChildren(...collections.map(({ name, records }, index) => {
              const option = make('option', name + ' (' + records.length + ')');
              option.value = index;
              return option;
            }));
            if (collections.length === 0) {
              element('count').textContent = words('none');
              return;
            }
            element('collection').addEventListener('change', (event) => choose(Number(event.target.value)));
            let timer = null;
            element('search').addEventListener('input', () => {
              clearTimeout(timer);
              timer = setTimeout(search, 150);
            });
            for (const [id, step] of [['previous', -rowCount], ['next', rowCount]])
              element(id).addEventListener('click', () => { first += step; show(); });
            choose(0);
          };
          document.addEventListener('DOMContentLoaded', start);
        })();

        """
}
