// Where the time went: the fold of the critical path, and beside each of its lines when the
// path was there. Read from left to right the strips are the path itself, going from line to line.

import { PathLine } from './data';
import { brief, duration, el } from './text';

function strip(path: PathLine, row: number): HTMLElement {
	const strip = el('div', { class: 'strip', 'aria-hidden': 'true' }), all = path.cells.reduce((sum, [, count]) => sum + count, 0);
	let at = 0;
	for (const [of, count] of path.cells) {
		if (of === row) {
			const piece = el('i', {});
			piece.style.left = at * 100 / all + '%';
			piece.style.width = count * 100 / all + '%';
			piece.title = `from ${duration(at * path.cell_ns)} to ${duration((at + count) * path.cell_ns)}`;
			strip.append(piece);
		}
		at += count;
	}
	return strip;
}

export function pathSection(path: PathLine | null | undefined): HTMLElement | null {
	if (!path || !path.rows.length)
		return null;
	const share = (ns: number) => path.total_ns ? Math.round(ns * 100 / path.total_ns) : 0;
	const rows = path.rows.map((row, i) => el('tr', {},
		el('td', { class: 'number' }, share(row.ns) ? `${share(row.ns)} %` : '<1 %'),
		el('td', { class: 'number' }, duration(row.ns)),
		el('td', { class: 'number' }, String(row.count)),
		el('td', { class: 'number' }, duration(row.median_ns)),
		el('td', {}, el('bdi', { dir: 'ltr' }, brief(row.what, 120)), el('span', { class: 'dim' }, ': ', brief(row.doing, 160))),
		el('td', { class: 'when' }, strip(path, i))));
	const rest = path.total_ns - path.rows.reduce((sum, row) => sum + row.ns, 0);
	return el('section', { class: 'path' },
		el('h2', {}, `Where the time went: ${path.links} link${path.links === 1 ? '' : 's'} of the critical path through ${duration(path.total_ns)}`),
		el('table', {}, el('thead', {}, el('tr', {}, ...['share', 'total', 'count', 'median', 'what', 'when'].map((words) => el('th', {}, words)))),
			el('tbody', {}, ...rows)),
		share(rest) ? el('p', { class: 'dim' }, `${share(rest)} % in other lines; argus path tells them.`) : null,
		path.unknown_ns ? el('p', { class: 'dim' }, `What went on in ${duration(path.unknown_ns)} of it is not known.`) : null);
}
