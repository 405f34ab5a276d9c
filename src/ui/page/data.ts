// The document that `argus report --json` prints (docs/json.md), as far as the page
// reads it. Lanes come as columns; here they become cells.

export interface Actor { kind: string; pid: number; tid: number; comm: string }
export interface Deed extends Actor { what: string; time_ns: number; event: number; confidence: number }
export interface Link extends Actor {
	state: string; start_ns: number; end_ns: number; object: string | null; why: string;
	frames: string[]; evidence: number[];
}
export interface Step extends Actor { state: string; link: string; charged_ns: number; event: number; confidence: number }
export interface Culprit extends Actor {
	function: string | null; module: string | null; file: string | null; line: number; share: number;
	object: string | null; internal: boolean; confidence: number;
}
export interface Container { pid: number; manager: string; container: string; pod: string; unit: string }

export interface Answer {
	verdict: string; text: string; start_wall_ns: number; since_ns: number;
	window: { start_ns: number; end_ns: number };
	victim: Actor | null; culprit: Culprit | null;
	chain: Link[]; path: Step[]; circle: Actor[]; trigger: Deed[]; alternatives: Deed[];
	ledger: { explained_ns: number; unknown_ns: number; lost_ns: number };
	plan: { option: string; value: string | null; why: string }[];
	step?: string; containers: Container[]; baseline: { trace: string | null; start_ns: number; end_ns: number } | null;
}

export interface LaneColumns {
	tid: number; pid: number; comm: string; process: string; command: string;
	start: number[]; state: number[]; word: number[]; stack: number[]; event: number[]; end_event: number[]; waker: number[]; share: number[];
	sample_at: number[]; sample_stack: number[];
}
export interface PictureData {
	from_ns: number; to_ns: number; lanes: LaneColumns[];
	arrows: number[][]; gaps: number[][]; marks: { at: number; text: string }[];
	stacks: number[][]; words: string[];
}
export interface PathLine {
	from_ns: number; to_ns: number; total_ns: number; unknown_ns: number; links: number;
	rows: { what: string; doing: string; ns: number; count: number; median_ns: number; longest_ns: number }[];
	cell_ns: number; cells: [number, number][];   // a row (-1: none of these), and in how many cells most of the time went to it
}
export interface Hang extends Actor { start_ns: number; end_ns: number; reason: string; meant: boolean }

export interface ViewData {
	version: number;
	about: {
		argus: string; path: string; start_ns: number; end_ns: number; start_wall_ns: number; events: number; lost: number;
		complete: boolean; damaged_bytes: number; host: string; kernel: string;
	};
	redacted?: boolean;
	hang: number; hang_count: number; hangs: Hang[];
	answer: Answer; plan_command: string;
	picture: PictureData | null; baseline_picture: PictureData | null; path_line: PathLine | null;
	mentions: { says: string; lane: number[] }[];
	lanes_of: Record<'victim' | 'culprit' | 'chain' | 'path' | 'circle' | 'trigger' | 'alternatives', number[]>;
}

export enum State { unknown, running, runnable, waiting, stopped, absent, throttled, mixed }

// Times are nanoseconds since the picture's begin, so that they fit a double exactly.
export interface Cell {
	start: number; end: number; state: State; what: string; stack: number; event: number; endEvent: number; waker: number;
	running: number; runnable: number; unknown: number;
}
export interface Lane {
	tid: number; pid: number; comm: string; process: string; command: string;
	cells: Cell[]; sampleAt: number[]; sampleStack: number[];
}
export interface Arrow {
	from: number; to: number; start: number; end: number; kind: string; event: number; confidence: number; evidence: boolean;
}
export interface Picture {
	from: number; length: number; lanes: Lane[]; arrows: Arrow[];
	gaps: { start: number; end: number; lost: number }[]; marks: { at: number; text: string }[];
	stack(number: number): string[];
}

function cellsOf(lane: LaneColumns, words: string[], length: number): Cell[] {
	return lane.start.map((start, i) => ({
		start, end: i + 1 < lane.start.length ? lane.start[i + 1] : length, state: lane.state[i], what: words[lane.word[i]] ?? '',
		stack: lane.stack[i], event: lane.event[i], endEvent: lane.end_event[i], waker: lane.waker[i], running: Math.floor(lane.share[i] / 1000000),
		runnable: Math.floor(lane.share[i] / 1000) % 1000, unknown: lane.share[i] % 1000,
	}));
}

export function readPicture(data: PictureData): Picture {
	const length = data.to_ns - data.from_ns;
	return {
		from: data.from_ns, length,
		lanes: data.lanes.map((lane) => ({
			tid: lane.tid, pid: lane.pid, comm: lane.comm, process: lane.process, command: lane.command,
			cells: cellsOf(lane, data.words, length), sampleAt: lane.sample_at, sampleStack: lane.sample_stack,
		})),
		arrows: data.arrows.map(([from, to, start, end, kind, event, confidence, evidence]) => (
			{ from, to, start, end, kind: data.words[kind], event, confidence, evidence: evidence !== 0 })),
		gaps: data.gaps.map(([start, end, lost]) => ({ start, end, lost })),
		marks: data.marks,
		stack: (number) => (data.stacks[number] ?? []).map((word) => data.words[word]),
	};
}

// The first index whose value is greater than `at`.
export function upper(values: ArrayLike<number>, at: number): number {
	let low = 0, high = values.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (values[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

export function cellAt(lane: Lane, at: number): number {
	let low = 0, high = lane.cells.length;
	while (high - low > 1) {
		const middle = (low + high) >> 1;
		if (lane.cells[middle].start <= at)
			low = middle;
		else
			high = middle;
	}
	return lane.cells.length && lane.cells[low].start <= at ? low : -1;
}
