// A place on the slice: a thread at a moment, in the middle; on the left who set it going, or
// should have, on the right whom it set to work. Where the way forks one chooses, by mouse or
// by number. Every step, question and correction is a line of `argus debug`.

import { Actor } from './data';
import { stackList } from './details';
import { brief, duration, el, fill, name } from './text';

interface Place extends Actor { time_ns: number }
export interface Hop extends Place { link: string; event: number; confidence: number }
export interface Wait {
	what: string; inside: boolean; start_ns: number; end_ns: number; slices: number; event: number; end: string; end_event: number;
	run_event: number; source: string | null; frames: string[];
}
export interface Node extends Place { wait: Wait | null; back: Hop[]; forward: Hop[]; slice: Place[] }

const KEYED = 9;

export function placeLink(place: { tid: number; time_ns: number }): string {
	return `#node=${place.tid}@${place.time_ns}`;
}

export class NodeView {
	readonly element = el('main', { class: 'node' });
	private forward = false;     // which way numbers choose

	constructor(private node: Node, private zero: number, private step: (line: string) => void, private correct: (line: string) => void) {
		this.show();
	}

	isAt(tid: number, time_ns: number): boolean {
		return this.node.tid === tid && this.node.time_ns === time_ns;
	}

	// ---- by keyboard ----

	key(key: string): boolean {
		const choice = Number(key), ways = this.forward ? this.node.forward : this.node.back;
		switch (key) {
		case 'ArrowLeft': return this.choose(false);
		case 'ArrowRight': return this.choose(true);
		case 's': return this.ask('similar');
		case 'h': return !!this.node.wait && this.say(`idle ${this.node.wait.event}`);
		}
		return choice >= 1 && choice <= Math.min(ways.length, KEYED) && this.ask(`${this.forward ? 'forward' : 'back'} ${choice}`);
	}

	// One way is gone at once; of several the numbers choose then.
	private choose(forward: boolean): boolean {
		const ways = forward ? this.node.forward : this.node.back;
		if (ways.length === 1)
			return this.ask(forward ? 'forward 1' : 'back 1');
		if (ways.length > 1) {
			this.forward = forward;
			this.show();
			(this.element.querySelector(forward ? '.after button' : '.before button') as HTMLElement).focus();
		}
		return true;
	}

	private ask(line: string): boolean {
		this.step(line);
		return true;
	}

	private say(line: string): boolean {
		this.correct(line);
		return true;
	}

	// ---- what is shown ----

	private show(): void {
		fill(this.element, this.way(),
			el('div', { class: 'around' }, this.side(false, 'what set it going', this.node.back), this.middle(), this.side(true, 'what it set going', this.node.forward)),
			el('p', { class: 'keys dim' }, 'Keys: ← → a step back or forward, 1 to 9 choose where it forks, s similar waits, h this wait is harmless, / ask.'));
	}

	private at(ns: number): string {
		return duration(ns - this.zero);
	}

	private who(place: Place): HTMLElement {
		return el('span', {}, name(place.comm, 40), ' ', el('span', { class: 'id' }, place.tid === place.pid ? `pid ${place.pid}` : `thread ${place.tid} of ${place.pid}`));
	}

	// The places gone through, each a link.
	private way(): HTMLElement {
		const last = this.node.slice.length - 1;
		return el('ol', { class: 'route way', 'aria-label': 'The way so far' }, ...this.node.slice.map((place, i) => el('li', {},
			el('a', { class: 'chip', href: placeLink(place), ...(i === last ? { 'aria-current': 'step' } : {}) },
				el('span', { class: 'chip-who' }, name(place.comm, 24), ' ', el('span', { class: 'id' }, String(place.tid))),
				el('span', { class: 'chip-state' }, 'at ', this.at(place.time_ns))))));
	}

	private side(forward: boolean, title: string, hops: Hop[]): HTMLElement {
		const verb = forward ? 'forward' : 'back', chosen = this.forward === forward;
		return el('section', { class: forward ? 'after' : 'before' }, el('h2', {}, title),
			hops.length ? null : el('p', { class: 'none' }, 'The trace knows nobody.'),
			el('ol', {}, ...hops.map((hop, i) => {
				const button = el('button', { type: 'button', class: 'chip' },
					el('span', { class: 'chip-who' }, chosen && hops.length > 1 && i < KEYED ? el('kbd', {}, String(i + 1)) : null, ' ', this.who(hop)),
					el('span', { class: 'chip-state' }, brief(hop.link, 80), hop.event ? `, event ${hop.event}` : '', ` (${hop.confidence} %)`));
				button.addEventListener('click', () => this.step(`${verb} ${i + 1}`));
				return el('li', {}, button, forward || !this.cut(hop) ? null : this.action(`cut ${this.cut(hop)}`, 'it did not cause this', this.correct));
			})));
	}

	// The two events that name the edge from who ended the wait.
	private cut(hop: Hop): string {
		const wait = this.node.wait;
		return wait && wait.run_event && hop.event === wait.end_event ? `${hop.event} ${wait.run_event}` : '';
	}

	private action(line: string, words: string, does: (line: string) => void): HTMLElement {
		const button = el('button', { type: 'button', class: 'quiet action', title: line }, words);
		button.addEventListener('click', () => does(line));
		return button;
	}

	private middle(): HTMLElement {
		const { node } = this, wait = node.wait;
		if (!wait)
			return el('section', { class: 'here' }, el('h1', {}, this.who(node)), el('p', {}, `At ${this.at(node.time_ns)} it had not waited before.`));
		const ends: Record<string, string> = {
			timeout: `It ended by its own time limit, event ${wait.end_event}.`, source: `${brief(wait.source ?? '')} ended it, event ${wait.end_event}.`,
			unknown: 'Nothing tells what ended it.', open: 'It lasted to the end of the trace.', thread: `Event ${wait.end_event} ended it.`,
		};
		return el('section', { class: 'here' }, el('h1', {}, this.who(node)),
			el('p', { class: 'doing' }, wait.inside ? 'In a wait: ' : 'After a wait: ', el('bdi', { dir: 'ltr' }, brief(wait.what, 200)), ' for ',
				el('strong', {}, duration(wait.end_ns - wait.start_ns)), wait.slices > 1 ? ` in ${wait.slices} slices` : '', `, event ${wait.event}.`),
			el('p', { class: 'when' }, `From ${this.at(wait.start_ns)} to ${this.at(wait.end_ns)}. `, ends[wait.end]),
			el('p', { class: 'actions' }, this.action('similar', 'similar waits', this.step), this.action('diff 1', 'how the first of them was ended', this.step),
				this.action(`idle ${wait.event}`, 'this wait is harmless', this.correct),
				this.action(`boundary ${wait.event}`, 'something new begins here', this.correct), this.action('undo', 'undo', this.correct),
				this.action('save', 'save corrections', this.correct)),
			wait.frames.length ? stackList(wait.frames, 'waits in') : el('p', { class: 'none' }, 'no stack here'));
	}
}
