// The served page: the hangs of a trace, the answer to each, all threads over the whole
// trace, and a line to ask and correct as in `argus debug`. What is shown stands in the
// address behind the #, so that every view has a link: #why=2, #trace=FROM-TO.

import { AnswerView } from './answer';
import { Hang, PathLine, ViewData } from './data';
import { Node, NodeView, placeLink } from './node';
import { TraceView } from './overview';
import { RecorderView } from './recorder';
import { pathSection } from './path';
import { brief, bytes, count, duration, el, fill, name, visible, wallClock } from './text';

export interface About {
	about: ViewData['about']; hangs: Hang[]; hang_count: number; path_line?: PathLine | null; verbs: string[];
}
interface Asked { said: string; error: string | null; corrections: number; unsaved: number; view: ViewData | null; node: Node | null }

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
	private state = el('span', { class: 'dim state-corrections' });
	private nav = el('nav', {});
	private about: About | null = null;
	private answer: AnswerView | null = null;
	private trace: TraceView | null = null;
	private node: NodeView | null = null;
	private grown = el('button', { type: 'button', class: 'quiet action', hidden: '' });
	private opened = 0;
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
		this.grown.addEventListener('click', () => void this.lookAgain());
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
		fill(this.nav, link('#hangs', 'hangs'), link('#why', 'answer'), link('#node', 'slice'), link('#trace', 'trace'), link('#now', 'recorder'), this.grown,
			el('span', { class: 'spring' }), el('span', { class: 'dim' }, brief(this.about!.about.path, 80)));
	}

	private async go(): Promise<void> {
		const [view, rest] = decodeURIComponent(location.hash.slice(1)).split('=');
		document.documentElement.dataset.view = '';
		if (view === 'trace') {
			this.fillNav('trace');
			this.showTrace(rest);
		} else if (view === 'now') {
			this.fillNav('recorder');
			this.answer = this.trace = this.node = null;
			fill(this.main, new RecorderView().element);
		} else if (view === 'node') {
			this.fillNav('slice');
			await this.goTo(rest);
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
		const { hangs, about } = this.about!;
		const certain = hangs.filter((hang) => !hang.meant).length;
		const rows = hangs.map((hang, i) => {
			const link = el('a', { href: `#why=${i + 1}` }, name(hang.comm, 40), ' ', el('span', { class: 'id' }, String(hang.tid)));
			return el('tr', {}, el('td', { class: 'number' }, String(i + 1)), el('td', {}, link),
				el('td', { class: 'number' }, duration(hang.end_ns - hang.start_ns)),
				el('td', { class: 'number' }, duration(hang.start_ns - about.start_ns)), el('td', {}, brief(hang.reason, 160), hang.meant ? el('span', { class: 'dim' }, ' (may be meant)') : null));
		});
		fill(this.main, el('main', {},
			el('h1', {}, certain ? `${certain} hang${certain > 1 ? 's' : ''} in ${duration(about.end_ns - about.start_ns)}` : 'No hang found'),
			el('p', { class: 'text' }, `${count(about.events)} events`, about.start_wall_ns ? `, from ${wallClock(about.start_wall_ns)}` : null,
				about.lost ? `; ${count(about.lost)} were lost` : null, '.'),
			rows.length ? el('table', { class: 'hangs' }, el('thead', {}, el('tr', {},
				...['', 'who', 'for', 'at', 'why it counts'].map((words) => el('th', {}, words)))), el('tbody', {}, ...rows)) : null,
			pathSection(this.about!.path_line)));
		this.answer = this.trace = this.node = null;
	}

	// ---- a place on the slice: #node=TID@NS, or where one stands ----

	private async goTo(rest: string | undefined): Promise<void> {
		const [tid, at] = /^\d+@\d+$/.test(rest ?? '') ? rest!.split('@') : ['', ''];
		if (!tid || !this.node?.isAt(Number(tid), Number(at)))
			await this.step(tid ? `here ${tid} @${at}` : 'here', false);
	}

	private async step(line: string, tell: boolean): Promise<void> {
		const asked = await this.post('step', line);
		if (!asked)
			return;
		if (tell || asked.error)
			this.tellSaid(line, asked);
		if (asked.error && !tell && !asked.node)
			fill(this.main, el('main', {}, el('h1', {}, 'Nowhere yet'), el('p', { class: 'text' }, visible(asked.error))));
		if (asked.node)
			this.showNode(asked.node);
	}

	private showNode(node: Node): void {
		this.answer = this.trace = null;
		this.node = new NodeView(node, this.about!.about.start_ns, (line) => void this.step(line, true), (line) => void this.correctHere(node, line));
		fill(this.main, this.node.element);
		history.replaceState(null, '', placeLink(node));
	}

	// A correction at a place: the answer is another one then, and so may be the ways on. The
	// slice begins anew with it; one stays where one was.
	private async correctHere(place: Node, line: string): Promise<void> {
		const asked = await this.post('step', line);
		if (!asked)
			return;
		this.tellSaid(line, asked);
		if (asked.node && this.node && (asked.node.tid !== place.tid || asked.node.time_ns !== place.time_ns))
			await this.step(`here ${place.tid} @${place.time_ns}`, false);
		else if (asked.node && this.node)
			this.showNode(asked.node);
	}

	onKey(key: string): boolean {
		return this.node ? this.node.key(key) : false;
	}

	private showTrace(rest: string | undefined): void {
		const { about } = this.about!;
		const [from, to] = /^\d+-\d+$/.test(rest ?? '') ? rest!.split('-').map(Number) : [about.start_ns, about.end_ns];
		this.answer = this.node = null;
		this.trace = new TraceView(about, this.about!.hangs, from, to);
		fill(this.main, this.trace.element);
	}

	private showAnswer(view: ViewData): void {
		this.trace = this.node = null;
		this.answer = new AnswerView(view, 0, true);
		fill(this.main, this.answer.element);
	}

	// A line of `argus debug`; the answer that is looked at may be another one then.
	async ask(line: string, tell: boolean): Promise<void> {
		const asked = line.trim() ? await this.post('ask', line) : null;
		if (!asked)
			return;
		if (tell)
			this.tellSaid(line, asked);
		if (this.node && tell && asked.node && !asked.said.startsWith('The answer is now')) {
			this.showNode(asked.node);
			return;
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

	// The trace with what was written to it since.
	private async lookAgain(): Promise<void> {
		const reply = await fetch('again', { method: 'POST' });
		if (!reply.ok) {
			this.state.textContent = visible((await reply.json() as { error: string }).error);
			return;
		}
		this.about = await reply.json() as About;
		this.opened++;
		this.grown.hidden = true;
		await this.go();
	}

	private async post(path: string, line: string): Promise<Asked | null> {
		let asked: Asked;
		this.state.textContent = '…';
		try {
			const reply = await fetch(path, { method: 'POST', body: line });
			if (!reply.ok)
				throw new Error(await reply.text());
			asked = await reply.json() as Asked;
		} catch (error) {
			this.gone(error);
			return null;
		}
		this.corrections = asked.corrections;
		this.state.textContent = asked.corrections || asked.unsaved
			? `${asked.corrections} correction${asked.corrections === 1 ? '' : 's'}` + (asked.unsaved ? `, ${asked.unsaved} not saved` : ', saved') : '';
		return asked;
	}

	private tellSaid(line: string, asked: Asked): void {
		const words = asked.said + (asked.error ?? '');
		this.lines.push(line);
		this.line.value = '';
		this.said.textContent = `(argus) ${visible(line)}\n` + words.split('\n').map(visible).join('\n');
		this.said.dataset.count = String(this.lines.length);
	}

	// Another tab may have corrected something: then the answer is asked again.
	private async alive(): Promise<void> {
		try {
			const now = await get<{ corrections: number; grown_bytes: number; opened: number }>('alive');
			this.grown.hidden = !now.grown_bytes;
			this.grown.textContent = `the trace has grown by ${bytes(now.grown_bytes)}: look again`;
			if (now.opened !== this.opened) {        // by another tab
				this.opened = now.opened;
				this.about = await get<About>('about');
				await this.go();
			}
			if (now.corrections !== this.corrections && this.answer)
				await this.ask('show path', false);
			this.corrections = now.corrections;
		} catch {
			this.state.textContent = 'Argus has ended';
		}
	}
}
