/// The script and the style of the page of a backup. They are constants, and their digests are in the page's policy: a browser
/// runs no other script. Pictures are those of the files beside the page, if the records name some.
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
        button[aria-pressed=true] { background: var(--link); color: var(--page); border-color: var(--link) }
        [hidden] { display: none !important }
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
          // Of collections whose records have files, how to find them; that of the chosen one; whether they are shown.
          let pictures = {}, picture, wantsPictures = true;

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

          // The paths at which the file of a record may be, the most likely first: apps write paths of their devices.
          const pathsOf = (record) => {
            const path = record[picture.field];
            if (typeof path !== 'string' || (picture.unless && record[picture.unless] === true)) return [];
            const own = path.startsWith(picture.folder + '/') ? path.slice(picture.folder.length + 1) : path;
            const isSafe = (path) => path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
            const name = own.slice(own.lastIndexOf('/') + 1);
            return (picture.isExact || own === name ? [own] : [own, name]).filter(isSafe);
          };
          const address = (folder, path) => './' + folder + '/' + path.toWellFormed().split('/').map(encodeURIComponent).join('/');

          const figure = (record) => {
            const item = make('li'), paths = pathsOf(record);
            if (paths.length === 0) {
              item.append(make('span', text(record[columns[0]])));
              return item;
            }
            const link = make('a'), image = make('img');
            const sources = paths.flatMap((path) => [
              ...(picture.hasThumbnails ? [[path, address('thumbnails', path + '.jpg')]] : []),
              ...(/\\.(jpe?g|png|gif|webp|avif|bmp|svg)$/i.test(path) ? [[path, address('media', path)]] : []),
            ]);
            const next = () => {
              const source = sources.shift();
              if (source === undefined) {
                image.remove();
                link.href = address('media', paths[0]);
                return;
              }
              link.href = address('media', source[0]);
              image.src = source[1];
            };
            image.alt = '';
            image.loading = 'lazy';
            image.decoding = 'async';
            image.addEventListener('error', next);
            link.href = address('media', paths[0]);
            link.append(image, make('span', paths[paths.length - 1]));
            next();
            item.append(link);
            return item;
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
            const showsPictures = picture !== undefined && wantsPictures;
            element('view').hidden = picture === undefined;
            element('view').ariaPressed = String(showsPictures);
            element('table').hidden = showsPictures;
            element('pictures').hidden = !showsPictures;
            element('pictures').replaceChildren(...(showsPictures ? part.map(figure) : []));
            element('rows').replaceChildren(...(showsPictures ? [] : part).map((record) => {
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
            const { name, records } = collections[index];
            picture = Object.hasOwn(pictures, name) ? pictures[name] : undefined;
            rows = records.slice();
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
            pictures = JSON.parse(document.body.dataset.pictures);
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
            element('view').addEventListener('click', () => { wantsPictures = !wantsPictures; show(); });
            for (const [id, step] of [['previous', -rowCount], ['next', rowCount]])
              element(id).addEventListener('click', () => { first += step; show(); });
            choose(0);
          };
          document.addEventListener('DOMContentLoaded', start);
        })();

        """
}
