// All threads over the whole trace, or a stretch of it. The server cuts each thread's time
// to what can be told apart and sends it in columns; while the next stretch is on its way
// the one at hand is drawn, stretched, so that moving is never held up.

import { Hang, State, ViewData, upper } from './data';
import { placeLink } from './node';
import { Palette, palette } from './palette';
import { brief, duration, el, fill, name, tick, visible } from './text';

interface Thread { number: number; tid: number; pid: number; comm: string; running_ns: number; runnable_ns: number }
interface Columns { from: number; to: number; starts: Uint32Array; states: Uint32Array }

// Tens of thousands of rectangles a frame: as pixels they cost a tenth of what a canvas takes for them.
class Raster {
	private image: ImageData | null = null;
	private pixels = new Uint32Array(0);

	constructor(readonly width: number, readonly height: number, private scale: number, private left: number) { }

	begin(context: CanvasRenderingContext2D): void {
		if (this.image) {
			this.pixels.fill(0);
			return;
		}
		this.image = context.createImageData(this.width, this.height);
		this.pixels = new Uint32Array(this.image.data.buffer);
	}

	box(x: number, y: number, width: number, height: number, colour: number): void {
		const from = Math.max(this.left, Math.round(x * this.scale)), to = Math.min(this.width, Math.max(from + 1, Math.round((x + width) * this.scale)));
		const top = Math.max(0, Math.round(y * this.scale)), end = Math.min(this.height, Math.max(top + 1, Math.round((y + height) * this.scale)));
		for (let row = top; row < end && height > 0; row++)
			this.pixels.fill(colour, row * this.width + from, row * this.width + to);
	}

	end(context: CanvasRenderingContext2D): void {
		context.putImageData(this.image!, 0, 0);
	}
}

interface Brush { raster: Raster; run: number; queue: number; wait: number; stopped: number }

// "#2f6fa8" as the pixels of an image have it in memory.
function pixelOf(colour: string): number {
	const bytes = new Uint8Array([1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)).concat(255));
	return new Uint32Array(bytes.buffer)[0];
}

const ROW = 20, AXIS = 24, BAR = 12, NAMES = 210, SCALE = 0x7fffffff, ZOOM = 1.4, REST_MS = 16, KEPT = 300, CLOSER_MS = 40, SPARE = 0.5, LEAST_QUEUE = 0.15, STILL = 4;

export class TraceView {
	readonly element: HTMLElement;
	private canvas = document.createElement('canvas');
	private search = el('input', { type: 'search', placeholder: 'find a thread', 'aria-label': 'Find a thread' }) as HTMLInputElement;
	private words = el('span', { class: 'dim', 'aria-live': 'polite' });
	private rows = el('div', { class: 'rows' });
	private scroll = el('div', { class: 'scroll', tabindex: '0', role: 'application',
		'aria-label': 'All threads over time. Left and right move, plus and minus zoom, up and down scroll, 0 shows all.' });
	private threads: Thread[] = [];
	private shown: Thread[] = [];
	private lanes = new Map<number, Columns>();
	private leftOut = 0;
	private asked = 0;
	private fetching = false;
	private stale = true;
	private timer = 0;
	private width = 0;
	private raster: Raster | null = null;
	private picked = false;      // a thread at a time, by a click

	constructor(private about: ViewData['about'], private hangs: Hang[], private from: number, private to: number) {
		this.scroll.append(this.canvas, this.rows);
		this.element = el('main', { class: 'trace' }, el('div', { class: 'tools' }, this.search, this.words), this.scroll);
		this.search.addEventListener('input', () => this.filter());
		this.scroll.addEventListener('scroll', () => this.changed());
		this.scroll.addEventListener('keydown', (event) => {
			if (this.key(event.key, event.shiftKey))
				event.preventDefault();
		});
		this.listen();
		new ResizeObserver(() => this.resize()).observe(this.scroll);
		void this.fetchThreads();
	}

	redraw(): void {
		this.draw();
	}

	private async fetchThreads(): Promise<void> {
		const reply = await fetch('threads');
		if (!reply.ok) {
			this.words.textContent = visible(await reply.text()).slice(0, 200);
			return;
		}
		const found = await reply.json() as { left_out: number; threads: Omit<Thread, 'number'>[] };
		this.threads = found.threads.map((thread, number) => ({ ...thread, number }));
		this.leftOut = found.left_out;
		this.filter();
	}

	private filter(): void {
		const wanted = this.search.value.toLowerCase();
		this.shown = this.threads.filter((thread) => !wanted || thread.comm.toLowerCase().includes(wanted) || String(thread.tid).includes(wanted) ||
			String(thread.pid).includes(wanted));
		this.rows.style.height = this.shown.length * ROW + AXIS + 'px';
		this.tell();
		this.changed();
	}

	private tell(): void {
		this.picked = false;
		this.words.textContent = `${this.shown.length} of ${this.threads.length} threads, ${duration(this.to - this.from)}` +
			(this.leftOut ? `; ${this.leftOut} that ran less are left out` : '');
	}

	// ---- moving ----

	private key(key: string, shift: boolean): boolean {
		const middle = (this.from + this.to) / 2;
		switch (key) {
		case 'ArrowLeft': return this.pan(shift ? -0.8 : -0.2);
		case 'ArrowRight': return this.pan(shift ? 0.8 : 0.2);
		case '+': case '=': return this.zoom(middle, 1 / ZOOM);
		case '-': return this.zoom(middle, ZOOM);
		case '0': return this.show(this.about.start_ns, this.about.end_ns);
		default: return false;
		}
	}

	private pan(part: number): boolean {
		const by = (this.to - this.from) * part;
		return this.show(this.from + by, this.to + by);
	}

	private zoom(at: number, factor: number): boolean {
		return this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
	}

	private show(from: number, to: number): boolean {
		const all = this.about.end_ns - this.about.start_ns, length = Math.min(Math.max(to - from, 1000), all);
		this.from = Math.min(Math.max(from, this.about.start_ns), this.about.end_ns - length);
		this.to = this.from + length;
		this.tell();
		this.changed();
		return true;
	}

	private listen(): void {
		let drag: { x: number; from: number; to: number } | null = null;
		this.scroll.addEventListener('wheel', (event) => {
			if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY))
				return;
			event.preventDefault();
			if (event.ctrlKey || event.metaKey)
				this.zoom(this.timeAt(event.clientX), Math.exp(event.deltaY / 200));
			else
				this.pan(event.deltaX / this.width);
		}, { passive: false });
		this.scroll.addEventListener('pointerdown', (event) => {
			drag = { x: event.clientX, from: this.from, to: this.to };
			this.scroll.setPointerCapture(event.pointerId);
		});
		this.scroll.addEventListener('pointermove', (event) => {
			if (drag) {
				const by = (drag.x - event.clientX) * (drag.to - drag.from) / (this.width - NAMES);
				this.show(drag.from + by, drag.to + by);
			} else {
				this.point(event);
			}
		});
		this.scroll.addEventListener('pointerup', (event) => {
			if (drag && Math.abs(event.clientX - drag.x) < STILL)
				this.point(event, true);
			drag = null;
		});
		this.scroll.addEventListener('dblclick', (event) => this.zoom(this.timeAt(event.clientX), 1 / 4));
	}

	private timeAt(clientX: number): number {
		const x = clientX - this.scroll.getBoundingClientRect().left - NAMES;
		return this.from + x * (this.to - this.from) / (this.width - NAMES);
	}

	private point(event: PointerEvent, pick = false): void {
		const y = event.clientY - this.scroll.getBoundingClientRect().top - AXIS + this.scroll.scrollTop;
		const thread = this.shown[Math.floor(y / ROW)];
		if (!thread || y < 0)
			return;
		if (this.picked && !pick)
			return;
		const at = Math.round(this.timeAt(event.clientX));
		this.picked = pick;
		fill(this.words, name(thread.comm, 40), ` ${thread.tid} of ${thread.pid}, at ${duration(at - this.about.start_ns)} `,
			pick ? el('a', { href: placeLink({ tid: thread.tid, time_ns: at }) }, 'step from here') : null);
	}

	// ---- data ----

	// Draws at once; asks when nothing has moved for a moment.
	private changed(): void {
		this.stale = true;
		this.draw();
		window.clearTimeout(this.timer);
		this.timer = window.setTimeout(() => void this.fetchLanes(), REST_MS);
	}

	private visibleThreads(): Thread[] {
		const first = Math.floor(this.scroll.scrollTop / ROW);
		return this.shown.slice(first, first + Math.ceil(this.scroll.clientHeight / ROW) + 1);
	}

	private async fetchLanes(): Promise<void> {
		if (this.fetching || !this.shown.length || !this.width)
			return;
		const spare = (this.to - this.from) * SPARE;
		const from = Math.floor(Math.max(this.about.start_ns, this.from - spare)), to = Math.ceil(Math.min(this.about.end_ns, this.to + spare));
		const threads = this.visibleThreads().map((thread) => thread.number).join(',');
		let again = false;
		this.fetching = true;
		this.stale = false;
		try {
			const reply = await fetch(`lanes?from=${from}&to=${to}&cells=${Math.round(this.width * 2)}&threads=${threads}`);
			if (reply.ok)
				again = !this.take(await reply.arrayBuffer(), from, to);
		} finally {
			this.fetching = false;
		}
		document.documentElement.dataset.lanes = String(this.lanes.size);
		this.draw();
		if (this.stale || again) {
			window.clearTimeout(this.timer);
			this.timer = window.setTimeout(() => void this.fetchLanes(), this.stale ? 0 : CLOSER_MS);
		}
	}

	// Whether that is all there is to tell.
	private take(data: ArrayBuffer, from: number, to: number): boolean {
		const final = new Uint32Array(data, 0, 1)[0] !== 0;
		for (let at = 4; at + 8 <= data.byteLength;) {
			const [number, count] = new Uint32Array(data, at, 2);
			this.lanes.set(number, { from, to, starts: new Uint32Array(data, at + 8, count), states: new Uint32Array(data, at + 8 + count * 4, count) });
			at += 8 + count * 8;
		}
		if (this.lanes.size > KEPT) {
			const seen = new Set(this.visibleThreads().map((thread) => thread.number));
			for (const number of this.lanes.keys())
				if (!seen.has(number))
					this.lanes.delete(number);
		}
		return final;
	}

	// ---- drawing ----

	private resize(): void {
		this.width = this.scroll.clientWidth;
		this.changed();
	}

	private draw(): void {
		if (!this.asked)
			this.asked = requestAnimationFrame(() => this.paint());
	}

	private paint(): void {
		const scale = window.devicePixelRatio || 1, height = this.scroll.clientHeight, colours = palette(false);
		const context = this.canvas.getContext('2d')!;
		const first = Math.floor(this.scroll.scrollTop / ROW), part = this.scroll.scrollTop - first * ROW;
		this.asked = 0;
		if (!this.width || !height)      // it has been taken out meanwhile
			return;
		if (this.canvas.width !== Math.round(this.width * scale) || this.canvas.height !== Math.round(height * scale)) {
			this.canvas.width = Math.round(this.width * scale);
			this.canvas.height = Math.round(height * scale);
			this.canvas.style.width = this.width + 'px';
			this.canvas.style.height = height + 'px';
		}
		context.setTransform(scale, 0, 0, scale, 0, 0);
		this.paintLanes(context, colours, scale, part);
		context.font = '11.5px system-ui, "DejaVu Sans", sans-serif';
		context.textBaseline = 'middle';
		this.paintHangs(context, height);
		this.visibleThreads().forEach((thread, i) => {
			const y = AXIS + i * ROW - part + ROW / 2;
			context.fillStyle = thread.tid === thread.pid ? colours.ink : colours.dim;
			context.textAlign = 'left';
			context.fillText(brief(thread.comm, 22), thread.tid === thread.pid ? 10 : 20, y);
			context.fillStyle = colours.faint;
			context.textAlign = 'right';
			context.fillText(String(thread.tid), NAMES - 12, y);
		});
		this.paintAxis(context, colours);
	}

	// First, for what is below goes.
	private paintLanes(context: CanvasRenderingContext2D, colours: Palette, scale: number, part: number): void {
		const { width, height } = this.canvas;
		if (this.raster?.width !== width || this.raster.height !== height)
			this.raster = new Raster(width, height, scale, Math.round(NAMES * scale));
		const brush: Brush = { raster: this.raster, run: pixelOf(colours.run), queue: pixelOf(colours.queue), wait: pixelOf(colours.wait), stopped: pixelOf(colours.stopped) };
		this.raster.begin(context);
		this.visibleThreads().forEach((thread, i) => this.paintLane(brush, thread, AXIS + i * ROW - part + ROW / 2));
		this.raster.end(context);
	}

	private x(time: number): number {
		return NAMES + (time - this.from) * (this.width - NAMES) / (this.to - this.from);
	}

	private paintHangs(context: CanvasRenderingContext2D, height: number): void {
		context.globalAlpha = 0.12;
		context.fillStyle = palette(false).chain;
		for (const hang of this.hangs.slice(0, 20)) {
			const x = Math.max(NAMES, this.x(hang.start_ns)), end = Math.min(this.width, this.x(hang.end_ns));
			if (end > x)
				context.fillRect(x, AXIS, end - x, Math.min(height - AXIS, 5));
		}
		context.globalAlpha = 1;
	}

	private paintLane(brush: Brush, thread: Thread, y: number): void {
		const lane = this.lanes.get(thread.number);
		if (!lane)
			return;
		const { starts, states } = lane, unit = (lane.to - lane.from) / SCALE, scale = (this.width - NAMES) / (this.to - this.from);
		const zero = NAMES + (lane.from - this.from) * scale, step = unit * scale;
		const { raster } = brush;
		let pixel = -1, run = 0, queue = 0;
		const flush = () => {
			if (pixel < 0)
				return;
			if (run + queue < 0.9)
				raster.box(pixel, y - 0.5, 1, 1, brush.wait);
			if (run > 0)
				raster.box(pixel, y + BAR / 2 - Math.max(2, Math.min(BAR, BAR * run)), 1, Math.max(2, Math.min(BAR, BAR * run)), brush.run);
			if (queue > LEAST_QUEUE)
				raster.box(pixel, y - BAR / 2, 1, Math.min(BAR * queue, BAR - BAR * Math.min(1, run) || 2), brush.queue);
			pixel = -1;
			run = queue = 0;
		};
		for (let i = Math.max(0, upper(starts, (this.from - lane.from) / unit) - 1); i < starts.length; i++) {
			const x = Math.max(NAMES, zero + starts[i] * step), end = Math.min(this.width, zero + (i + 1 < starts.length ? starts[i + 1] : SCALE) * step);
			const state = states[i] & 255, width = end - x;
			if (x >= this.width)
				break;
			if (width <= 0)
				continue;
			if (width >= 1.5) {
				flush();
				this.addCell(brush, state, states[i], x, width, y);
				continue;
			}
			if (Math.floor(x) !== pixel) {
				flush();
				pixel = Math.floor(x);
			}
			run += state === State.running ? width : state === State.mixed ? width * (states[i] >> 8 & 255) / 100 : 0;
			queue += state === State.runnable || state === State.throttled ? width : state === State.mixed ? width * (states[i] >> 16 & 255) / 100 : 0;
		}
		flush();
	}

	private addCell(brush: Brush, state: State, packed: number, x: number, width: number, y: number): void {
		const { raster } = brush;
		switch (state) {
		case State.running: raster.box(x, y - BAR / 2, width, BAR, brush.run); break;
		case State.runnable: case State.throttled: raster.box(x, y - BAR / 2, width, BAR / 2, brush.queue); break;
		case State.waiting: raster.box(x, y - 0.5, width, 1, brush.wait); break;
		case State.stopped:
			raster.box(x, y - 3, width, 1.5, brush.stopped);
			raster.box(x, y + 2, width, 1.5, brush.stopped);
			break;
		case State.mixed: {
			const run = packed >> 8 & 255 ? Math.max(1.5, BAR * (packed >> 8 & 255) / 100) : 0, queue = BAR * (packed >> 16 & 255) / 100;
			raster.box(x, y - 0.5, width, 1, brush.wait);
			raster.box(x, y + BAR / 2 - run, width, run, brush.run);
			raster.box(x, y + BAR / 2 - run - queue, width, queue, brush.queue);
			break;
		}
		default:
		}
	}

	private paintAxis(context: CanvasRenderingContext2D, colours: Palette): void {
		const wanted = (this.to - this.from) / Math.max(2, (this.width - NAMES) / 120);
		const power = Math.pow(10, Math.floor(Math.log10(wanted))), step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted)!;
		context.fillStyle = colours.band;
		context.fillRect(0, 0, this.width, AXIS);
		context.fillStyle = colours.dim;
		context.textAlign = 'center';
		for (let at = Math.ceil((this.from - this.about.start_ns) / step) * step; at + this.about.start_ns <= this.to; at += step) {
			const x = this.x(at + this.about.start_ns);
			context.textAlign = x > NAMES + 16 ? 'center' : 'left';
			if (x >= NAMES && x < this.width - 20)
				context.fillText(tick(Math.abs(at) < step / 2 ? 0 : at, step), x, AXIS / 2);
		}
	}
}
