// The timeline: a lane for each thread, its states as shapes, arrows for wake-ups and
// messages, and the way of the answer as a thick line through it. Drawn on a canvas, so
// that thousands of cells cost nothing; names and what has the focus are elements, for
// keyboards and screen readers.

import { Arrow, Cell, Lane, Picture, State, cellAt } from './data';
import { Palette, palette } from './palette';
import { brief, el, name, tick } from './text';

// A way through the lanes: the answer's, or another suspect's.
export interface Way { links: { lane: number; start: number; end: number }[]; dashed: boolean }
export interface Spot { lane: number; cell: number }

export interface TimelineOptions {
	picture: Picture;
	window: { start: number; end: number };       // of the hang, since the picture's begin
	order: number[];                              // lanes to show, from above
	roles: Map<number, string[]>;                 // words beside a lane's name
	flags: { lane: number; at: number; text: string }[];
	label: string;
	onSpot(spot: Spot | null, pinned: boolean): void;
}

const LANE = 34, AXIS = 26, BAR = 14, LEAST_TEXT = 46, CROWDED = 1.6;
const ZOOM = 1.35, CROWDED_TURNS = 8;

export class Timeline {
	readonly element: HTMLElement;
	private canvas = document.createElement('canvas');
	private names = el('div', { class: 'lanes' });
	private from: number;
	private to: number;
	private spot: Spot | null = null;
	private pinned: Spot | null = null;
	private way: Way | null = null;
	private width = 0;
	private asked = 0;
	private printing = false;
	private pattern: { canvas: HTMLCanvasElement; key: string } | null = null;

	constructor(private options: TimelineOptions) {
		[this.from, this.to] = [0, options.picture.length];
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute('role', 'application');
		this.canvas.setAttribute('aria-label', options.label +
			'. Arrow keys go from state to state and from thread to thread, plus and minus zoom, 0 shows all.');
		this.element = el('div', { class: 'timeline' }, this.names, el('div', { class: 'plot' }, this.canvas));
		this.fillNames();
		this.listen();
		new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement!);
	}

	get range(): { from: number; to: number } {
		return { from: this.from, to: this.to };
	}

	setOrder(order: number[]): void {
		this.options.order = order;
		this.fillNames();
		this.resize();
	}

	setWay(way: Way): void {
		this.way = way;
		this.draw();
	}

	print(printing: boolean): void {
		this.printing = printing;
		this.paint();
	}

	redraw(): void {
		this.draw();
	}

	// Shows the moment in its lane, and makes sure that both are in view.
	show(lane: number, at: number): void {
		const cell = cellAt(this.options.picture.lanes[lane], at);
		if (at < this.from || at > this.to)
			this.zoomTo(at - (this.to - this.from) / 2, at + (this.to - this.from) / 2);
		this.choose(cell < 0 ? null : { lane, cell }, true);
	}

	zoomTo(from: number, to: number): void {
		const length = Math.min(Math.max(to - from, 1000), this.options.picture.length);
		this.from = Math.min(Math.max(0, from), this.options.picture.length - length);
		this.to = this.from + length;
		this.element.dataset.from = String(this.from);
		this.element.dataset.to = String(this.to);
		this.draw();
	}

	private fillNames(): void {
		this.names.replaceChildren(el('div', { class: 'lane-head' }), ...this.options.order.map((lane) => {
			const thread = this.options.picture.lanes[lane];
			const roles = this.options.roles.get(lane) ?? [];
			const row = el('div', { class: 'lane', 'data-lane': String(lane) },
				el('span', { class: 'who' }, name(thread.comm, 22), ' ', el('span', { class: 'id' }, String(thread.tid))),
				...roles.slice(0, 2).map((role) => el('span', { class: 'role ' + role.replace(/ /g, '-') }, role)));
			row.title = `${brief(thread.comm, 200)}, thread ${thread.tid} of process ${thread.pid}` +
				(thread.process ? ` (${brief(thread.process, 200)})` : '') + (thread.command ? `\n${brief(thread.command, 600)}` : '');
			row.addEventListener('click', () => this.showLongest(lane));
			return row;
		}));
	}

	showLongest(lane: number): void {
		this.choose(this.longest(lane), true);
	}

	// What the thread did longest in the window.
	longest(lane: number): Spot | null {
		const { start, end } = this.options.window;
		let best = -1, longest = -1;
		this.options.picture.lanes[lane].cells.forEach((cell, i) => {
			const inside = Math.min(cell.end, end) - Math.max(cell.start, start);
			if (inside > longest && cell.state !== State.absent)
				[best, longest] = [i, inside];
		});
		return best < 0 ? null : { lane, cell: best };
	}

	// ---- input ----

	private listen(): void {
		const canvas = this.canvas;
		let drag: { x: number; from: number; to: number; moved: boolean } | null = null;
		canvas.addEventListener('pointermove', (event) => {
			if (drag) {
				const by = (drag.x - event.offsetX) * (drag.to - drag.from) / this.width;
				drag.moved ||= Math.abs(event.offsetX - drag.x) > 3;
				if (drag.moved)
					this.zoomTo(drag.from + by, drag.to + by);
				return;
			}
			this.hover(this.spotAt(event.offsetX, event.offsetY));
		});
		canvas.addEventListener('pointerleave', () => this.hover(null));
		canvas.addEventListener('pointerdown', (event) => {
			drag = { x: event.offsetX, from: this.from, to: this.to, moved: false };
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener('pointerup', (event) => {
			if (drag && !drag.moved)
				this.choose(this.spotAt(event.offsetX, event.offsetY), true);
			drag = null;
		});
		canvas.addEventListener('dblclick', () => this.zoomTo(0, this.options.picture.length));
		canvas.addEventListener('wheel', (event) => {
			if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY))
				return;               // the page scrolls
			event.preventDefault();
			if (event.ctrlKey || event.metaKey)
				this.zoomAt(this.timeAt(event.offsetX), Math.exp(event.deltaY / 200));
			else
				this.pan(event.deltaX / this.width);
		}, { passive: false });
		canvas.addEventListener('keydown', (event) => {
			if (this.key(event))
				event.preventDefault();
		});
		canvas.addEventListener('focus', () => {
			if (!this.spot && !this.pinned && this.options.order.length)
				this.showLongest(this.options.order[0]);
			this.draw();
		});
		canvas.addEventListener('blur', () => this.draw());
	}

	private key(event: KeyboardEvent): boolean {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return false;
		const middle = this.pinned ? this.middleOf(this.pinned) : (this.from + this.to) / 2;
		switch (event.key) {
		case 'ArrowLeft': return event.shiftKey ? this.pan(-0.2) : this.step(-1);
		case 'ArrowRight': return event.shiftKey ? this.pan(0.2) : this.step(1);
		case 'ArrowUp': return this.changeLane(-1);
		case 'ArrowDown': return this.changeLane(1);
		case '+': case '=': return this.zoomAt(middle, 1 / ZOOM);
		case '-': return this.zoomAt(middle, ZOOM);
		case '0': case 'Escape': this.zoomTo(0, this.options.picture.length); return true;
		case 'Home': this.zoomTo(this.options.window.start, this.options.window.end); return true;
		default: return false;
		}
	}

	private middleOf(spot: Spot): number {
		const cell = this.options.picture.lanes[spot.lane].cells[spot.cell];
		return (Math.max(cell.start, this.from) + Math.min(cell.end, this.to)) / 2;
	}

	private pan(part: number): boolean {
		const by = (this.to - this.from) * part;
		this.zoomTo(this.from + by, this.to + by);
		return true;
	}

	private zoomAt(at: number, factor: number): boolean {
		this.zoomTo(at - (at - this.from) * factor, at + (this.to - at) * factor);
		return true;
	}

	private step(by: number): boolean {
		const now = this.pinned ?? { lane: this.options.order[0], cell: -1 };
		const cells = this.options.picture.lanes[now.lane].cells;
		const next = Math.min(Math.max(now.cell + by, 0), cells.length - 1);
		if (next >= 0)
			this.show(now.lane, (cells[next].start + cells[next].end) / 2);
		return true;
	}

	private changeLane(by: number): boolean {
		const at = this.options.order.indexOf((this.pinned ?? { lane: -1 }).lane);
		const next = this.options.order[Math.min(Math.max(at + by, 0), this.options.order.length - 1)];
		const time = this.pinned ? this.middleOf(this.pinned) : this.options.window.start;
		if (next !== undefined)
			this.show(next, time);
		return true;
	}

	private hover(spot: Spot | null): void {
		if (spot?.lane === this.spot?.lane && spot?.cell === this.spot?.cell)
			return;
		this.spot = spot;
		this.options.onSpot(spot ?? this.pinned, !spot);
		this.draw();
	}

	private choose(spot: Spot | null, tell: boolean): void {
		this.pinned = spot;
		if (tell)
			this.options.onSpot(spot, true);
		this.draw();
	}

	private spotAt(x: number, y: number): Spot | null {
		const lane = this.options.order[Math.floor((y - AXIS) / LANE)];
		if (y < AXIS || lane === undefined)
			return null;
		const cell = cellAt(this.options.picture.lanes[lane], this.timeAt(x));
		return cell < 0 ? null : { lane, cell };
	}

	private timeAt(x: number): number {
		return this.from + x * (this.to - this.from) / this.width;
	}

	private x(time: number): number {
		return (time - this.from) * this.width / (this.to - this.from);
	}

	private y(lane: number): number {
		return AXIS + this.options.order.indexOf(lane) * LANE + LANE / 2;
	}

	// ---- drawing ----

	private resize(): void {
		this.width = Math.max(100, this.canvas.parentElement!.clientWidth);
		this.canvas.style.height = AXIS + LANE * this.options.order.length + 'px';
		this.draw();
	}

	private draw(): void {
		if (!this.asked)
			this.asked = requestAnimationFrame(() => this.paint());
	}

	private paint(): void {
		const height = AXIS + LANE * this.options.order.length;
		const scale = this.printing ? 3 : window.devicePixelRatio || 1;
		const context = this.canvas.getContext('2d')!;
		const colours = palette(this.printing);
		this.asked = 0;
		if (!this.width)
			return;
		if (this.canvas.width !== Math.round(this.width * scale) || this.canvas.height !== Math.round(height * scale)) {
			this.canvas.width = Math.round(this.width * scale);
			this.canvas.height = Math.round(height * scale);
		}
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, this.width, height);
		context.font = '11px system-ui, "DejaVu Sans", sans-serif';
		this.paintAxis(context, colours, height);
		this.options.order.forEach((lane) => this.paintLane(context, colours, this.options.picture.lanes[lane], this.y(lane)));
		this.paintVeil(context, colours, height);
		this.paintArrows(context, colours);
		if (this.way)
			this.paintWay(context, colours, this.way);
		this.paintFlags(context, colours);
		for (const spot of [this.pinned, this.spot])
			if (spot)
				this.paintSpot(context, colours, spot);
	}

	private paintAxis(context: CanvasRenderingContext2D, colours: Palette, height: number): void {
		const wanted = (this.to - this.from) / Math.max(2, this.width / 110);
		const power = Math.pow(10, Math.floor(Math.log10(wanted)));
		const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted)!;
		const zero = this.options.window.start;
		context.lineWidth = 1;
		context.textAlign = 'center';
		context.textBaseline = 'middle';
		for (let at = Math.ceil((this.from - zero) / step) * step; at + zero <= this.to; at += step) {
			const x = Math.round(this.x(at + zero)) + 0.5;
			context.strokeStyle = colours.rule;
			context.beginPath();
			context.moveTo(x, AXIS - 4);
			context.lineTo(x, height);
			context.stroke();
			context.fillStyle = colours.dim;
			context.textAlign = x > 16 ? 'center' : 'left';
			if (x >= 0 && x < this.width - 24)
				context.fillText(tick(Math.abs(at) < step / 2 ? 0 : at, step), x > 16 ? x : x + 1, AXIS / 2 - 1);
		}
		this.options.picture.gaps.forEach((gap) => {
			context.fillStyle = colours.queueBack;
			context.fillRect(this.x(gap.start), AXIS, Math.max(1, this.x(gap.end) - this.x(gap.start)), height - AXIS);
		});
	}

	private hatch(context: CanvasRenderingContext2D, colours: Palette, crossed: boolean): CanvasPattern | string {
		const key = colours.queue + crossed;
		if (this.pattern?.key !== key) {
			const tile = document.createElement('canvas');
			const brush = tile.getContext('2d')!;
			[tile.width, tile.height] = [6, 6];
			brush.fillStyle = colours.queueBack;
			brush.fillRect(0, 0, 6, 6);
			brush.strokeStyle = colours.queue;
			brush.lineWidth = 1.4;
			brush.beginPath();
			for (const by of [-6, 0, 6]) {
				brush.moveTo(by, 6);
				brush.lineTo(by + 6, 0);
				if (crossed) {
					brush.moveTo(by, 0);
					brush.lineTo(by + 6, 6);
				}
			}
			brush.stroke();
			this.pattern = { canvas: tile, key };
		}
		return context.createPattern(this.pattern.canvas, 'repeat') ?? colours.queue;
	}

	private paintLane(context: CanvasRenderingContext2D, colours: Palette, lane: Lane, y: number): void {
		context.strokeStyle = colours.rule;
		context.beginPath();
		context.moveTo(0, y + LANE / 2 + 0.5);
		context.lineTo(this.width, y + LANE / 2 + 0.5);
		context.stroke();
		let crowd = { x: 0, end: 0, run: 0, queue: 0, wait: 0 };
		const flush = () => {
			if (crowd.end > crowd.x)
				this.paintMixed(context, colours, crowd.run, crowd.queue, crowd.wait, crowd.x, crowd.end - crowd.x, y - 3);
			crowd = { x: 0, end: 0, run: 0, queue: 0, wait: 0 };
		};
		for (let i = Math.max(0, cellAt(lane, this.from)); i < lane.cells.length && lane.cells[i].start < this.to; i++) {
			const cell = lane.cells[i];
			const x = Math.max(-4, this.x(cell.start)), end = Math.min(this.width + 4, this.x(cell.end));
			if (end - x >= CROWDED) {
				flush();
				this.paintCell(context, colours, cell, x, end - x, y - 3);
				continue;
			}
			// Too narrow to be told apart: together with its neighbours.
			if (crowd.end > crowd.x && (x - crowd.end > 0.5 || end - crowd.x > 2 * CROWDED))
				flush();
			if (crowd.end <= crowd.x)
				crowd.x = x;
			crowd.end = end;
			this.addShares(crowd, cell, end - x);
		}
		flush();
	}

	private addShares(crowd: { run: number; queue: number; wait: number }, cell: Cell, width: number): void {
		switch (cell.state) {
		case State.running: crowd.run += width; break;
		case State.runnable: case State.throttled: crowd.queue += width; break;
		case State.waiting: case State.stopped: crowd.wait += width; break;
		case State.mixed:
			crowd.run += width * cell.running / 100;
			crowd.queue += width * cell.runnable / 100;
			crowd.wait += width * (100 - cell.running - cell.runnable - cell.unknown) / 100;
			break;
		default:
		}
	}

	private paintCell(context: CanvasRenderingContext2D, colours: Palette, cell: Cell, x: number, width: number, y: number): void {
		switch (cell.state) {
		case State.running:
			context.fillStyle = colours.run;
			context.fillRect(x, y - BAR / 2, width, BAR);
			return;
		case State.runnable: case State.throttled:
			context.fillStyle = width < 2 ? colours.queue : this.hatch(context, colours, cell.state === State.throttled);
			context.fillRect(x, y - BAR / 2, width, BAR);
			this.caption(context, colours, cell.state === State.throttled ? 'throttled' : 'no processor', x, width, y, colours.paper);
			return;
		case State.waiting:
			context.fillStyle = colours.wait;
			context.fillRect(x, y - 1, width, 2);
			this.caption(context, colours, cell.what, x, width, y, colours.paper);
			return;
		case State.stopped:
			context.fillStyle = colours.stopped;
			context.fillRect(x, y - 4, width, 2);
			context.fillRect(x, y + 2, width, 2);
			this.caption(context, colours, 'stopped', x, width, y, colours.paper);
			return;
		case State.mixed:
			this.paintMixed(context, colours, width * cell.running / 100, width * cell.runnable / 100,
				width * (100 - cell.running - cell.runnable - cell.unknown) / 100, x, width, y);
			return;
		case State.unknown:
			context.fillStyle = colours.wait;
			for (let dot = x; dot < x + width; dot += 5)
				context.fillRect(dot, y - 0.5, 1.5, 1);
			return;
		default:
			return;
		}
	}

	// How much of the time it ran and queued, as heights; what did happen can be seen, however little.
	private paintMixed(context: CanvasRenderingContext2D, colours: Palette, run: number, queue: number, wait: number,
		x: number, width: number, y: number): void {
		const height = (part: number) => part > 0 ? Math.max(2, BAR * Math.min(1, part / width)) : 0;
		const shown = Math.max(width, 0.8);
		if (wait > 0) {
			context.fillStyle = colours.wait;
			context.fillRect(x, y - 1, shown, 2);
		}
		context.fillStyle = colours.queue;
		context.fillRect(x, y + BAR / 2 - Math.min(BAR, height(run) + height(queue)), shown, height(queue));
		context.fillStyle = colours.run;
		context.fillRect(x, y + BAR / 2 - height(run), shown, height(run));
	}

	private caption(context: CanvasRenderingContext2D, colours: Palette, text: string, x: number, width: number, y: number, back: string): void {
		const begin = Math.max(x, 0, Math.min(this.x(this.options.window.start), x + width - LEAST_TEXT));
		const from = this.behindFlags(context, begin, y), room = Math.min(x + width, this.width) - from - 12;
		if (!text || room < LEAST_TEXT)
			return;
		let shown = brief(text, 80), size = context.measureText(shown).width;
		if (size > room) {
			shown = brief(text, Math.max(6, Math.floor(shown.length * room / size) - 1));
			size = context.measureText(shown).width;
		}
		if (size > room)
			return;
		context.textAlign = 'left';
		context.textBaseline = 'middle';
		context.fillStyle = back;
		context.fillRect(from + 6, y - 7, size + 8, 14);
		context.fillStyle = colours.dim;
		context.fillText(shown, from + 10, y + 0.5);
	}

	// A flag's words stand to the right of it: a caption begins behind them.
	private behindFlags(context: CanvasRenderingContext2D, from: number, y: number): number {
		for (const flag of this.options.flags) {
			const x = this.x(flag.at), end = x + context.measureText(flag.text).width + 12;
			if (this.y(flag.lane) - 3 === y && x < from + LEAST_TEXT && end > from)
				from = end;
		}
		return from;
	}

	// What lies outside of the hang stands back.
	private paintVeil(context: CanvasRenderingContext2D, colours: Palette, height: number): void {
		const start = this.x(this.options.window.start), end = this.x(this.options.window.end);
		context.fillStyle = colours.veil;
		if (start > 0)
			context.fillRect(0, AXIS, start, height - AXIS);
		if (end < this.width)
			context.fillRect(end, AXIS, this.width - end, height - AXIS);
		context.strokeStyle = colours.ink;
		context.lineWidth = 1;
		context.beginPath();
		for (const x of [start, end]) {
			context.moveTo(Math.round(x) + 0.5, AXIS - 5);
			context.lineTo(Math.round(x) + 0.5, height);
		}
		context.moveTo(Math.max(0, start), AXIS - 4.5);
		context.lineTo(Math.min(this.width, end), AXIS - 4.5);
		context.stroke();
	}

	private paintArrows(context: CanvasRenderingContext2D, colours: Palette): void {
		const shown = new Set(this.options.order);
		const visible = this.options.picture.arrows.filter((a) =>
			shown.has(a.from) && shown.has(a.to) && a.end >= this.from && a.start <= this.to);
		const spot = this.spot ?? this.pinned;
		const near = (a: Arrow) => spot !== null && (a.from === spot.lane || a.to === spot.lane);
		for (const arrow of visible)
			if (arrow.evidence || near(arrow) || visible.length < 400)
				this.paintArrow(context, colours, arrow, near(arrow), visible.length);
	}

	private paintArrow(context: CanvasRenderingContext2D, colours: Palette, arrow: Arrow, near: boolean, crowd: number): void {
		const x = this.x(arrow.start), end = this.x(arrow.end), down = this.y(arrow.to) > this.y(arrow.from) ? 1 : -1;
		const y = this.y(arrow.from) - 3 + down * BAR / 2, stop = this.y(arrow.to) - 3 - down * BAR / 2;
		context.globalAlpha = arrow.evidence ? 0.95 : near ? 0.6 : Math.max(0.14, Math.min(0.45, 20 / crowd));
		context.strokeStyle = context.fillStyle = arrow.evidence ? colours.ink : colours.dim;
		context.lineWidth = arrow.evidence ? 1.3 : 0.8;
		context.beginPath();
		context.moveTo(x, y);
		context.lineTo(end, stop);
		context.stroke();
		context.beginPath();
		context.moveTo(end, stop + down);
		context.lineTo(end - 3, stop - down * 5);
		context.lineTo(end + 3, stop - down * 5);
		context.fill();
		context.globalAlpha = 1;
	}

	// The thick line under the lanes: whose turn it was, when.
	private paintWay(context: CanvasRenderingContext2D, colours: Palette, way: Way): void {
		const links = way.links.filter((link) => link.lane >= 0 && this.options.order.includes(link.lane));
		let before: { x: number; y: number } | null = null, turned = -CROWDED_TURNS;
		context.strokeStyle = way.dashed ? colours.other : colours.chain;
		context.lineCap = context.lineJoin = 'round';
		context.lineWidth = 4;
		context.setLineDash(way.dashed ? [2, 8] : []);
		context.beginPath();
		for (const link of links) {
			const x = this.x(Math.max(link.start, 0)), end = this.x(link.end), y = this.y(link.lane) + BAR / 2 + 3;
			if (before && end - x < 0.7 && links.length > 60)
				continue;             // a turn that cannot be seen
			if (!before)
				context.moveTo(x, y);
			else if (before.y !== y && x - turned < CROWDED_TURNS) {
				context.moveTo(x, y);  // a bar of turns would hide what it joins
			} else if (before.y !== y) {
				context.lineTo(x, before.y);
				context.lineTo(x, y);
				turned = x;
			}
			context.lineTo(Math.max(end, x + 0.5), y);
			before = { x: end, y };
		}
		context.stroke();
		context.setLineDash([]);
		context.lineCap = 'butt';
	}

	private paintFlags(context: CanvasRenderingContext2D, colours: Palette): void {
		context.font = '600 10.5px system-ui, "DejaVu Sans", sans-serif';
		for (const flag of this.options.flags) {
			const x = this.x(flag.at), y = this.y(flag.lane) - 3;
			if (!this.options.order.includes(flag.lane) || x < -20 || x > this.width + 20)
				continue;
			const size = context.measureText(flag.text).width, left = x + size + 14 > this.width;
			context.fillStyle = colours.ink;
			context.beginPath();
			context.moveTo(x, y - 6);
			context.lineTo(x + 6, y);
			context.lineTo(x, y + 6);
			context.lineTo(x - 6, y);
			context.fill();
			context.textAlign = left ? 'right' : 'left';
			context.textBaseline = 'middle';
			context.fillStyle = colours.paper;
			context.fillRect(left ? x - 12 - size : x + 7, y - 8, size + 5, 15);
			context.fillStyle = colours.ink;
			context.fillText(flag.text, left ? x - 9 : x + 9, y);
		}
		context.font = '11px system-ui, "DejaVu Sans", sans-serif';
	}

	private paintSpot(context: CanvasRenderingContext2D, colours: Palette, spot: Spot): void {
		const cell = this.options.picture.lanes[spot.lane].cells[spot.cell];
		if (!cell || !this.options.order.includes(spot.lane) || cell.end < this.from || cell.start > this.to)
			return;
		const x = Math.max(1, this.x(cell.start)), end = Math.min(this.width - 1, this.x(cell.end));
		const strong = spot === this.pinned && document.activeElement === this.canvas;
		context.strokeStyle = colours.focus;
		context.lineWidth = strong ? 2 : 1;
		context.strokeRect(x - 1, this.y(spot.lane) - 3 - BAR / 2 - 2, Math.max(end - x, 1) + 2, BAR + 4);
	}

}
