// The served page: the hangs of a trace, the answer to each, all threads over the whole
// trace, and a line to ask and correct as in `argus debug`. What is shown stands in the
// address behind the #, so that every view has a link: #why=2, #trace=FROM-TO.

import { AnswerView } from './answer';
import { Hang, PathLine, ViewData } from './data';
import { TraceView } from './overview';
import { pathSection } from './path';
import { brief, duration, el, fill, name, visible, wallClock } from './text';

export interface About {
	about: ViewData['about']; hangs: Hang[]; hang_count: number; path_line?: PathLine | null; verbs: string[];
}
interface Asked { said: string; error: string | null; corrections: number; unsaved: number; view: ViewData | null }

const ALIVE_MS = 5000;

async function get<T>(path: string): Promise<T> {
	const reply = await fetch(path);
	if (!reply.ok)
		throw new Error((await reply.text()).slice(0, 300));
	return await reply.json() as T;
}

export class LivePage {
	readonly element = el('div', {});
	private main = el('div', {});
	private said = el('pre', { class: 'said-lines', tabindex: '0', 'aria-live': 'polite' });
	private line = el('input', { type: 'text', class: 'line', 'aria-label': 'Ask or correct', autocomplete: 'off', spellcheck: 'false',
		placeholder: 'ask: back, forward, similar, cut 12 15, undo, save, help' }) as HTMLInputElement;
	private state = el('span', { class: 'dim' });
	private nav = el('nav', {});
	private about: About | null = null;
	private answer: AnswerView | null = null;
	private trace: TraceView | null = null;
	private corrections = 0;
	private lines: string[] = [];

	constructor(private ready: () => void) {
		const form = el('form', { class: 'ask' }, el('span', { class: 'prompt' }, '(argus)'), this.line, this.state);
		form.addEventListener('submit', (event) => {
			event.preventDefault();
			void this.ask(this.line.value, true);
		});
		this.line.addEventListener('keydown', (event) => {
			if (event.key === 'ArrowUp' && this.lines.length)
				this.line.value = this.lines[this.lines.length - 1];
		});
		this.element.append(this.nav, this.main, el('section', { class: 'console' }, this.said, form));
		window.addEventListener('hashchange', () => void this.go());
		window.setInterval(() => void this.alive(), ALIVE_MS);
		void this.begin();
	}

	redraw(): void {
		this.answer?.redraw();
		this.trace?.redraw();
	}

	nextWay(): void {
		this.answer?.nextWay();
	}

	focusLine(): void {
		this.line.focus();
	}

	private async begin(): Promise<void> {
		try {
			this.about = await get<About>('about');
			document.title = 'Argus: ' + brief(this.about.about.path, 60);
			await this.go();
		} catch (error) {
			this.gone(error);
		}
		this.ready();
	}

	private gone(error: unknown): void {
		fill(this.main, el('main', {}, el('h1', {}, 'Argus does not answer'), el('p', { class: 'text' }, visible(String(error)))));
	}

	private fillNav(view: string): void {
		const link = (to: string, words: string) => el('a', { href: to, ...(view === words ? { 'aria-current': 'page' } : {}) }, words);
		fill(this.nav, link('#hangs', 'hangs'), link('#why', 'answer'), link('#trace', 'trace'),
			el('span', { class: 'spring' }), el('span', { class: 'dim' }, brief(this.about!.about.path, 80)));
	}

	private async go(): Promise<void> {
		const [view, rest] = decodeURIComponent(location.hash.slice(1)).split('=');
		document.documentElement.dataset.view = '';
		if (view === 'trace') {
			this.fillNav('trace');
			this.showTrace(rest);
		} else if (view === 'why') {
			this.fillNav('answer');
			await this.ask(rest ? `why ${rest}` : 'why', false);
		} else {
			this.fillNav('hangs');
			this.showHangs();
		}
		document.documentElement.dataset.view = view || 'hangs';
	}

	private showHangs(): void {
		const { hangs, about, hang_count } = this.about!;
		const rows = hangs.map((hang, i) => {
			const link = el('a', { href: `#why=${i + 1}` }, name(hang.comm, 40), ' ', el('span', { class: 'id' }, String(hang.tid)));
			return el('tr', {}, el('td', { class: 'number' }, String(i + 1)), el('td', {}, link),
				el('td', { class: 'number' }, duration(hang.end_ns - hang.start_ns)),
				el('td', { class: 'number' }, duration(hang.start_ns - about.start_ns)), el('td', {}, brief(hang.reason, 160)));
		});
		fill(this.main, el('main', {},
			el('h1', {}, hang_count ? `${hang_count} hang${hang_count > 1 ? 's' : ''} in ${duration(about.end_ns - about.start_ns)}` : 'No hang found'),
			el('p', { class: 'text' }, `${about.events} events`, about.start_wall_ns ? `, from ${wallClock(about.start_wall_ns)}` : null,
				about.lost ? `; ${about.lost} were lost` : null, '.'),
			rows.length ? el('table', { class: 'hangs' }, el('thead', {}, el('tr', {},
				...['', 'who', 'for', 'at', 'why it counts'].map((words) => el('th', {}, words)))), el('tbody', {}, ...rows)) : null,
			pathSection(this.about!.path_line)));
		this.answer = this.trace = null;
	}

	private showTrace(rest: string | undefined): void {
		const { about } = this.about!;
		const [from, to] = /^\d+-\d+$/.test(rest ?? '') ? rest!.split('-').map(Number) : [about.start_ns, about.end_ns];
		this.answer = null;
		this.trace = new TraceView(about, this.about!.hangs, from, to);
		fill(this.main, this.trace.element);
	}

	private showAnswer(view: ViewData): void {
		this.trace = null;
		this.answer = new AnswerView(view, 0);
		fill(this.main, this.answer.element);
	}

	// A line of `argus debug`; the answer that is looked at may be another one then.
	async ask(line: string, tell: boolean): Promise<void> {
		let asked: Asked;
		if (!line.trim())
			return;
		this.state.textContent = '…';
		try {
			const reply = await fetch('ask', { method: 'POST', body: line });
			if (!reply.ok)
				throw new Error(await reply.text());
			asked = await reply.json() as Asked;
		} catch (error) {
			this.gone(error);
			return;
		}
		this.corrections = asked.corrections;
		this.state.textContent = asked.corrections
			? `${asked.corrections} correction${asked.corrections > 1 ? 's' : ''}` + (asked.unsaved ? `, ${asked.unsaved} not saved` : ', saved') : '';
		if (tell) {
			const words = asked.said + (asked.error ?? '');
			this.lines.push(line);
			this.line.value = '';
			this.said.textContent = `(argus) ${visible(line)}\n` + words.split('\n').map(visible).join('\n');
			this.said.dataset.count = String(this.lines.length);
		}
		if (asked.view)
			this.showAnswer(asked.view);
		else if (!tell)
			fill(this.main, el('main', {}, el('h1', {}, visible(asked.error ?? asked.said))));
		if (asked.view && tell && !location.hash.startsWith('#why')) {
			history.replaceState(null, '', '#why');
			this.fillNav('answer');
		}
	}

	// Another tab may have corrected something: then the answer is asked again.
	private async alive(): Promise<void> {
		try {
			const now = await get<{ corrections: number }>('alive');
			if (now.corrections !== this.corrections && this.answer)
				await this.ask('show path', false);
			this.corrections = now.corrections;
		} catch {
			this.state.textContent = 'Argus has ended';
		}
	}
}
