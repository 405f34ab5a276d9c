// The page's beginning: reads the document that stands in it and shows it.

import { ViewData } from './data';
import { AnswerView } from './answer';
import { LivePage } from './live';
import { ProfileData, ProfileView } from './profile';
import { isDark, onThemeChange } from './palette';
import { el, brief, visible } from './text';

function head(...words: (HTMLElement | null)[]): HTMLElement {
	const theme = el('button', { type: 'button', class: 'quiet', id: 'theme', 'aria-label': 'Light or dark' }, '◐');
	theme.addEventListener('click', toggleTheme);
	return el('header', {}, el('span', { class: 'brand' }, 'argus'), el('span', { class: 'dim' }, 'why was it stuck?'),
		el('span', { class: 'spring' }), ...words, theme);
}

let view: AnswerView | LivePage | ProfileView | null = null;

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

function ready(): void {
	document.documentElement.dataset.ready = 'yes';
}

function showFile(data: ViewData): void {
	const answer = new AnswerView(data, document.documentElement.outerHTML.length);
	document.title = data.answer.victim ? `Why was ${brief(visible(data.answer.victim.comm), 40)} stuck?` : 'No hang';
	view = answer;
	document.body.replaceChildren(head(
		data.hang_count > 1 && data.hang ? el('span', { class: 'dim' }, `hang ${data.hang} of ${data.hang_count}`) : null,
		data.redacted ? el('span', { class: 'badge' }, 'redacted') : null), answer.element);
	window.addEventListener('beforeprint', () => answer.print(true));
	window.addEventListener('afterprint', () => answer.print(false));
	ready();
}

function showProfile(data: ProfileData): void {
	const profile = new ProfileView(data);
	document.title = data.base ? 'What took longer' : 'Where the time went';
	view = profile;
	document.body.replaceChildren(head(), profile.element);
	window.addEventListener('beforeprint', () => profile.print());
	document.addEventListener('keydown', (event) => {
		if (event.key === '/' && !(event.target instanceof HTMLInputElement)) {
			event.preventDefault();
			profile.focusSearch();
		}
	});
	ready();
}

function showLive(): void {
	const live = new LivePage(ready);
	view = live;
	document.body.replaceChildren(head(), live.element);
	document.addEventListener('keydown', (event) => {
		if (event.key === '/' && !(event.target instanceof HTMLInputElement)) {
			event.preventDefault();
			live.focusLine();
		} else if (!event.ctrlKey && !event.metaKey && !event.altKey && !(event.target instanceof HTMLInputElement) && live.onKey(event.key)) {
			event.preventDefault();
		}
	});
}

function start(): void {
	const data = JSON.parse(document.getElementById('data')!.textContent ?? '') as ViewData & { live?: boolean; profile?: ProfileData };
	if (data.live)
		showLive();
	else if (data.profile)
		showProfile(data.profile);
	else
		showFile(data);
	document.addEventListener('keydown', onKey);
	onThemeChange(() => view?.redraw());
}

start();
