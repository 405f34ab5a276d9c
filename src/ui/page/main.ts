// The page's beginning: reads the document that stands in it and shows it.

import { ViewData } from './data';
import { AnswerView } from './answer';
import { isDark, onThemeChange } from './palette';
import { el, brief, visible } from './text';

function head(data: ViewData): HTMLElement {
	const theme = el('button', { type: 'button', class: 'quiet', id: 'theme', 'aria-label': 'Light or dark' }, '◐');
	theme.addEventListener('click', toggleTheme);
	const count = data.hang_count > 1 && data.hang ? `hang ${data.hang} of ${data.hang_count}` : '';
	return el('header', {}, el('span', { class: 'brand' }, 'argus'), el('span', { class: 'dim' }, 'why was it stuck?'),
		el('span', { class: 'spring' }), count ? el('span', { class: 'dim' }, count) : null,
		data.redacted ? el('span', { class: 'badge' }, 'redacted') : null, theme);
}

let view: AnswerView | null = null;

function toggleTheme(): void {
	document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
	view?.redraw();
}

function onKey(event: KeyboardEvent): void {
	if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement)
		return;
	if (event.key === 't' || event.key === 'T')
		toggleTheme();
	else if (event.key === 'l' || event.key === 'L')
		view?.nextWay();
}

function start(): void {
	const element = document.getElementById('data')!;
	const text = element.textContent ?? '';
	const data = JSON.parse(text) as ViewData;
	document.title = data.answer.victim ? `Why was ${brief(visible(data.answer.victim.comm), 40)} stuck?` : 'No hang';
	view = new AnswerView(data, document.documentElement.outerHTML.length);
	document.body.replaceChildren(head(data), view.element);
	document.addEventListener('keydown', onKey);
	window.addEventListener('beforeprint', () => view?.print(true));
	window.addEventListener('afterprint', () => view?.print(false));
	onThemeChange(() => view?.redraw());
	document.documentElement.dataset.ready = 'yes';
}

start();
