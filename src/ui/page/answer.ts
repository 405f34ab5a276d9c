// The view of one answer: its sentences, the way from the victim to the culprit, the
// timeline, what else it may have been, what to record next. It shows what the document
// says, in its order, and decides nothing.

import { Link, Picture, ViewData, readPicture } from './data';
import { showFrames, showSpot } from './details';
import { pathSection } from './path';
import { Timeline, Way } from './timeline';
import { brief, bytes, count, duration, el, fill, name, sentences, visible, wallClock } from './text';

// How the sentence begins that says where the time went; it is set apart.
const VERDICT = /^(The culprit is|The time went to|Nothing in the trace tells)/;
const LONG_TEXT = 620;
const SHOWN_PER_CENT = 0.5;     // of the window: threads that had less of it are folded away

function ids(actor: { pid: number; tid: number }): string {
	return actor.tid === actor.pid ? `pid ${actor.pid}` : `thread ${actor.tid} of ${actor.pid}`;
}

export class AnswerView {
	readonly element = el('main', {});
	private timelines: Timeline[] = [];
	private picture: Picture | null;
	private details = el('div', { 'aria-live': 'polite', tabindex: '0' });
	private way = 0;
	private ways: { label: HTMLElement; way: Way }[] = [];

	constructor(private data: ViewData, private size: number, private live = false) {
		this.picture = data.picture && readPicture(data.picture);
		fill(this.element, this.top(), this.body(), pathSection(this.data.path_line), this.next(), this.footer());
	}

	redraw(): void {
		this.timelines.forEach((timeline) => timeline.redraw());
	}

	print(printing: boolean): void {
		this.timelines.forEach((timeline) => timeline.print(printing));
	}

	// ---- the words ----

	private top(): HTMLElement {
		const answer = this.data.answer, parts = sentences(answer.text, this.data.mentions);
		const show = (pieces: typeof parts[0]) => pieces.map((piece) =>
			piece.lane !== undefined && piece.lane >= 0 ? this.link(piece.text, () => this.main()?.showLongest(piece.lane!), this.roleOf(piece.lane)) :
			piece.event ? this.link(piece.text, () => this.showEvent(piece.event!), 'event') : visible(piece.text));
		const lead = parts.findIndex((pieces, i) => i > 0 && VERDICT.test(pieces[0]?.text ?? ''));
		return el('section', { class: 'words' },
			el('div', { class: 'said' },
				el('h1', {}, ...show(parts[0])),
				lead > 0 ? el('p', { class: 'lead' }, ...show(parts[lead])) : null),
			answer.verdict === 'none' ? null : this.facts(),
			this.route(),
			el('p', { class: answer.text.length > LONG_TEXT ? 'text long' : 'text' },
				...parts.flatMap((pieces, i) => i && i !== lead ? [...show(pieces), ' '] : [])));
	}

	private link(text: string, go: () => void, style: string): HTMLElement {
		// A link and no button, so that the sentence flows around it.
		const link = el('a', { class: 'mention ' + style, href: '#' }, el('bdi', { dir: 'ltr' }, brief(text, 90)));
		link.addEventListener('click', (event) => {
			event.preventDefault();
			go();
		});
		return link;
	}

	private roleOf(lane: number): string {
		return this.data.lanes_of.culprit[0] === lane ? 'culprit' : this.data.lanes_of.victim[0] === lane ? 'victim' : 'other';
	}

	// The way from the victim to the culprit, one after the other.
	private route(): HTMLElement | null {
		const { path } = this.data.answer, lanes = this.data.lanes_of.path;
		if (path.length < 2)
			return null;
		return el('ol', { class: path.length > 4 ? 'route long' : 'route', 'aria-label': 'The way from the victim to the culprit' }, ...path.map((step, i) => {
			const role = i === 0 ? 'victim' : i === path.length - 1 ? 'culprit' : 'between';
			const chip = el('button', { type: 'button', class: 'chip ' + role },
				el('span', { class: 'chip-who' }, name(step.comm, 24), ' ', el('span', { class: 'id' }, String(step.tid))),
				el('span', { class: 'chip-state' }, brief(step.state, 54)));
			chip.title = brief(step.state, 400);
			chip.addEventListener('click', () => lanes[i] >= 0 && this.main()?.showLongest(lanes[i]));
			return el('li', {}, i ? el('span', { class: 'hop' }, el('span', {}, brief(step.link, 60))) : null, chip);
		}));
	}

	private facts(): HTMLElement {
		const { answer } = this.data, window = answer.window.end_ns - answer.window.start_ns;
		const share = (ns: number) => window ? Math.max(0, Math.min(100, ns * 100 / window)) : 0;
		const part = (kind: string, ns: number) => {
			const bar = el('span', { class: 'ledger-' + kind });
			bar.style.width = share(ns) + '%';
			return bar;
		};
		const rows: [string, Node | string][] = [
			['verdict', el('strong', {}, answer.verdict)],
			['confidence', `${answer.culprit?.confidence ?? 0} %`],
			['began', wallClock(answer.start_wall_ns) || `${duration(answer.window.start_ns - this.data.about.start_ns)} after the trace’s start`],
		];
		for (const container of answer.containers)
			rows.push(['runs in', brief([container.manager, container.container, container.pod, container.unit].filter(Boolean).join(' '), 60)]);
		const { explained_ns, unknown_ns, lost_ns } = answer.ledger;
		const told = `${duration(explained_ns)} explained, ${duration(unknown_ns)} unknown, ${duration(lost_ns)} lost`;
		return el('aside', { class: 'facts', 'aria-label': 'Facts' },
			el('dl', {}, ...rows.flatMap(([term, value]) => [el('dt', {}, term), el('dd', {}, value)])),
			el('div', { class: 'ledger', role: 'img', 'aria-label': told, title: told },
				part('explained', explained_ns), part('unknown', unknown_ns), part('lost', lost_ns)),
			el('p', { class: 'ledger-words' }, told));
	}

	// ---- the picture ----

	private main(): Timeline | undefined {
		return this.timelines[0];
	}

	private showEvent(event: number): void {
		const picture = this.picture, main = this.main();
		if (!picture || !main)
			return;
		const arrow = picture.arrows.find((a) => a.event === event);
		const step = this.data.answer.path.findIndex((s) => s.event === event);
		const trigger = this.data.answer.trigger.findIndex((deed) => deed.event === event);
		if (arrow)
			main.show(arrow.to, Math.max(0, arrow.start - 1));
		else if (trigger >= 0 && this.data.lanes_of.trigger[trigger] >= 0)
			main.show(this.data.lanes_of.trigger[trigger], this.data.answer.trigger[trigger].time_ns - picture.from);
		else if (step >= 0 && this.data.lanes_of.path[step] >= 0)
			main.showLongest(this.data.lanes_of.path[step]);
	}

	private roles(): Map<number, string[]> {
		const roles = new Map<number, string[]>();
		const add = (lanes: number[], role: string) => lanes.forEach((lane) => {
			if (lane >= 0 && !roles.get(lane)?.includes(role))
				roles.set(lane, [...roles.get(lane) ?? [], role]);
		});
		const of = this.data.lanes_of;
		add(of.victim, 'victim');
		add(of.culprit, 'culprit');
		add(of.trigger, 'trigger');
		add(of.alternatives.filter((lane) => !roles.has(lane)), 'suspect');
		return roles;
	}

	// Lanes of those with a part in the answer; others are folded away.
	private importantLanes(): number[] {
		const of = this.data.lanes_of, { answer } = this.data, window = answer.window.end_ns - answer.window.start_ns;
		const time = new Map<number, number>();
		answer.chain.forEach((link, i) => time.set(of.chain[i], (time.get(of.chain[i]) ?? 0) + link.end_ns - link.start_ns));
		const important = new Set([...of.victim, ...of.path, ...of.culprit, ...of.circle, ...of.trigger, ...of.alternatives]);
		return this.picture!.lanes.map((_, lane) => lane).filter((lane) =>
			important.has(lane) || (time.get(lane) ?? 0) * 100 > window * SHOWN_PER_CENT);
	}

	private findWays(): void {
		const { answer, lanes_of } = this.data, picture = this.picture!;
		const start = answer.window.start_ns - picture.from, end = answer.window.end_ns - picture.from;
		this.ways.push({ label: el('span', {}, 'the answer'), way: { dashed: false, links: answer.chain.map((link, i) => (
			{ lane: lanes_of.chain[i], start: link.start_ns - picture.from, end: link.end_ns - picture.from })) } });
		answer.alternatives.forEach((deed, i) => {
			const lane = lanes_of.alternatives[i], at = deed.time_ns ? deed.time_ns - picture.from : start;
			if (lane < 0)
				return;
			const turn = Math.min(Math.max(at, start), end);
			this.ways.push({ label: el('span', {}, name(deed.comm, 24), ` ${deed.tid}: `, brief(deed.what, 60), ` (${deed.confidence} %)`),
				way: { dashed: true, links: turn > start + (end - start) / 100
					? [{ lane: lanes_of.victim[0], start, end: turn }, { lane, start: turn, end }]
					: [{ lane: lanes_of.victim[0], start, end: start }, { lane, start, end }] } });
		});
	}

	chooseWay(number: number): void {
		this.way = (number + this.ways.length) % Math.max(1, this.ways.length);
		this.main()?.setWay(this.ways[this.way].way);
		this.element.querySelectorAll<HTMLInputElement>('.ways input').forEach((input, i) => { input.checked = i === this.way; });
	}

	nextWay(): void {
		if (this.ways.length > 1)
			this.chooseWay(this.way + 1);
	}

	private wayChoice(): HTMLElement | null {
		if (this.ways.length < 2)
			return null;
		return el('fieldset', { class: 'ways' }, el('legend', {}, 'Line'), ...this.ways.map(({ label }, i) => {
			const input = el('input', { type: 'radio', name: 'way' }) as HTMLInputElement;
			input.checked = i === 0;
			input.addEventListener('change', () => this.chooseWay(i));
			return el('label', { class: i ? 'other' : 'answer' }, input, label);
		}));
	}

	private body(): HTMLElement | null {
		const picture = this.picture, { answer } = this.data;
		if (!picture || !picture.lanes.length)
			return null;
		const start = answer.window.start_ns - picture.from, end = answer.window.end_ns - picture.from;
		const all = picture.lanes.map((_, lane) => lane), important = this.importantLanes();
		const flags = answer.trigger.flatMap((deed, i) => this.data.lanes_of.trigger[i] >= 0 && deed.time_ns
			? [{ lane: this.data.lanes_of.trigger[i], at: deed.time_ns - picture.from, text: 'set it off' }] : []);
		const main = new Timeline({
			picture, window: { start, end }, order: important, roles: this.roles(), flags, label: 'Threads on the way, over time',
			onSpot: (spot) => spot ? showSpot(this.details, picture, start, spot, this.live) : this.showCulprit(),
		});
		this.timelines.push(main);
		this.findWays();
		main.setWay(this.ways[0].way);
		this.showCulprit();
		const more = all.length - important.length;
		const unfold = el('button', { type: 'button', class: 'quiet' }, `${more} more thread${more > 1 ? 's' : ''}`);
		let open = false;
		unfold.addEventListener('click', () => {
			open = !open;
			main.setOrder(open ? all : important);
			unfold.textContent = open ? 'fewer threads' : `${more} more thread${more > 1 ? 's' : ''}`;
		});
		return el('section', { class: 'picture' },
			el('div', { class: 'left' },
				this.wayChoice(), main.element,
				el('div', { class: 'below' }, this.legend(), more > 0 ? unfold : null), this.baseline()),
			el('aside', { class: 'details', 'aria-label': 'What is pointed at' }, this.details));
	}

	private showCulprit(): void {
		const { answer, lanes_of } = this.data, culprit = answer.culprit;
		const links = answer.chain.filter((_, i) => lanes_of.chain[i] === lanes_of.culprit[0]);
		const longest = links.reduce<Link | null>((best, link) =>
			!best || link.end_ns - link.start_ns > best.end_ns - best.start_ns ? link : best, null);
		const spot = !longest && lanes_of.culprit[0] >= 0 ? this.main()?.longest(lanes_of.culprit[0]) : null;
		if (longest && culprit)
			showFrames(this.details, longest.comm, ids(longest), longest.state, longest.end_ns - longest.start_ns, longest.frames);
		else if (spot && this.picture)
			showSpot(this.details, this.picture, answer.window.start_ns - this.picture.from, spot, this.live);
	}

	private legend(): HTMLElement {
		return el('ul', { class: 'legend', 'aria-label': 'Legend' }, ...[
			['run', 'running'], ['queue', 'could run, no processor'], ['wait', 'waiting'], ['stopped', 'stopped'], ['chain', 'whose turn it was'],
		].map(([kind, words]) => el('li', {}, el('i', { class: 'key-' + kind }), words)));
	}

	private baseline(): HTMLElement | null {
		const data = this.data.baseline_picture;
		if (!data || !data.lanes.length)
			return null;
		const picture = readPicture(data), then = this.data.answer.baseline;
		const start = then ? then.start_ns - picture.from : 0, end = then ? then.end_ns - picture.from : picture.length;
		const timeline = new Timeline({
			picture, window: { start, end }, order: picture.lanes.map((_, lane) => lane), roles: new Map(), flags: [],
			label: 'The same wait when all went well',
			onSpot: (spot) => spot ? showSpot(this.details, picture, start, spot) : this.showCulprit(),
		});
		this.timelines.push(timeline);
		return el('div', { class: 'baseline' },
			el('h2', {}, `The same when all went well, in ${then?.trace ? 'the other' : 'this'} trace: ${duration(end - start)}`),
			timeline.element);
	}

	// ---- below ----

	private next(): HTMLElement | null {
		const { answer } = this.data;
		const parts: HTMLElement[] = [];
		if (answer.plan.length)
			parts.push(el('div', { class: 'plan' }, el('h2', {}, 'To know more, record'), el('code', {}, visible(this.data.plan_command)),
				el('ul', {}, ...answer.plan.map((step) => el('li', {}, el('code', {}, visible(step.option)), ' ', visible(step.why))))));
		if (answer.step)
			parts.push(el('div', { class: 'plan' }, el('h2', {}, 'To find the flag that the loop waits for'),
				el('code', {}, visible(answer.step) + ' -o bad.step'), el('code', {}, 'argus diverge good.step bad.step')));
		return parts.length ? el('section', { class: 'next' }, ...parts) : null;
	}

	private footer(): HTMLElement {
		const { about, picture, redacted } = this.data;
		const holds = picture
			? `It holds ${picture.lanes.length} threads, ${Math.max(0, picture.stacks.length - 1)} stacks, ${picture.arrows.length} wake-ups and messages ` +
				`of ${duration(picture.to_ns - picture.from_ns)}`
			: 'It holds what was asked and found';
		const kept = redacted
			? ', without paths, arguments, host names, addresses and texts; names of programs, threads and functions are there.'
			: ', command lines, paths, addresses and the host’s name (--redact leaves those out).';
		const lost = about.lost ? ` ${about.lost} events were lost.` : '';
		const damage = about.damaged_bytes ? ` ${about.damaged_bytes} bytes of the trace could not be read.` : '';
		return el('footer', {},
			el('p', {}, `Argus ${visible(about.argus)}. `, ...(this.size ? [`This file is ${bytes(this.size)} and needs nothing else. `, holds, kept] : [])),
			el('p', {}, 'Trace ', name(about.path, 80), `: ${count(about.events)} events`, about.host ? ` of ${brief(about.host, 60)}` : null,
				about.kernel ? `, Linux ${brief(about.kernel, 60)}` : null, '.', about.complete ? null : ' It was cut off.', lost, damage),
			picture && el('p', { class: 'keys' }, 'Keys: arrows go from state to state, + and − zoom, 0 shows all, L changes the line, T light or dark.'));
	}
}
