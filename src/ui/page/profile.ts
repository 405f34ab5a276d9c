// Where calls spent the time: the annotated tree as a flame graph, the ranked paths as a heat
// map, the functions as a list. Of two runs the colours tell which of them took longer for the
// same work; so do a sign and a share in words, for who does not see colours.

import { brief, duration, el, fill, name, visible } from './text';

interface Tree { left_out: number; parent: number[]; function: string[]; module: string[]; here_ns: number[]; base_ns: number[]; count: number[] }
interface Frame { function: string; module: string; count: number; total_ns: number; own_ns: number; excess_ns?: number; only_here?: boolean }
interface Path { rank: number; cost_ns: number; new_ns: number; count: number; program: string; function: string; hot: number; look_at: number; frames: Frame[] }
interface Ranked { rank: number; function: string; module: string; place: string; count: number; own_ns: number; total_ns: number }
export interface ProfileData {
	argus: string; trace: string; base: string | null; time: string; all_ns: number;
	looked_at: { stacks: number; threads: number; from_ns: number; to_ns: number };
	tree: Tree; paths: Path[]; functions: Ranked[];
}
interface Box { node: number; depth: number; from: number; to: number }

const ROW = 19, LEAST_PX = 1.5, MIN_WIDTH = 900, LIKE = 0.05;
const TIMES: Record<string, string> = { all: 'all time', cpu: 'time on the processor', wait: 'time waiting' };

export class ProfileView {
	readonly element = el('main', { class: 'profile' });
	private flame = el('div', { class: 'flame', role: 'tree', 'aria-label': 'Calls: each above the one that called it, as wide as it took long', tabindex: '0' });
	private words = el('p', { class: 'said-of dim', 'aria-live': 'polite' });
	private search = el('input', { type: 'search', placeholder: 'find a function', 'aria-label': 'Find a function' }) as HTMLInputElement;
	private children: number[][];
	private roots: number[] = [];
	private top = -1;            // what the flame graph begins with; -1: all programs
	private at = -1;             // what the keyboard is at

	constructor(private data: ProfileData) {
		const { tree } = data;
		this.children = tree.parent.map(() => []);
		tree.parent.forEach((parent, node) => (parent < 0 ? this.roots : this.children[parent]).push(node));
		this.search.addEventListener('input', () => this.draw());
		this.flame.addEventListener('keydown', (event) => {
			if (this.key(event.key))
				event.preventDefault();
		});
		fill(this.element, this.head(), el('div', { class: 'tools' }, this.search, this.words), this.flame, this.heatMap(), this.list(), this.footer());
		this.draw();
		new ResizeObserver(() => this.draw()).observe(this.element);
	}

	redraw(): void { /* colours are the style's */ }

	nextWay(): void { /* there is one */ }

	print(): void {
		this.draw();
	}

	// ---- numbers ----

	// In a comparison a context is as wide as the run took longest in which it did.
	private width(node: number): number {
		return Math.max(this.data.tree.here_ns[node], this.data.tree.base_ns[node]);
	}

	private difference(node: number): string {
		const { here_ns, base_ns } = this.data.tree, here = here_ns[node], base = base_ns[node];
		return !this.data.base ? '' : !base ? 'new' : !here ? 'gone' : here > base * (1 + LIKE) ? 'slower' : here < base * (1 - LIKE) ? 'faster' : 'like';
	}

	private describe(node: number): string {
		const { tree, all_ns, base } = this.data, here = tree.here_ns[node], was = tree.base_ns[node];
		const share = all_ns ? `, ${(here * 100 / all_ns).toFixed(1)} %` : '';
		const then = !base ? '' : !was ? '; only in this run' : `; ${duration(was)} in the base for the same work` +
			(here ? ` (${here >= was ? '+' : '−'}${Math.abs((here - was) * 100 / was).toFixed(0)} %)` : '; not in this run');
		return `${visible(tree.function[node])}${tree.module[node] ? ` (${visible(tree.module[node])})` : ''}: ${duration(here)}${share}, ` +
			`${tree.count[node]} call${tree.count[node] === 1 ? '' : 's'} told apart${then}`;
	}

	// ---- the flame graph ----

	private boxes(): Box[] {
		const found: Box[] = [], width = Math.max(this.element.clientWidth, MIN_WIDTH);
		const lay = (node: number, depth: number, from: number, to: number) => {
			if (to - from < LEAST_PX / width)
				return;
			found.push({ node, depth, from, to });
			const all = this.children[node].reduce((sum, child) => sum + this.width(child), 0);
			const unit = (to - from) / Math.max(all, this.width(node), 1);
			let at = from;
			for (const child of this.children[node]) {
				lay(child, depth + 1, at, at + this.width(child) * unit);
				at += this.width(child) * unit;
			}
		};
		const roots = this.top >= 0 ? [this.top] : this.roots, all = roots.reduce((sum, node) => sum + this.width(node), 0) || 1;
		let at = 0;
		for (const node of roots) {
			lay(node, 0, at, at + this.width(node) / all);
			at += this.width(node) / all;
		}
		return found;
	}

	private callers(): number[] {
		const found: number[] = [];
		for (let node = this.top >= 0 ? this.data.tree.parent[this.top] : -1; node >= 0; node = this.data.tree.parent[node])
			found.unshift(node);
		return found;
	}

	private draw(): void {
		const wanted = this.search.value.toLowerCase(), { tree } = this.data, above = this.callers();
		const matches = (node: number) => wanted !== '' && (tree.function[node].toLowerCase().includes(wanted) || tree.module[node].toLowerCase().includes(wanted));
		const boxes = [...above.map((node, depth) => ({ node, depth, from: 0, to: 1 })),
			...this.boxes().map((box) => ({ ...box, depth: box.depth + above.length }))];
		const deepest = boxes.reduce((most, box) => Math.max(most, box.depth), 0);
		fill(this.flame, ...boxes.map((box) => {
			const change = this.difference(box.node), signs: Record<string, string> = { slower: '▲ ', faster: '▼ ', new: '+ ', gone: '− ' };
			const item = el('button', { type: 'button', class: `box ${change}${matches(box.node) ? ' found' : wanted ? ' other' : ''}`, role: 'treeitem', tabindex: '-1',
				title: this.describe(box.node).slice(0, 600), 'data-node': String(box.node) }, signs[change] ?? '', name(tree.function[box.node], 120));
			item.style.left = box.from * 100 + '%';
			item.style.width = (box.to - box.from) * 100 + '%';
			item.style.top = box.depth * ROW + 'px';
			item.addEventListener('click', () => this.show(box.node));
			item.addEventListener('pointerenter', () => this.say(box.node));
			return item;
		}));
		this.flame.style.height = (deepest + 1) * ROW + 'px';
		if (wanted)
			this.tellFound(matches);
		else if (this.at < 0)
			this.words.textContent = this.top < 0 ? `${tree.parent.length} contexts` + (tree.left_out ? `, ${tree.left_out} that took too little are left out` : '') : this.describe(this.top);
	}

	// Time of the contexts that match, none of it twice.
	private tellFound(matches: (node: number) => boolean): void {
		let count = 0, here = 0;
		const walk = (node: number, inside: boolean) => {
			const hit = matches(node);
			count += hit ? 1 : 0;
			here += hit && !inside ? this.data.tree.here_ns[node] : 0;
			this.children[node].forEach((child) => walk(child, inside || hit));
		};
		this.roots.forEach((node) => walk(node, false));
		this.words.textContent = count ? `${count} context${count > 1 ? 's' : ''}, ${duration(here)}` +
			(this.data.all_ns ? `, ${(here * 100 / this.data.all_ns).toFixed(1)} %` : '') : 'no function is called so';
	}

	private say(node: number): void {
		this.words.textContent = this.describe(node);
	}

	private show(node: number): void {
		this.top = node === this.top ? this.data.tree.parent[node] : node;
		this.at = node;
		this.draw();
		this.say(node);
	}

	private key(key: string): boolean {
		const { tree } = this.data, from = this.at < 0 ? (this.roots[0] ?? -1) : this.at;
		const beside = tree.parent[from] === undefined || tree.parent[from] < 0 ? this.roots : this.children[tree.parent[from]], place = beside.indexOf(from);
		let to: number | undefined = from;
		switch (key) {
		case 'ArrowDown': to = this.at < 0 ? from : this.children[from]?.[0]; break;
		case 'ArrowUp': to = tree.parent[from]; break;
		case 'ArrowRight': to = beside[place + 1]; break;
		case 'ArrowLeft': to = beside[place - 1]; break;
		case 'Enter': this.show(from); return true;
		case 'Escape': case '0': this.top = this.at = -1; this.draw(); return true;
		default: return false;
		}
		if (to !== undefined && to >= 0) {
			this.at = to;
			this.say(to);
			this.flame.querySelectorAll('.at').forEach((box) => box.classList.remove('at'));
			this.flame.querySelector(`[data-node="${to}"]`)?.classList.add('at');
		}
		return true;
	}

	// ---- the rest ----

	private head(): HTMLElement {
		const { data } = this, { looked_at: at } = data;
		return el('section', {}, el('h1', {}, data.base ? 'What took longer' : 'Where the time went'),
			el('p', { class: 'text' }, brief(data.trace, 120), data.base ? el('span', {}, ' compared with ', brief(data.base, 120)) : null,
				`: ${TIMES[data.time] ?? data.time}, ${duration(data.all_ns)} in ${duration(at.to_ns - at.from_ns)}, from ${at.stacks} stacks of ${at.threads} thread${at.threads === 1 ? '' : 's'}.`),
			data.base ? el('ul', { class: 'legend' }, ...[['slower', '▲ took longer here'], ['faster', '▼ took longer in the base'], ['new', '+ only here'], ['gone', '− only in the base'],
				['like', 'alike']].map(([kind, words]) => el('li', {}, el('i', { class: 'box ' + kind }), words))) : null);
	}

	// IntroPerf's Figure 7: each digit is how many powers of ten a frame is below the hottest of its row.
	private heatMap(): HTMLElement | null {
		if (!this.data.paths.length)
			return null;
		const weight = (frame: Frame) => Math.max(0, frame.excess_ns ?? frame.own_ns);
		return el('section', { class: 'heat' }, el('h2', {}, 'Ranked paths: from the outermost call inwards, 0 the hottest frame, 1 a tenth of it, ...; the frame to look at is ringed'),
			el('table', {}, el('tbody', {}, ...this.data.paths.map((path) => {
				const most = Math.max(1, ...path.frames.map(weight));
				const cells = path.frames.map((frame, i) => {
					const level = weight(frame) ? Math.min(9, Math.floor(Math.log10(most / weight(frame)))) : -1;
					return el('button', { type: 'button', class: `cell heat-${level < 0 ? 'none' : Math.min(level, 5)}${i === path.look_at ? ' ring' : ''}`,
						title: `${brief(frame.function, 200)}: ${duration(weight(frame))}` }, level < 0 ? '·' : String(level));
				});
				cells.forEach((cell, i) => cell.addEventListener('click', () => this.find(path.frames[i].function)));
				return el('tr', {}, el('td', { class: 'number' }, String(path.rank)), el('td', { class: 'number' }, duration(path.cost_ns)),
					el('td', { class: 'cells' }, ...cells), el('td', {}, name(path.function, 90)));
			}))));
	}

	private find(text: string): void {
		this.search.value = text;
		this.draw();
	}

	private list(): HTMLElement {
		return el('section', { class: 'path' }, el('h2', {}, 'Functions'), el('table', {},
			el('thead', {}, el('tr', {}, ...['', this.data.base ? 'longer by' : 'own', 'with calls', 'calls', 'function', 'where'].map((words) => el('th', {}, words)))),
			el('tbody', {}, ...this.data.functions.map((one) => el('tr', {}, el('td', { class: 'number' }, String(one.rank)), el('td', { class: 'number' }, duration(one.own_ns)),
				el('td', { class: 'number' }, duration(one.total_ns)), el('td', { class: 'number' }, String(one.count)),
				el('td', {}, name(one.function, 110), ' ', name(one.module, 40, 'module')), el('td', { class: 'dim' }, brief(one.place, 30)))))));
	}

	private footer(): HTMLElement {
		return el('footer', {}, el('p', {}, `Argus ${visible(this.data.argus)}. Paths and names of functions are in this file.`),
			el('p', { class: 'keys' }, 'Keys in the graph: ↑ ↓ to callers and calls, ← → beside, Enter makes it the whole width, 0 shows all. / finds, t light or dark.'));
	}

	focusSearch(): void {
		this.search.focus();
	}
}
